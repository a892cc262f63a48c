#!/usr/bin/env bash
# Fuzzes what reads files: scripts/fuzz.sh [SECONDS] [TARGET...]; 600 s each of fuzz_idx, fuzz_image and fuzz_tar unless told
# otherwise. Needs Debian's clang-16 and libclang-rt-16-dev. Corpora and finds: build/fuzz/corpus, build/fuzz/crash-*.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(fuzz_idx fuzz_image fuzz_tar)
command -v clang++-16 >/dev/null || { echo "fuzz.sh: install clang-16 and libclang-rt-16-dev" >&2; exit 1; }
cmake -S tests/fuzz -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++-16 >/dev/null
ninja -C build/fuzz "${targets[@]}" >/dev/null
/usr/bin/python3 tests/fuzz/seeds.py build/fuzz/seeds
for target in "${targets[@]}"; do
  mkdir -p "build/fuzz/corpus/$target"
  (cd build/fuzz && "./$target" -max_total_time="$seconds" -max_len=8192 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
    "corpus/$target" "seeds/$target" 2>"$target.log") || { tail -30 "build/fuzz/$target.log" >&2; exit 1; }
  echo "$target: $(grep -o 'number_of_executed_units: [0-9]*' "build/fuzz/$target.log" | grep -o '[0-9]*$') inputs in $seconds s, clean"
done
