#!/usr/bin/env bash
# usage: dist_test.sh CASE PROBE CENTAVO. Runs ranks of the probe, or of the program, under mpirun.
set -euo pipefail
case=$1 probe=$2 centavo=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
run() { timeout 120 mpirun --oversubscribe "$@"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
train() {  # RANKS BATCH NAME: the small run that all of these share
  local ranks=$1 batch=$2 out=$work/$3
  shift 3
  run -n "$ranks" "$centavo" train --model mlp --hidden 32 --dataset fake --img-size 8 --in-chans 1 \
    --num-classes 5 --batch-size "$batch" --max-steps 20 --precision fp32 --threads 1 --workers 1 \
    --seed 3 --opt sgd --lr 0.05 --output "$out" "$@" >"$out.log" 2>&1 || { cat "$out.log"; exit 1; }
}
case $case in
  ranks*) run -n "${case#ranks}" "$probe" "${case#ranks}" ;;
  # Every rank a host of its own: what goes between hosts is MPI's alone.
  network*) run -n "${case#network}" -x CENTAVO_DIST_ALONE=1 "$probe" "${case#network}" ;;
  hang)
    begin=$SECONDS
    if run -n 2 "$probe" hang 2 >"$work/log" 2>&1; then echo "a hanging rank went unnoticed"; exit 1; fi
    cat "$work/log"
    [ $((SECONDS - begin)) -lt 30 ]
    grep -q 'rank 1 on host .*no answer for 2 s' "$work/log"
    ;;
  train)
    train 2 8 two
    train 2 8 again
    train 1 16 one
    cmp "$work/two/model.safetensors" "$work/again/model.safetensors"
    [ "$(grep -c '^model ' "$work/two.log")" = 1 ]
    grep -q '16 in all' "$work/two.log"
    # train_loss, eval_loss and the hits of the last line agree with one rank's.
    paste -d, <(tail -1 "$work/two/summary.csv") <(tail -1 "$work/one/summary.csv") | tee /dev/stderr |
      awk -F, '{ for (i = 2; i <= 5; i++) { d = $i - $(i + 6); if (d < 0) d = -d;
                 if (d > 1e-4 * ($i < 0 ? -$i : $i) + 0.02 * (i > 3)) exit 1 } }'
    ;;
  comm)  # a table for people, JSON for programs, and a reason where there is one rank
    sweep=(bench --comm --minbytes 1024 --maxbytes 65536 --stepfactor 8)
    run -n 2 "$centavo" "${sweep[@]}" | tee "$work/table"
    [ "$(awk '/^ +[0-9]/ { if ($4 > 0 && $5 > 0 && $6 > 0) n++ } END { print n }' "$work/table")" = 3 ]
    run -n 4 "$centavo" "${sweep[@]}" --precision bf16 --format json | tee "$work/json"
    # Bus bandwidth of n ranks is 2 (n - 1) / n of the algorithm's.
    python3 - "$work/json" <<'EOF'
import json, sys
bench = json.load(open(sys.argv[1]))
assert (bench["ranks"], bench["type"], len(bench["results"])) == (4, "bf16", 3), bench
for row in bench["results"]:
    assert row["size"] == 2 * row["count"], row
    assert abs(row["busbw_gbps"] - 1.5 * row["algbw_gbps"]) < 1e-9, row
    assert abs(row["algbw_gbps"] * row["time_us"] * 1e3 - row["size"]) < 1e-6 * row["size"], row
EOF
    if "$centavo" "${sweep[@]}" 2>"$work/alone"; then echo "one rank has nobody to talk to"; exit 1; fi
    grep -q 'start it under mpirun' "$work/alone"
    ;;
  *) echo "unknown case $case"; exit 2 ;;
esac
