#!/usr/bin/env bash
# Installs the Debian 12 packages that building, testing and the demo need. Quiet when all are there.
set -euo pipefail
packages=(
  g++ cmake ninja-build ccache mold pkg-config
  libdnnl-dev libhwy-dev libfmt-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev zlib1g-dev
  libjpeg62-turbo-dev libspng-dev libwebp-dev libarchive-dev
  openmpi-bin libopenmpi-dev
  mlir-19-tools
  libgtest-dev libgmock-dev libbenchmark-dev
  libnlopt-dev libnlopt-cxx-dev libfccp-dev libcurl4-openssl-dev
  chromium nodejs
  python3-torch python3-torchvision python3-numpy python3-pil libopenblas0-openmp dataset-fashion-mnist
)
command -v npm >/dev/null || packages+=(npm)  # Node.js from elsewhere brings its own
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup.sh: run as root, or install: ${missing[*]}" >&2; exit 1; }
  sudo=(sudo)
fi
echo "setup.sh: installing ${missing[*]}"
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
