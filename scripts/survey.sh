#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures on a GPU what docs/reproduction/standing.md tells of some allocators, in the cells that its peers have, and of
# sizes that change: prints the CSV that scripts/standing.py reads.
#
#   scripts/survey.sh QUARRY ALLOCATOR,... >FILE.csv    the binary, and the allocators
#
# What went wrong in a cell is on stderr; the others are measured all the same, and the exit code is 1.
set -uo pipefail
quarry=$1
allocators=$2
code=0
head=1

# bench HEAP OPTION...: rows of one command; those of the first have the head of the columns.
bench() {
    "$quarry" bench --backend cuda --heap "$1" --allocator "$allocators" --csv "${@:2}" | tail -n +"$head" || code=1
    head=2
}

bench 8G --test alloc,free --threads 131072,1M --size 16,64,256,1024,4096,8192
bench 8G --test mixed --threads 131072,1M --size 4-64,4-8192
bench 8G --test changing --threads 131072,1M --size 4-64,4-1024,4-8192
bench 8G --test alloc,free --threads 1,1024,16384 --size 16,64,256
bench 8G --test init,registers --size 256
bench 1G --test fill --size 16,64,1000,1024,4096,8192
exit "$code"
