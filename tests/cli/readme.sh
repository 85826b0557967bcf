#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The kernel in README.md is examples/hello.c, and compiles and runs with the commands printed below it.
#
#   readme.sh cpu|cuda BUILD    the folder with libquarry.a and link.flags
set -eu

backend=$1
build=$(realpath "$2")
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# shellcheck disable=SC2016 # backquotes of Markdown
sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d' >"$scratch/printed.c"
sed 1d examples/hello.c | diff - "$scratch/printed.c" || {
    echo 'README.md prints another program than examples/hello.c'
    exit 1
}

if [ "$backend" = cpu ]; then compiler=cc; else compiler=nvcc; fi
command=$(sed -n "s/^$compiler .*examples\/hello\.c.*/&/p" README.md)
[ -n "$command" ] || {
    echo "README.md has no $compiler command"
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
