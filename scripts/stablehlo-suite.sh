#!/usr/bin/env bash
# Runs StableHLO's own interpreter tests: scripts/stablehlo-suite.sh DIR [DEVICE], DIR a checkout of openxla/stablehlo.
# Prints what passed, failed and is unsupported, by op. Of the tests that use only Centavo's primitives and element types,
# 95 % must pass and none may crash, else the exit code is 1. Each test's result: build/stablehlo-suite/results.tsv.
set -euo pipefail
[ $# -ge 1 ] && [ -d "$1/stablehlo/tests/interpret" ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
checkout=$(realpath "$1")
device=${2:-cpu}
cd "$(dirname "$0")/.."
program=$PWD/build/bin/centavo
[ -x "$program" ] || { echo "stablehlo-suite.sh: build first: scripts/build.sh" >&2; exit 1; }
work=build/stablehlo-suite
rm -rf "$work"
mkdir -p "$work/tests"

# A test is one part of a file between "// -----" lines: NAME.N.mlir.
for folder in tests/interpret testdata; do
  find "$checkout/stablehlo/$folder" -name '*.mlir' -print0 | xargs -0 awk -v out="$work/tests" '
    FNR == 1 { name = FILENAME; sub(/.*\//, "", name); sub(/\.mlir$/, "", name); part = 0; close(file); file = out "/" name ".0.mlir" }
    /^\/\/ -----/ { close(file); file = out "/" name "." ++part ".mlir"; next }
    { print > file }'
done

# status, op, primitive, file, reason
run_test() {
  local file=$1 functions function status=passed reason="" code
  functions=$(sed -nE 's/^ *func\.func (public )?@"?([A-Za-z0-9_.$]+)"?\(\).*/\2/p' "$file")
  [[ " "$functions" " == *[[:space:]]main[[:space:]]* ]] && functions=main
  [ -n "$functions" ] || return 0
  for function in $functions; do
    code=0
    reason=$(timeout 60 "$PROGRAM" run "$file" --function "$function" --device "$DEVICE" --threads 1 2>&1 >/dev/null) || code=$?
    [ $code -eq 0 ] && continue
    if [ $code -ne 1 ]; then status=crashed
    elif [[ $reason == *"unsupported: "* ]]; then status=unsupported
    else status=failed; fi
    break
  done
  [ $status = passed ] && reason=""
  awk -v status=$status -v reason="$(head -c 300 <<<"$reason" | tr '\t\n' '  ')" -v list="$PRIMITIVES" '
    BEGIN { split(list, names, " "); for (i in names) known["stablehlo." names[i]] = 1
            known["stablehlo.return"] = known["stablehlo.custom_call"] = 1; primitive = 1; op = "" }
    { line = $0; gsub(/dense<"[^"]*">/, "", line)
      if (line ~ /tensor<[^>]*(f16|complex|f8E|f4E|f6E|[iu]2>|[iu]4>|i16>|\?|!)|!stablehlo|quant\.|tuple</) { sub(/bf16/, "", line)
        if (line ~ /tensor<[^>]*(f16|complex|f8E|f4E|f6E|[iu]2>|[iu]4>|i16>|\?|!)|!stablehlo|quant\.|tuple</) primitive = 0 }
      while (match(line, /(stablehlo|chlo|interpreter|shape)\.[a-z_0-9]+/)) {
        name = substr(line, RSTART, RLENGTH); line = substr(line, RSTART + RLENGTH)
        if (!(name in known)) primitive = 0
        if (op == "" && name !~ /constant|custom_call|return|iota/) op = name } }
    END { if (op == "") op = "others"; print status "\t" op "\t" primitive "\t" FILENAME "\t" reason }' "$file"
}
export -f run_test
PRIMITIVES=$(sed -n '/-- primitives/,/-- composites/s/CENTAVO_OP(\(.*\))/\1/p' src/centavo/ops/list.def | tr '\n' ' ')
export PROGRAM=$program DEVICE=$device PRIMITIVES
find "$work/tests" -name '*.mlir' -print0 | sort -z |
  xargs -0 -n 16 -P "$(nproc)" bash -c 'for file; do run_test "$file"; done' _ >"$work/results.tsv"

awk -F'\t' '
  { count[$2, $1]++; ops[$2] = 1; total[$1]++; if ($3) { used++; if ($1 == "passed") good++ } }
  END { printf "%-40s %8s %8s %12s %8s\n", "OP", "PASSED", "FAILED", "UNSUPPORTED", "CRASHED"
        for (op in ops) printf "%-40s %8d %8d %12d %8d\n", op, count[op, "passed"], count[op, "failed"], count[op, "unsupported"], count[op, "crashed"] | "sort"
        close("sort")
        printf "%-40s %8d %8d %12d %8d\n", "all", total["passed"], total["failed"], total["unsupported"], total["crashed"]
        share = used ? 100 * good / used : 0
        printf "of primitives only: %d of %d passed, %.1f %%\n", good, used, share
        exit share < 95 || total["crashed"] > 0 }' "$work/results.tsv"
