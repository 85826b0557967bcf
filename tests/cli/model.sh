#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `quarry model`: predictions against figures worked out by hand, measurements against the predictions where
# these must hold, and what it refuses.
#
#   model.sh QUARRY     the binary
#
# QUARRY_TEST_BACKEND picks where to measure (cpu).
set -u

quarry=$1
backend=${QUARRY_TEST_BACKEND:-cpu}
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"

# ---- predictions ----

run 0 model
same "$(wc -c <"$err")" 0 'bytes on standard error'
prints '^1000000 pages, words of 32 bits$'
prints '^full: 1077 pages in vain .*99 % .* less than 0\.5 % free$'
prints '^queue +5000 +5000 +2500\.50 +4848\.98$'
prints '^rw +500000 +1000 +2\.00 +6\.37$'
prints '^corw +10000 +5000 +6\.25 +6\.25$' # 10^6 / (32 * 5000)
prints_not 'measured|correlation'
rows=$(grep -Ec '^[-a-z]+ +[0-9]+ +[0-9]+ ' "$out")
run 0 list --long
allocators=$(grep -Ec '^ +blocks (are|smaller|of) ' "$out")
same "$rows" $((2 + allocators * 3 * 2)) 'rows of the table'

# 5 (1 / 5 + 1 / 4 + 1 / 3) / 3 = 1.31.  No bound where no page is left at the end.  4 free pages fill 3 clusters in 15
# ways, and in 5 of them the first is empty.
run 0 model --total 5 --free 5 --threads 3 --allocator rw
prints '^rw +5 +3 +1\.31 '
run 0 model -T 64 -f 64 -t 64 --allocator rw,rw-bm,corw --word-bits 64
prints '^rw-bm +64 +64 +[1-9][0-9.]+ +inf$'
prints '^corw +64 +64 +inf +inf$'
run 0 model -T 64 -f 4 -t 1 -a crw,rw-bm --clusters 3 --csv
same "$(awk -F, '{ tas[$3] = $9 } END { printf "%.3f", (tas["crw"] - 1) / tas["rw-bm"] }' "$out")" 0.333 \
    'share of tries beyond the cluster'
run 0 model -T 10000 -f 100 -t 10 -a crw --clusters 1
prints '^crw +100 +10 +1\.00 '

# More threads than free pages have no prediction, and the rest has; lists of shares.
run 0 model -T 1000 -f 500,5 -t 10 -a rw --low-free 0.5,1
prints '^rw +500 +10 +2\.02 '
prints '^rw +5 +10 +- +-$'
prints '^full: 536 .* 1 % free$'

header=device,backend,allocator,total,free,threads,word_bits,clusters,tas_predicted,was_predicted,tas,was,median_us
run 0 model -T 1K -f 512 -t 1,2 -a rw,corw --csv
same "$(head -1 "$out")" "$header" 'CSV header'
same "$(sed 1d "$out" | cut -d, -f1-7 | tr '\n' ' ')" "$(
    for row in queue,1,1 queue,2,2 rw,512,1 rw,512,2 corw,512,1 corw,512,2; do
        IFS=, read -r name free threads <<<"$row"
        total=1024
        [ "$name" != queue ] || total=$free
        printf '"",,%s,%s,%s,%s,32 ' "$name" "$total" "$free" "$threads"
    done
)" 'CSV rows'
run 0 model -T 1K -f 512 -t 1 -a rw --csv="$scratch/csv"
prints '^rw +512 +1 +2\.00 '
same "$(sed -n 3p "$scratch/csv")" '"",,rw,1024,512,1,32,256.5,2,6.3717,,,' 'CSV row in a file'

# ---- measured ----

# 4096 threads of 3 runs: the standard error of TAS is below 0.9 %.  TAS of a random walk is predicted well, WAS bounded
# from above, but for the words that other lanes of a GPU have locked; a warp's rounds are 1 where one has more pages
# than lanes; crw finds what it freed.
heap=(-T 128K -f "64K,13K" -t 4K -a "rw,rw-bm,crw,corw")
locked=1.08
if [ "$backend" = cuda ]; then
    heap=(-T 8M -f "4M,820K" -t 8K -a "rw,rw-bm,crw,corw")
    locked=1.2
fi
run 0 model --measure --backend "$backend" "${heap[@]}" --runs 3 --csv="$scratch/csv"
same "$(wc -c <"$err")" 0 'bytes on standard error'
prints "^quarry [0-9.]+, $backend:0 "
prints '^rw +[0-9]+ +(4096|8192) +[0-9.]+ +[0-9.]+ +[-+][0-9.]+%  +[0-9.]+ +[0-9.]+ +[-+][0-9.]+%  +[0-9.]+$'
prints '^queue +(4096 +4096 +2048|8192 +8192 +4096)\.50 +- +-  +[0-9.]+ +- +-  +-$'
prints '^correlation with time$'
for name in rw rw-bm corw all; do
    prints "^$name +[0-9]+ +(-|-?[01]\.[0-9]{4}) +(-|-?[01]\.[0-9]{4})$"
done
# shellcheck disable=SC2016
same "$(sed 1d "$scratch/csv" | sed 's/^"[^"]*",//' | awk -F, -v locked="$locked" '
    $12 > 0 { rows[$2]++ }
    $2 == "rw" { good += $10 / $8 > 0.95 && $10 / $8 < 1.08 && $11 / $9 < 1.15 && $11 >= $10 }
    $2 == "rw-bm" { good += $10 / $8 > 0.95 && $10 / $8 < locked && ($11 / $9 < 1.15 || locked > 1.1) && $11 >= $10 }
    $2 == "crw" || $2 == "corw" { good += $10 >= 1 && $10 < 1.2 && $11 >= $10 }
    END { print rows["rw"], rows["rw-bm"], rows["crw"], rows["corw"], good }')" '2 2 2 2 8' \
    'measured rows, and those near the theory'
# About as many free pages as asked for, and the predictions are for the number that there is.
same "$(awk -F, '$3 == "rw" && $5 / $4 > 0.48 && $5 / $4 < 0.52 && $5 * 2 != $4' "$scratch/csv" | wc -l)" 1 'heap half free'

# All allocators, on a small heap: those without a theory have measurements.
run 0 model --measure --backend "$backend" -T 2K -f 1K,512 -t 32 --runs 1 --csv="$scratch/csv"
same "$(awk -F, 'NR > 1 && $NF > 0 { print $3 }' "$scratch/csv" | sort -u | wc -l)" "$allocators" 'allocators that were measured'

# Words of 64 bits halve the steps where few pages are free.  The difference is that of the two figures before it.
run 0 model --measure --backend "$backend" -T 256K -f 2600 -t 512 -a rw,rw-bm --word-bits 64 --runs 3
same "$(awk '$1 == "rw-bm" && $2 > 2000 { print ($5 / $4 > 0.85 && $5 / $4 < 1.3 && $4 < 2.7) }' "$out")" 1 \
    'TAS with words of 64 bits'
same "$(awk '$1 == "rw" && $2 > 2000 {
    for (i = 4; i < 10; i += 3) { off = 100 * ($(i + 1) / $i - 1) - $(i + 2); good += off < 0.1 && off > -0.1 }
} END { print good }' "$out")" 2 'differences in percent'

# Heaps that are empty before, or full after.
run 0 model --measure --backend "$backend" -T 10000 -f 10000,400 -t 320 -a rw,corw --word-bits 64 --runs 3
prints '^rw +10000 +320 +1\.02 +1\.[0-9]+ '
QUARRY_DEBUG=1 run 0 model --measure --backend "$backend" -T 1000 -f 500 -t 10 -a rw --runs 3
run 0 model --measure --backend "$backend" -T 1000 -f 1000 -t 1000 -a rw-bm --runs 3
prints '^rw-bm +1000 +1000 +[0-9.]+ +[0-9.]+ +[-+][0-9.]+% +inf '

# ---- usage ----

run 2 model --total 0
says "--total: '0'"
run 2 model --total 4G
says "--total: '4G'"
run 2 model --free 10,x
says "--free: 'x'"
run 2 model --total 100 --free 101
says '--free: 101 pages are more than the 100'
run 2 model --threads 0
says "--threads: '0'"
run 2 model --total 100 --free 10 --threads 11,12
says '--threads: more threads than the 10 free pages'
run 2 model --allocator nonesuch
says "no allocator 'nonesuch'"
run 2 model --word-bits 48
says '--word-bits: 48'
run 2 model --word-bits 16
says "--word-bits: '16'"
run 2 model --total 100 --free 10 --threads 1 --clusters 11
says '--clusters: 11 are more than the 10'
run 2 model --clusters 0
says "--clusters: '0'"
run 2 model --low-free 0
says '--low-free: a share'
run 2 model --low-free 50,100
says '--low-free: a share'
run 2 model --low-free x
says "--low-free: 'x'"
for option in --runs=3 --backend=cpu; do
    run 2 model "$option"
    says '--backend and --runs need --measure'
done
run 2 model --low-free 1 --csv
says '--low-free is about the table, which --csv without a file replaces'
run 2 model --allocator rw,ring --word-bits 64
says '--word-bits is about allocators rw-bm, crw and corw'
run 2 model --allocator rw,corw --clusters 3
says '--clusters is about allocator crw'
run 2 model --runs 0
says "--runs: '0'"
run 2 model --backend gpu
says "--backend 'gpu': give auto, cuda or cpu"
run 2 model file
says "'file'"
run 2 model --frobnicate
says "'--frobnicate': no such option"
run 1 model --csv="$scratch/none/csv"
says "$scratch/none/csv: can't write"
run 2 model --csv=
says "--csv '': name a file"
echo kept >"$scratch/csv"
run 1 model --measure --backend "$backend" --total 4294967232 --free 10 --threads 1 --csv="$scratch/csv"
says "can't create the heap: "
same "$(cat "$scratch/csv" "$out")" kept 'what a measurement without memory leaves'
if [ -e /dev/full ]; then
    "$quarry" model --csv >/dev/full 2>"$err"
    same $? 1 'exit code with standard output full'
fi

finish
