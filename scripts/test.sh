#!/usr/bin/env bash
# Installs, builds and runs every test that fits a continuous-integration run.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/build.sh
export CENTAVO_REQUIRE_DATA=1
ctest --test-dir build --output-on-failure -LE slow
