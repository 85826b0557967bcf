#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh PROGRAM SEEDS RUNS: a libFuzzer program, from the inputs in the folder SEEDS, which stays as it is.
set -eu
corpus=$(mktemp -d)
trap 'rm -rf "$corpus"' EXIT
cd "$corpus"
mkdir found
"$1" -runs="$3" -max_len=4096 -seed=1 -timeout=10 -print_final_stats=1 found "$2" >log 2>&1 || { cat log; exit 1; }
tail -n 12 log
