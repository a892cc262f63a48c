#!/usr/bin/env bash
# Release build; the program is build/bin/centavo.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh
[ -f build/build.ninja ] || cmake --preset release >/dev/null
cmake --build build -- --quiet 2>/dev/null || cmake --build build
