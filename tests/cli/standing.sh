#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scripts/standing.py: docs/reproduction/standing.md is what it prints; its arithmetic, on a survey of three rows; a survey as
# the command writes it today; and what it refuses.
#
#   standing.sh QUARRY     the binary
set -u

quarry=$1
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
script=$(realpath "$(dirname "$0")/../../scripts/standing.py")
folder=$(realpath "$(dirname "$0")/../../docs/reproduction")
survey=$scratch/survey.csv

if ! command -v python3 >/dev/null 2>&1; then
    echo 'skipped: no python3 here'
    exit 77
fi

# standing CODE FILE...: runs the script and checks its exit code.
standing() {
    quarry=$script run "$@"
}

# refuses PATTERN: the last call printed one such sentence, and no page.
refuses() {
    checks=$((checks + 1))
    if [ -s "$out" ] || [ "$(wc -l <"$err")" -ne 1 ] || ! grep -q "^standing.py: .*$1" "$err"; then
        fail "not one sentence like '$1'"
    fi
}

standing 0
checks=$((checks + 1))
cmp -s "$out" "$folder/standing.md" || fail 'docs/reproduction/standing.md is not what scripts/standing.py prints: let it print the page again'

# Twice and half the best peer's time, at four times the floor; a cell measured twice, of which the later counts, but not one of a heap with
# a policy.  What hung has no time.
cat >"$survey" <<'END'
device,driver,backend,allocator,test,op,threads,bytes_least,bytes,draw,free_percent,lanes,heap_bytes,status,median_us,store_floor_us,utilisation,registers,fault,commit,command,debug,alignment,distribution,oom
GPU,1,cuda,slow,alloc,malloc,131072,16,16,one,100,32,1073741824,ok,14.2,3.55,,,,c0ffee,quarry bench,0,16,none,null
GPU,1,cuda,fast,alloc,malloc,131072,16,16,one,100,32,1073741824,ok,99,3.55,,,,c0ffee,quarry bench,0,16,none,null
GPU,1,cuda,fast,alloc,malloc,131072,16,16,one,100,32,1073741824,ok,3.55,3.55,,,,c0ffee,quarry bench,0,16,none,null
GPU,1,cuda,slow,alloc,malloc,131072,64,64,one,100,32,1073741824,hung,,3.55,,,ended after 30 s,c0ffee,quarry bench,0,16,none,null
GPU,1,cuda,fast,alloc,malloc,131072,64,64,one,10,32,1073741824,ok,1,3.55,,,,c0ffee,quarry bench,0,16,none,null
GPU,1,cuda,slow,fill,fill,16384,16,16,one,100,32,1073741824,ok,,,.99999,,,c0ffee,quarry bench,0,16,none,null
GPU,1,cuda,fast,alloc,malloc,131072,16,16,one,100,32,1073741824,ok,1,3.55,,,,c0ffee,quarry bench,0,16,warp,null
END
standing 0 "$survey"
prints '^\| 131072 x 16 \| ScatterAlloc 7.1 us \| 2.4x \| 3,780x \| 4.0x · 2.00 \| \*\*1.0x · 0.50\*\* \| 0.50 \|$'
prints '^\| 131072 x 64 \| ScatterAlloc 7.6 us \| 2.5x \| 3,780x \| — \| — \| — \|$'
prints '^\| ahead in, mean \|  \|  \|  \| 0 of 1, 2.00 \| 1 of 1, 0.50 \| 1 of 1, 0.50 \|$'
prints '^The best of ours is ahead of every peer in 1 of 1 cells\.$'
prints '^quarry bench --backend cuda --test mixed --threads 1048576 --size 4-64 --csv$'
prints '^\| .slow. \| 0.9999 \| — \|'
prints_not ' MiB, the peers'
sed -i '/,fast,/d' "$survey"
standing 0 "$survey"
prints '^- 131072 x 16: .slow. takes 14.2 us, 2.00 times ScatterAlloc.s 7.1\.$'

# Times of a CPU are beside nobody's; but the columns are those of today.
nice "$quarry" bench --backend cpu --quick --allocator rw --runs 1 --test init,registers --csv="$scratch/cpu.csv" >/dev/null
standing 1 "$scratch/cpu.csv"
refuses 'cpu.csv: not all of it was measured on a GPU'
sed 's/,cpu,/,cuda,/' "$scratch/cpu.csv" >"$scratch/gpu.csv"
standing 0 "$scratch/gpu.csv"
prints '^\|  \|.* .rw. \|'

standing 1 "$scratch/none.csv"
refuses "none.csv: can't be read: No such file"
sed 's/,median_us,/,mean_us,/' "$survey" >"$scratch/bad.csv"
standing 1 "$scratch/bad.csv"
refuses "bad.csv: there is no column 'median_us'"
sed 's/14\.2/x/' "$survey" >"$scratch/bad.csv"
standing 1 "$scratch/bad.csv"
refuses "bad.csv: could not convert string to float: 'x'"
sed 's/14\.2/-1/' "$survey" >"$scratch/bad.csv"
standing 1 "$scratch/bad.csv"
refuses "bad.csv: '-1' is no number it can have"
sed '3s/,[^,]*$//' "$survey" >"$scratch/bad.csv"
standing 1 "$scratch/bad.csv"
refuses 'bad.csv: row 3: not as many values as columns'
sed 's/,3\.55,/,,/' "$survey" >"$scratch/bad.csv"
standing 1 "$scratch/bad.csv"
refuses 'bad.csv: no row has a store floor'
sed '2s/,3\.55,/,0,/; s/,1073741824,/,,/' "$survey" >"$scratch/bad.csv"
standing 0 "$scratch/bad.csv"
head -1 "$survey" >"$scratch/bad.csv"
standing 1 "$survey" "$scratch/bad.csv"
refuses 'bad.csv: there are no results'
head -c 999 /dev/urandom >"$scratch/bad.csv.gz"
standing 1 "$scratch/bad.csv.gz"
refuses 'bad.csv.gz: can.t be read: '
finish
