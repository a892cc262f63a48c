#!/usr/bin/env bash
# Installs the library into a folder of its own, builds the example against it with find_package, and runs it.
#   install_test.sh BUILD_DIR SOURCE_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --prefix "$work/prefix" >/dev/null
cmake -S "$2/examples/own_model" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/build" >/dev/null
cd "$work" && ./build/own_model && [ -s gated.safetensors ]
