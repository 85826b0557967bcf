#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The kernel in README.md is a part of examples/hello.c, docs/guide/first-kernel.md prints the whole file, and the commands printed
# there compile it.
#
#   readme.sh cpu|cuda BUILD    the folder with libquarry.a and link.flags
set -eu

backend=$1
build=$(realpath "$2")
cd "$(dirname "$0")/../.."
guide=docs/guide/first-kernel.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# printed PAGE: its first block of C.
printed() {
    # shellcheck disable=SC2016 # backquotes of Markdown
    sed -n '/^```c$/,/^```$/p' "$1" | sed '1d;$d'
}

sed 1d examples/hello.c >"$scratch/hello.c"
printed "$guide" | diff "$scratch/hello.c" - || {
    echo "$guide prints another program than examples/hello.c"
    exit 1
}
# The kernel: from its first line on, as many lines as the README prints.
printed README.md >"$scratch/kernel.c"
grep -A "$(($(wc -l <"$scratch/kernel.c") - 1))" '^SIMT_KERNEL' "$scratch/hello.c" | diff - "$scratch/kernel.c" || {
    echo 'README.md prints another kernel than examples/hello.c'
    exit 1
}

if [ "$backend" = cpu ]; then compiler=cc; else compiler=nvcc; fi
command=$(sed -n "s/^$compiler .*examples\/hello\.c.*/&/p" "$guide")
[ -n "$command" ] || {
    echo "$guide has no $compiler command"
    exit 1
}
PATH=$PATH:/usr/local/cuda/bin
ln -s "$PWD/include" "$PWD/examples" "$scratch/"
ln -s "$build" "$scratch/build"
cd "$scratch"
echo "$command"
eval "$command"
if [ "$backend" = cuda ] && ! nvidia-smi >/dev/null 2>&1; then
    echo 'compiled; skipped the run: no GPU here'
    exit 77
fi
./hello | tee out
grep -qx '10240 threads allocated, wrote, read and freed a block' out
