# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the tests of the installed tree share; sourced with their arguments:
#
#   SCRIPT cpu|cuda SETTINGS [ARGUMENT]
#
# SETTINGS is a file of shell variables that the build writes (tests/package/settings.sh.in).  With cuda, what
# was built must also run on a GPU.
set -eu

backend=$1
# shellcheck source=/dev/null
. "$2"
programs=$SOURCE/tests/package
page=$SOURCE/docs/guide/linking.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Libraries that are not in the system's folders.
if [ -n "$BOOST" ]; then
    export LIBRARY_PATH="$BOOST${LIBRARY_PATH:+:$LIBRARY_PATH}"
    export CMAKE_PREFIX_PATH="${BOOST%/*}${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
fi
PATH=$PATH:$CUDA/bin
PREFIX=$INSTALLED
export PREFIX CUDA
if [ "$SHARED" = yes ]; then
    export LD_LIBRARY_PATH="$PREFIX/$LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
has_gpu=no
if nvidia-smi -L >/dev/null 2>&1; then has_gpu=yes; fi
if [ "$backend" = cuda ] && [ "$has_gpu" = no ]; then
    echo 'skipped: no GPU here'
    exit 77
fi

fail() {
    echo "FAILED: $*"
    exit 1
}

# What the page's commands compile for the GPU is then small; nvcc appends these options to its own.
if [ -n "$NVCC_QUICK" ]; then export NVCC_APPEND_FLAGS=$NVCC_QUICK; fi

# block NAME: the code of that name in $page, which says lib where some systems have lib64.
block() {
    awk -v name="<!-- $1 -->" '
        $0 == name { found = 1; next }
        found && /^```$/ { exit }
        found && !/^```/ { print }' "$page" | sed "s|\$PREFIX/lib|\$PREFIX/$LIBDIR|" >"$scratch/block"
    [ -s "$scratch/block" ] || fail "${page##*/} has no block '$1'"
    cat "$scratch/block"
}

# enter NAME: goes to a fresh folder with the programs.  They have the code of one allocator: compilers take long for that of
# all, which examples/hello.c has in cli/readme.sh.
enter() {
    echo "---- $1"
    mkdir "$scratch/$1"
    cp "$programs"/app.* "$programs"/kernel.* "$scratch/$1/"
    cd "$scratch/$1"
    sed -i '1i #define QUARRY_ALLOCATOR ring' app.c
}

# by_page NAME: runs that block of the page.
by_page() {
    block "$1" >commands.sh
    cat commands.sh
    bash -eu commands.sh || fail "$1"
}

# runs PROGRAM BACKEND...: the program's answers on these backends.  Where there is no GPU, a program for it says so
# in one sentence and exits with 77.
runs() {
    local program=$1 on status
    shift
    for on in "$@"; do
        status=0
        "$program" "$on" >out 2>&1 || status=$?
        cat out
        if [ "$on" = cuda ] && [ "$has_gpu" = no ]; then
            [ "$status" -eq 77 ] || fail "$program $on: exit code $status without a GPU"
            [ "$(wc -l <out)" -eq 1 ] || fail "$program $on: not one sentence"
            ! grep -q 'version is insufficient' out || fail "$program $on: there is no driver"
        else
            [ "$status" -eq 0 ] || fail "$program $on: exit code $status"
            grep -qx "$on: 1000 of 1000 blocks" out || fail "$program $on: another answer"
        fi
    done
}
