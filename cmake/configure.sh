#!/bin/sh
# Configures one of the two builds: cmake/configure.sh release|asan. Whoever builds asks here, so that
# every script means the same build, and none rebuilds another's.
set -eu
cd "$(dirname "$0")/.."

case "${1:-}" in
  # Each source by itself: a source that leans on its neighbours' includes must not compile here.
  release) flavour="-DMUSTER_SANITIZE=OFF -DMUSTER_UNITY=OFF" ;;
  asan) flavour="-DMUSTER_SANITIZE=ON -DMUSTER_UNITY=ON" ;;
  *)
    echo "usage: cmake/configure.sh release|asan" >&2
    exit 2
    ;;
esac
mkdir -p build
# shellcheck disable=SC2086  # Two words, by intention.
cmake -S . -B "build/$1" -G Ninja $flavour >"build/$1.configure.log" 2>&1 || {
  cat "build/$1.configure.log" >&2
  exit 1
}
