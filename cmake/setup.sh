#!/bin/sh
# Installs the Debian packages the build needs, those that are missing. Does nothing, quickly, when
# all are there. --check adds what `./check` needs besides, --tidy what `./check --tidy` does.
set -eu

packages="g++ cmake ninja-build ccache pkg-config libzmq3-dev cppzmq-dev libmsgpack-cxx-dev
liblmdb-dev libcli11-dev libspdlog-dev libfmt-dev libtomlplusplus-dev nlohmann-json3-dev
librapidcheck-dev libxxhash-dev libsodium-dev libmicrohttpd-dev libgnutls28-dev nettle-dev libgmp-dev libgtest-dev
libbenchmark-dev iproute2 nftables
libfaketime openssh-client python3 spin"
of_tests="python3-jsonschema prometheus chromium-headless-shell"
case "${1:-}" in
  --check) packages="$packages clang-format $of_tests" ;;
  --tidy) packages="$packages clang-format clang-tidy $of_tests" ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: this is no Debian system; install what these packages hold, then run cmake" \
    "yourself:" $packages >&2
  exit 1
fi

missing=
for package in $packages; do
  if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" != installed ]; then
    missing="$missing $package"
  fi
done
if [ -z "$missing" ]; then
  echo "setup: all packages are installed"
  exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
  as_root=
elif command -v sudo >/dev/null; then
  as_root=sudo
else
  echo "setup: these packages are missing and neither root nor sudo is at hand:$missing" >&2
  echo "setup: as root, run: apt-get install$missing" >&2
  exit 1
fi

echo "setup: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install_missing() {
  $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends $missing >"$log" 2>&1
}
# The package lists may be absent or old: then the first try fails and is made once more with new ones.
if ! install_missing; then
  $as_root apt-get update >"$log" 2>&1 && install_missing || {
    tail -n 20 "$log" >&2
    echo "setup: apt-get could not install$missing" >&2
    exit 1
  }
fi
# Tests start a Prometheus of their own: the package shall not leave one running.
case "$missing " in
  *" prometheus "*)
    if command -v systemctl >/dev/null; then
      $as_root systemctl disable --now prometheus >/dev/null 2>&1 || true
    fi
    ;;
esac
