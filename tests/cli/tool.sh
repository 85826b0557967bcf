#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command's frame: --help, --version, list, bench and their usage errors.  All on the CPU backend.
#
#   tool.sh QUARRY     the binary
set -u

quarry=$1
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"

# ---- help, version, no such command ----

run 0 --help
prints '^Usage: quarry '
for command in groupby join bench model info list; do
    prints "^  $command +[a-z]"
done
run 0 --version
prints '^quarry [0-9]+\.[0-9]+\.[0-9]+ \(backends: (cuda, )?cpu\)$'
same "$(wc -l <"$out")" 1 'lines of --version'
run 2
says 'no command'
run 2 frobnicate
says "'frobnicate'"
run 2 --frobnicate
says "'--frobnicate'"
run 2 --version list
says '--version'
for command in bench model info list; do
    run 0 $command --help
    prints "^Usage: quarry $command"
done

# ---- list ----

run 0 list
prints '^allocators$'
prints '^  rw '
prints '^  corw '
prints '^ +pages of 16 B to 1 MiB, each a block$'
prints '^ +aligned to 16 bytes, by option to 1 MiB; counts slots; frees blocks one by one$'
prints '^backends$'
prints '^  cuda +(built in|not built in)'
prints '^  cpu +built in$'
prints '^devices$'
prints '^  cpu:0 .*[0-9] cores.* [0-9.]+ [KMGT]iB memory'
same "$(wc -c <"$err")" 0 'bytes on standard error'
run 2 list rw
says 'no arguments'
run 2 list --frobnicate
says "'--frobnicate': no such option"
allocators=$("$quarry" list | grep -c '^ *pages of') # those that are measured unless others are named

# ---- info ----

run 0 info --backend cpu
same "$(sed 's/  .*//' "$out" | tr '\n' ' ')" \
    'reserve pool alignment creation distribution out of memory debug mode ' 'policies of a heap'
prints '^reserve pool   67108864 bytes of host memory$'
prints '^alignment      natural: .* 16 bytes$'
prints '^creation       corw, .* pages of 256 bytes, words of (32|64) bits, 16 lanes'
prints '^distribution   none: '
prints '^out of memory  null: .*nothing was free, after [0-9]+ probes and a sweep$'
prints '^debug mode     off$'
run 0 info --backend cpu --allocator rw --heap 1M --page 1K --align 128 --distribute warp --oom wait
prints '^reserve pool   1048576 bytes'
prints '^alignment      shrink: .* 128 bytes$'
prints '^creation       rw, .* [0-9]+ pages of 1024 bytes$'
prints '^distribution   warp: '
prints '^out of memory  wait: .* 1000 times more'
run 0 info --backend cpu --oom trap --debug
prints '^out of memory  trap: '
prints '^debug mode     on'
run 2 info --backend cpu --align 128 --page 64
says 'page_bytes is 64, which is no multiple of the alignment of 128'
run 2 info --backend cpu --distribute warp --debug
says 'debug was given'
for wrong in '--align 24' '--align 2M' '--align x' '--distribute block' '--oom hook'; do
    # shellcheck disable=SC2086 # two words
    run 2 info $wrong
    says "${wrong% *} '${wrong#* }': give "
done
run 2 info corw
says 'no arguments'
run 1 info --backend cpu --heap 1
says 'too small'

# ---- bench: table ----

run 0 bench --backend cpu --quick
prints '^quarry [0-9.]+, cpu:0 .* cores'
prints '^heap '
prints '^\(floor\) +empty .*x$'
prints '^\(floor\) +store .* 1\.0x$'
prints '^\(floor\) +bump .*x$'
prints '^rw +malloc +16 +100% .*x$'
prints '^corw +free +1024 +100% .*x$'
prints '^trivial lane launches [0-9.]+ M/s'
prints '^rw page allocations [0-9.]+ M/s'
prints_not 'FAILED'
same "$(grep -Ec '^[-a-z]+ +(malloc|free) ' "$out")" $((allocators * 2 * 2)) 'rows of the table'
same "$(wc -c <"$err")" 0 'bytes on standard error'

# ---- bench: CSV ----

header=device,backend,allocator,op,threads,bytes,page,free_percent,word_bits,median_us,q1_us,q3_us,n
header+=,nulls,verified,store_floor_us,bump_us,heap_bytes,lanes,probe_lanes,low_free_percent,debug,tas,was,cycles
header+=,alignment,distribution,oom,free_slots,bytes_least,blocks,utilisation
# After the device, which is quoted.
# shellcheck disable=SC2016
well_formed='$0 ~ /^"[^"]*",cpu,/ {
    sub(/^"[^"]*",/, "")
    $0 = $0
    if (NF == 31 && ($3 == "malloc" || $3 == "free" || $3 == "malloc+free") && $9 > 0 && $10 <= $9 && $9 <= $11 && $12 >= 1 &&
        $13 == 0 && $14 == 1 && $15 > 0 && $16 > 0 && $17 > 0 && $18 == 32 && $28 >= $4) good++
} END { print good + 0 }'

run 0 bench --backend cpu --allocator corw,rw --threads 1,100,4K --size 1,24,300 --free 100,25 --heap 8M \
    --runs 3 --csv
same "$(head -1 "$out")" "$header" 'CSV header'
same "$(sed 1d "$out" | wc -l)" $((2 * 3 * 3 * 2 * 2)) 'CSV rows'
same "$(sed 1d "$out" | awk -F, "$well_formed")" $((2 * 3 * 3 * 2 * 2)) 'well-formed CSV rows'
same "$(sed 1d "$out" | cut -d, -f6,7 | sort -u | tr '\n' ' ')" '1,16 24,32 300,304 ' \
    'sizes and their pages'
same "$(wc -c <"$err")" 0 'bytes on standard error'

run 0 bench --backend cpu --allocator corw --threads 64 --size 16 --free 100 --word 64 --page 512 \
    --heap 1M --runs 3 --csv="$scratch/csv"
prints '^corw +malloc +16 +100% .*x$'
prints_not "^$header"
same "$(head -1 "$scratch/csv")" "$header" 'CSV header in a file'
same "$(sed 1d "$scratch/csv" | awk -F, "$well_formed")" 2 'CSV rows in a file'
same "$(sed 1d "$scratch/csv" | cut -d, -f3-9 | tr '\n' ' ')" \
    'corw,malloc,64,16,512,100,64 corw,free,64,16,512,100,64 ' 'word and page in the CSV'

run 0 bench --backend cpu --allocator corw --threads 640 --size 20 --page 1K --free 100 --heap 1M --runs 3 \
    --align 64 --distribute warp --oom wait --csv
same "$(sed 1d "$out" | awk -F, "$well_formed")" 2 'CSV rows with policies'
same "$(sed 1d "$out" | cut -d, -f26-28 | sort -u)" '64,warp,wait' 'policies in the CSV'

# What does not fit is skipped, and the rest is measured: 64 KiB hold fewer than 64 pages of 1 KiB, and no
# block of 2 KiB fits into a page of 1 KiB.
run 0 bench --backend cpu --allocator rw --threads 32,64 --size 1024,2048 --page 1K --free 100 \
    --heap 64K --runs 3
prints '^rw +malloc +1024 +100% .*x +-$'
prints '^rw +malloc +2048 +100% +- +-$'
prints '^-: skipped'
run 0 bench --backend cpu --allocator rw --threads 32 --size 1M --heap 64K --runs 3 --csv
same "$(wc -l <"$out")" 1 'CSV lines where nothing fits'

# Blocks of several pages, and slots of which the share is free that was asked for.
run 0 bench --backend cpu --allocator rw-malloc,scatter --threads 100 --size 24,1050,3K --page 256 --free 100,50,10 \
    --heap 16M --runs 3 --csv
same "$(sed 1d "$out" | awk -F, "$well_formed")" $((2 * 3 * 3 * 2)) 'rows of blocks of several pages'
same "$(sed 1d "$out" | awk -F, '$8 == 100 { all[$3, $6] = $29 }
    $8 < 100 { good += $29 > all[$3, $6] * ($8 - 2) / 100 && $29 < all[$3, $6] * ($8 + 2) / 100 } END { print good }')" \
    $((2 * 3 * 2 * 2)) 'rows with the free slots that were asked for'
run 0 bench --backend cpu --allocator rw-malloc --threads 1 --size 32M,64M --page 256 --free 100 --heap 33M --runs 3
prints '^rw-malloc +malloc +33554432 +100% .*x$'
prints '^rw-malloc +malloc +67108864 +100% +-$'

# Sizes of a range: the largest and the least; a full heap has no room for the least. Freed at once.
run 0 bench --backend cpu --allocator rw-malloc,corw --threads 32,1K --size 4-2K,100-100 --page 2K --free 100,50 --heap 16M \
    --runs 3 --csv
same "$(sed 1d "$out" | awk -F, "$well_formed")" $((2 * 2 * 2 * 2 * 2)) 'rows of ranges'
same "$(sed 1d "$out" | cut -d, -f6,30 | sort -u | tr '\n' ' ')" '100,100 2048,4 ' 'ranges'
run 0 bench --backend cpu --allocator rw-malloc --threads 1K --size 4-8192 --page 256 --free 0 --heap 4M --runs 3 --csv
same "$(sed 1d "$out" | cut -d, -f4,14,15)" malloc,1024,1 'sizes of a range in a full heap'
run 0 bench --backend cpu --allocator rw-malloc --threads 1K --size 4K --page 256 --free 50 --heap 16M --runs 3 --at-once --csv
same "$(sed 1d "$out" | awk -F, "$well_formed")" 1 'rows of malloc+free'
same "$(sed 1d "$out" | cut -d, -f4,6,8)" malloc+free,4096,50 'malloc+free'

# A heap filled: 16 bytes on pages of 16 fill it but for the bits of the pages, 1050 of each 1280 are used with pages of
# 256, and half of each page of 1024 if blocks have 1 to 1024 bytes. Twice the same, whatever the number of threads.
run 0 bench --backend cpu --allocator rw-malloc --threads 100,1K --size 16 --page 16 --heap 4M --fill --csv
sed 1d "$out" | awk -F, '{ good += $32 > 0.97 && $32 < 0.99 && $31 == $29 && $31 * 16 / $18 - $32 < 1e-6 && $10 == "" }
    END { exit good != 2 }' || fail 'a heap filled with 16 bytes'
run 0 bench --backend cpu --allocator rw-malloc --threads 100 --size 1050 --page 256 --heap 4M --fill --csv
sed 1d "$out" | awk -F, '{ exit !($4 == "fill" && $32 > 0.81 && $32 < 0.8204) }' || fail 'a heap filled with 1050 bytes'
run 0 bench --backend cpu --allocator corw --threads 100 --size 1-1K --heap 16M --fill
prints '^corw +fill +1-1024 +100% +(49|50|51)\.[0-9]+% +16[0-9]{3}$'
checks=$((checks + 3))

# Probes and cycles, fewer lanes, percentages with decimals, and mallocs that fail: all of them, and not one of
# the table's frees.
run 0 bench --backend cpu --allocator rw,rw-bm,crw,corw --threads 1000 --size 256 --free 50,0.5,0 --lanes 3,32 \
    --heap 100M --runs 3 --steps
for allocator in rw rw-bm crw corw; do
    prints "^$allocator +malloc/3 +256 +50% .*x$"
    prints "^$allocator +steps/3 +256 +0\.5% +[0-9.]+ +[0-9.]+$"
    prints "^$allocator +malloc +256 +0% .*x$"
    prints_not "^$allocator +free(/3)? +256 +0%"
done
run 0 bench --backend cpu --allocator rw,corw --threads 1000 --size 256 --free 50,0 --lanes 3 --heap 100M --runs 3 \
    --steps --csv
same "$(sed 1d "$out" | cut -d, -f4,5,8,14,19 | tr '\n' ' ')" "$(for _ in rw corw; do
    printf 'malloc,1000,50,0,3 free,1000,50,0,3 malloc,1000,0,96,3 '
done)" 'NULLs and lanes in the CSV'
# A random walk over pages of which half are free takes two steps, the unluckiest of three lanes three.
sed 1d "$out" | awk -F, '$3 == "rw" && $4 == "malloc" && $8 == 50 { print ($23 > 1.7 && $23 < 2.3 && $24 > 2.4 && $24 < 4) }' |
    grep -q 1 || fail 'TAS and WAS of rw at 50 % free'
run 0 bench --backend cpu --allocator corw --threads 1000 --size 256 --free 50 --heap 64M --runs 3 --low-free 0.5 \
    --probe-lanes 1
prints '^corw +malloc +256 +50% .*x$'

run 0 bench --backend cpu --allocator rw,corw --threads 1000 --size 100 --free 100,50 --heap 1M --runs 3 --debug
prints '^heap .*, debug mode$'
prints '^corw +free +100 +50% .*x$'

# ---- bench: usage ----

run 2 bench --threads 0
says "--threads: '0'"
run 2 bench --threads 1,x
says "--threads: 'x'"
run 2 bench --threads 1,
says "--threads: ''"
run 2 bench --size 16Q
says "--size: '16Q'"
run 2 bench --size 1.5
says "--size: '1.5'"
run 2 bench --size 8K-4
says "--size: '4' is no number from 8192"
run 2 bench --size 4-
says "--size: ''"
run 2 bench --fill --free 50
says '--fill takes none of'
run 2 bench --at-once --steps
says '--at-once counts no --steps'
run 2 bench --free 100.001
says "--free: '100.001'"
run 2 bench --free 1.
says "--free: '1.'"
run 2 bench --free 0.0001
says "--free: '0.0001'"
run 2 bench --lanes 0
says "--lanes: '0'"
run 2 bench --lanes 33
says "--lanes: '33'"
run 2 bench --probe-lanes 33
says "--probe-lanes: '33'"
run 2 bench --low-free 0
says "--low-free: '0'"
run 2 bench --low-free 100
says "--low-free: '100'"
run 2 bench --free 101
says "--free: '101'"
run 2 bench --heap 20000000000G
says "--heap: '20000000000G'"
run 2 bench --page 24
says "--page: '24'"
run 2 bench --page 2M
says "--page: '2M'"
run 2 bench --word 48
says "--word: 48"
run 2 bench --runs 0
says "--runs: '0'"
run 2 bench --backend gpu
says "--backend: 'gpu'"
run 2 bench --allocator rw,nonesuch
says "no allocator 'nonesuch'"
run 2 bench file
says "'file'"
run 2 bench --frobnicate
says "'--frobnicate': no such option"
run 2 bench --quick -Z
says "'-Z': no such option"
run 2 bench --threads
says "'--threads': .*value is missing"
run 0 bench --usage
run 1 bench --backend cpu --quick --csv="$scratch/none/csv"
says "$scratch/none/csv: can't write"
if [ -e /dev/full ]; then
    "$quarry" bench --backend cpu --allocator rw --threads 1 --size 16 --free 100 --heap 1M --csv \
        >/dev/full 2>"$err"
    same $? 1 'exit code with standard output full'
fi

finish
