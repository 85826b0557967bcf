#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing of the Debian packages that Quarry needs.  Does nothing, and touches no network,
# where all are there.
#
#   scripts/setup.sh build            to build the library and the command
#   scripts/setup.sh test             also to build and run the tests
#   scripts/setup.sh lint             also to check format and style
#   scripts/setup.sh ci               also to look at a report in a browser, and at the API reference
#   scripts/setup.sh unpack DIR       installs nothing: unpacks the libraries for a machine of the same kind of
#                                     processor that has no packages, into DIR/include and DIR/lib
set -eu

build='gcc libc6-dev make cmake libboost-context-dev zlib1g-dev libjansson-dev help2man'
test="$build g++ gzip libcmocka-dev libgsl-dev libpng-dev pkgconf mandoc"
lint="$test clang clang-format clang-tidy shellcheck"
ci="$lint doxygen python3-matplotlib python3-selenium chromium chromium-driver"

say() {
    echo "setup: $*" >&2
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

unpack() {
    mkdir -p "$1"
    into=$(cd "$1" && pwd)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    context=$(apt-cache depends libboost-context-dev | sed -n 's/.*Depends: \(libboost-context[0-9.]*-dev\)/\1/p')
    (cd "$work" && apt-get -q -o APT::Sandbox::User=root download "$context" zlib1g-dev libjansson-dev libcmocka-dev \
        libcmocka0 libgsl-dev >&2)
    for package in "$work"/*.deb; do
        dpkg-deb -x "$package" "$work/tree"
    done
    mkdir -p "$into/include" "$into/lib"
    cp -a "$work/tree/usr/include/." "$into/include/"
    rm -rf "$into/include/boost"
    for file in "$work"/tree/usr/lib/*/libboost_context.a "$work"/tree/usr/lib/*/libz.a "$work"/tree/usr/lib/*/libjansson.a \
        "$work"/tree/usr/lib/*/libgsl*.a "$work"/tree/usr/lib/*/libcmocka.so*; do
        cp -a "$file" "$into/lib/"
    done
    for folder in "$into"/include/*-linux-gnu; do
        [ -d "$folder" ] && cp -a "$folder/." "$into/include/" && rm -rf "$folder"
    done
    say "unpacked into $into; pass it to CMake with -DCMAKE_PREFIX_PATH=$into"
}

case "${1:-}" in
build) wanted=$build ;;
test) wanted=$test ;;
lint) wanted=$lint ;;
ci) wanted=$ci ;;
unpack)
    [ $# -eq 2 ] || { say 'unpack: name a folder'; exit 2; }
    unpack "$2"
    exit 0
    ;;
*)
    say "usage: $0 build|test|lint|ci|unpack DIR"
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
    say "no Debian packages here; make sure that these are there under the names of this system: $wanted"
    exit 0
fi
# nvcc calls a C++ compiler.
if command -v nvcc >/dev/null 2>&1 || [ -x /usr/local/cuda/bin/nvcc ] || [ -x "${CUDA_PATH:-}/bin/nvcc" ]; then
    wanted="$wanted g++"
fi
missing=
for package in $wanted; do
    installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null 2>&1; then
    say "as root, run: apt-get install$missing"
    exit 1
fi
say "installing$missing"
log=$(mktemp)
apt() {
    as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q "$@"
}
# Another apt has a lock, as on a machine that has just started: five minutes are enough for what it does.  apt-get can wait for
# one of its locks by itself, but not for that of the lists.
tries=60
# shellcheck disable=SC2086 # a list of words
until { apt update && apt -y --no-install-recommends install $missing; } >"$log" 2>&1 </dev/null; do
    if [ "$tries" -eq 0 ] || ! grep -q 'Could not get lock' "$log"; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        say "could not install$missing"
        exit 1
    fi
    [ "$tries" -lt 60 ] || say 'waiting for another apt'
    tries=$((tries - 1))
    sleep 5
done
rm -f "$log"
