#!/usr/bin/env bash
# Step times beside PyTorch's, alternating in one run; prints the table of docs/performance.md as JSON lines and text.
#   bench/compare.sh PEERS [model:batch:precision ...]
# PEERS holds torch_vit.py and tuned.sh, which runs a script under PyTorch's best settings for the CPU (the OpenMP
# build of OpenBLAS, raised malloc thresholds). Environment: ROUNDS (default 3), SECONDS_EACH (12), THREADS (2).
set -euo pipefail
peers=$1
shift
here=$(cd "$(dirname "$0")/.." && pwd)
rounds=${ROUNDS:-3} seconds=${SECONDS_EACH:-12} threads=${THREADS:-2}
cases=("$@")
[ ${#cases[@]} -gt 0 ] || cases=(
  vit_tiny_patch16_224:16:bf16-mixed vit_tiny_patch16_224:16:fp32
  vit_base_patch16_224:16:bf16-mixed vit_base_patch16_224:16:fp32)
results=$(mktemp)
trap 'rm -f "$results"' EXIT

for case in "${cases[@]}"; do
  IFS=: read -r model batch precision <<<"$case"
  for _ in $(seq "$rounds"); do
    OMP_NUM_THREADS=$threads "$peers/tuned.sh" "$peers/torch_vit.py" --model "$model" --batch-size "$batch" \
      --precision "$precision" --threads "$threads" --steps 3 --warmup 1 | sed "s/^/torch $case /" >>"$results"
    "$here/build/bin/centavo" bench --model "$model" --batch-size "$batch" --precision "$precision" --threads "$threads" \
      --warmup 2 --max-seconds "$seconds" --format json | sed "s/^/centavo $case /" >>"$results"
  done
done

python3 - "$results" <<'E2'
import json, statistics, sys
runs = {}
for line in open(sys.argv[1]):
    system, case, text = line.split(" ", 2)
    run = json.loads(text)
    runs.setdefault(case, {}).setdefault(system, []).append((run["step_seconds"], run.get("peak_memory_mib", run.get("peak_rss_mib"))))
print("| model, batch, precision | Centavo s/step | PyTorch s/step | ratio | memory MiB |")
print("|---|---|---|---|---|")
for case, by in runs.items():
    ours, theirs = (statistics.median(t for t, _ in by[s]) for s in ("centavo", "torch"))
    memory = [max(m for _, m in by[s]) for s in ("centavo", "torch")]
    print(f"| {case.replace(':', ', ')} | {ours:.3f} | {theirs:.3f} | {theirs / ours:.2f}x | {memory[0]:.0f} / {memory[1]:.0f} |")
E2
