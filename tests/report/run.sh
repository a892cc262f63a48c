#!/usr/bin/env bash
# run.sh CENTAVO: compares, writes the report, drives it in Chromium. Runs in the build directory and leaves
# screenshots there. Without Chromium, Node.js or playwright-core it is skipped, but not where CENTAVO_REQUIRE_DATA is set.
set -euo pipefail
source_dir=$(cd "$(dirname "$0")" && pwd)
centavo=$1

lacking() {
  echo "report test: $1" >&2
  [ -n "${CENTAVO_REQUIRE_DATA:-}" ] && exit 1
  exit 77
}
for tool in NODE NPM CHROMIUM; do
  [ -x "${!tool}" ] || lacking "no ${tool,,}; run scripts/setup.sh"
done
cp "$source_dir/package.json" "$source_dir/package-lock.json" .
[ -f node_modules/.package-lock.json ] && [ node_modules/.package-lock.json -nt package-lock.json ] ||
  "$NPM" ci --ignore-scripts --no-audit --no-fund --loglevel=error >npm.log 2>&1 || lacking "npm ci failed: $(tail -2 npm.log)"
cp "$source_dir/report_test.mjs" .

export XDG_DATA_HOME=$PWD/home
cat >measured.jsonl <<'ROW'
{"model":"vit_base_patch16_224","image_size":224,"chip":"Workstation <b>&amp;","devices":1,"batch_size":16,"precision":"bf16","optimizer":"adam","samples_per_second":25.5}
ROW
compare=("$centavo" compare --model vit_base_patch16_224 --batch-size 16 --precision bf16)
"${compare[@]}" --measured measured.jsonl --report all.html >/dev/null
"${compare[@]}" --instances 'p5.*,p5e.*' --prices 1999 --report unpriced.html >/dev/null
"$NODE" report_test.mjs
