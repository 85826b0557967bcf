#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `quarry bench` on the CPU backend: tables, CSV, JSON, comparisons, allocators that are broken, and usage errors.
#
#   bench.sh QUARRY [TESTING]   the binary, and the one with the allocators of tests/alloc/extra.def; without it those checks are
#                               left out, and the last line says so
set -u

quarry=$1
testing=${2:-}
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
allocators=$("$quarry" list --long | grep -Ec '^ +blocks (are|smaller|of) ') # those that are measured unless others are named

# ---- table ----

if [ -z "${QUARRY_TEST_THREADS:-}" ]; then # sanitizers are slow
    run 0 bench --backend cpu --quick --runs 1 --test init
    same "$(grep -Ec '^[-a-z]+ +create ' "$out")" "$allocators" 'allocators where none is named'
    prints '^trivial lane launches [0-9.]+ M/s'
    prints '^rw page allocations [0-9.]+ M/s'
fi
run 0 bench --backend cpu --quick --test alloc,free --allocator rw,corw,scatter,rw-malloc --csv="$scratch/quick"
prints '^quarry [0-9.]+, cpu:0 .* cores'
prints '^heap .*, page as the block, of scatter [0-9].*, of rw-malloc 64 B'
prints '^method: .* 8 runs, '
prints '^\(floor\) +empty .*x$'
prints '^\(floor\) +store .* 1\.0x$'
prints '^\(floor\) +bump .*x$'
prints '^rw +malloc +16 +100% .*x$'
prints '^corw +free +1024 +100% .*x$'
prints_not 'FAILED'
same "$(grep -Ec '^[-a-z]+ +(malloc|free) ' "$out")" $((4 * 2 * 2)) 'rows of the table'
same "$(grep -E '^[-a-z]+ +(malloc|free) ' "$out" | grep -o '%!' | wc -l)" "$(sed 1d "$scratch/quick" | cut -d, -f40 | grep -c 0)" \
    'medians marked as not stable'
same "$(wc -c <"$err")" 0 'bytes on standard error'

# ---- CSV ----

header=device,backend,allocator,op,threads,bytes,page,free_percent,median_us,q1_us,q3_us,n
header+=,nulls,verified,store_floor_us,bump_us,heap_bytes,lanes,options,low_free_percent,debug,tas,was,cycles
header+=,alignment,distribution,oom,free_slots,bytes_least,blocks,utilisation,test,status,draw,rounds,range_bytes
header+=,asked_bytes,registers,local_bytes,stable,clock_mhz,driver,compiler,commit,fault,command,calls
# After the device, which is quoted.
# shellcheck disable=SC2016
well_formed='$0 ~ /^"[^"]*",cpu,/ {
    sub(/^"[^"]*",/, "")
    $0 = $0
    if (NF >= 44 && $32 == "ok" && ($3 == "malloc" || $3 == "free" || $3 == "malloc+free") && $8 > 0 && $9 <= $8 && $8 <= $10 && $11 >= 1 &&
        $12 == 0 && $13 == 1 && $14 > 0 && $15 > 0 && $16 > 0 && $17 == 32 && $27 >= $4) good++
} END { print good + 0 }'

run 0 bench --backend cpu --test alloc,free --allocator corw,rw --threads 1,100,1K --size 1,24,300 --free 100,25 --heap 2M \
    --runs 3 --csv
same "$(head -1 "$out")" "$header" 'CSV header'
same "$(sed 1d "$out" | wc -l)" $((2 * 3 * 3 * 2 * 2)) 'CSV rows'
same "$(sed 1d "$out" | awk -F, "$well_formed")" $((2 * 3 * 3 * 2 * 2)) 'well-formed CSV rows'
same "$(sed 1d "$out" | cut -d, -f6,7 | sort -u | tr '\n' ' ')" '1,16 24,32 300,304 ' \
    'sizes and their pages'
same "$(wc -c <"$err")" 0 'bytes on standard error'

run 0 bench --backend cpu --test alloc,free --allocator corw --threads 64 --size 16 --free 100 --set word_bits=64 --page 512 \
    --heap 1M --runs 3 --csv="$scratch/csv"
prints '^corw +malloc +16 +100% .*%! .*x$' # three can't be stable
prints_not "^$header"
same "$(head -1 "$scratch/csv")" "$header" 'CSV header in a file'
same "$(sed 1d "$scratch/csv" | awk -F, "$well_formed")" 2 'CSV rows in a file'
prints ', set word_bits=64$'
same "$(sed 1d "$scratch/csv" | cut -d, -f3-8,19 | tr '\n' ' ')" "$(for op in malloc free; do
    echo "corw,$op,64,16,512,100,probes=128 word_bits=64 probe_lanes=16"; done | tr '\n' ' ')" 'page and options in the CSV'
# A pair goes to those that have it.
run 0 bench --backend cpu --test alloc --allocator rw-bm,corw,ring --threads 64 --size 16 --heap 1M --runs 2 --set probe_lanes=4,probes=7 --csv
same "$(sed 1d "$out" | cut -d, -f3,19 | tr '\n' ';')" \
    'rw-bm,probes=7 word_bits=32;corw,probes=7 word_bits=32 probe_lanes=4;ring,;' 'options of several allocators'

run 0 bench --backend cpu --test alloc,free --allocator corw --threads 640 --size 20 --page 1K --free 100 --heap 1M --runs 3 \
    --align 64 --distribute warp --oom wait --csv
same "$(sed 1d "$out" | awk -F, "$well_formed")" 2 'CSV rows with policies'
same "$(sed 1d "$out" | cut -d, -f25-27 | sort -u)" '64,warp,wait' 'policies in the CSV'

# Blocks of several pages by either search of scatter's.
run 0 bench --backend cpu --test alloc,free --allocator scatter --threads 64 --size 8192 --free 100 --heap 1M --runs 3 --set serial=1
prints ', set serial=1$'
prints '^scatter +malloc +8192 +100% .*x$'

# What does not fit is skipped, and the rest is measured: 64 KiB hold fewer than 64 pages of 1 KiB, and no
# block of 2 KiB fits into a page of 1 KiB.
run 0 bench --backend cpu --test alloc,free --allocator rw --threads 32,64 --size 1024,2048 --page 1K --free 100 \
    --heap 64K --runs 3
prints '^rw +malloc +1024 +100% .*x +-$'
prints '^rw +malloc +2048 +100% +- +-$'
prints '^-: skipped'
run 0 bench --backend cpu --test alloc,free --allocator rw --threads 32 --size 1M --heap 64K --runs 3 --csv
same "$(wc -l <"$out")" 1 'CSV lines where nothing fits'

# Blocks of several pages, and slots of which the share is free that was asked for.
run 0 bench --backend cpu --test alloc,free --allocator rw-malloc,scatter --threads 50 --size 24,1050,3K --page 256 --free 100,50,10 \
    --heap 3M --runs 2 --csv
same "$(sed 1d "$out" | awk -F, "$well_formed")" $((2 * 3 * 3 * 2)) 'rows of blocks of several pages'
same "$(sed 1d "$out" | awk -F, '$8 == 100 { all[$3, $6] = $28 }
    $8 < 100 { good += $28 > all[$3, $6] * ($8 - 2) / 100 && $28 < all[$3, $6] * ($8 + 2) / 100 } END { print good }')" \
    $((2 * 3 * 2 * 2)) 'rows with the free slots that were asked for'
run 0 bench --backend cpu --test alloc,free --allocator rw-malloc --threads 1 --size 32M,64M --page 256 --free 100 --heap 33M --runs 3
prints '^rw-malloc +malloc +33554432 +100% .*x$'
prints '^rw-malloc +malloc +67108864 +100% +-$'

# Sizes of a range: the largest and the least; a full heap has no room for the least. Freed at once.
run 0 bench --backend cpu --test alloc,free --allocator rw-malloc,corw --threads 32,1K --size 4-2K,100-100 --page 2K --free 100,50 --heap 16M \
    --runs 3 --csv
same "$(sed 1d "$out" | awk -F, "$well_formed")" $((2 * 2 * 2 * 2 * 2)) 'rows of ranges'
same "$(sed 1d "$out" | cut -d, -f6,29 | sort -u | tr '\n' ' ')" '100,100 2048,4 ' 'ranges'
run 0 bench --backend cpu --test alloc,free --allocator rw-malloc --threads 1K --size 4-8192 --page 256 --free 0 --heap 4M --runs 3 --csv
same "$(sed 1d "$out" | cut -d, -f4,13,14)" malloc,1024,1 'sizes of a range in a full heap'
run 0 bench --backend cpu --test at-once --allocator rw-malloc --threads 1K --size 4K --page 256 --free 50 --heap 16M --runs 3 --csv
same "$(sed 1d "$out" | awk -F, "$well_formed")" 1 'rows of malloc+free'
same "$(sed 1d "$out" | cut -d, -f4,6,8)" malloc+free,4096,50 'malloc+free'

# Other sizes in each run.
run 0 bench --backend cpu --test changing --allocator quarry,rw-malloc --threads 1K --size 4-1K,4~8K --heap 64M --runs 3 --csv
same "$(sed 1d "$out" | awk -F, "$well_formed")" $((2 * 2 * 2)) 'rows of changing'
# A thread has drawn every power of two in 68 runs, of which one is verified and 64 warm up; and one, where sizes are drawn
# once.
QUARRY_STATS=1 run 0 bench --backend cpu --test changing --allocator quarry,rw-malloc --threads 1 --size '16~64K' --heap 64M --runs 3 --csv
same "$(grep -c '^  to [0-9]* B ' "$err")" $((2 * 12)) 'powers of two that one thread has drawn'
same "$(awk '$1 == "in" { print $3 }' "$err" | tr '\n' ' ')" '68 68 ' 'mallocs'
QUARRY_STATS=1 run 0 bench --backend cpu --test mixed --allocator quarry --threads 1 --size '16~64K' --heap 64M --runs 3 --csv
same "$(grep -c '^  to [0-9]* B ' "$err")" 1 'powers of two where sizes are drawn once'

# A heap filled: 16 bytes on pages of 16 fill it but for the bits of the pages, 1050 of each 1280 are used with pages of
# 256, and half of each page of 1024 if blocks have 1 to 1024 bytes. Twice the same, whatever the number of threads.
run 0 bench --backend cpu --test fill --allocator rw-malloc --threads 100,1K --size 16 --page 16 --heap 1M --csv
sed 1d "$out" | awk -F, '{ good += $31 > 0.97 && $31 < 0.99 && $30 == $28 && $30 * 16 / $17 - $31 < 1e-6 && $9 == "" }
    END { exit good != 2 }' || fail 'a heap filled with 16 bytes'
run 0 bench --backend cpu --test fill --allocator rw-malloc --threads 100 --size 1050 --page 256 --heap 4M --csv
sed 1d "$out" | awk -F, '{ exit !($4 == "fill" && $31 > 0.81 && $31 < 0.8204) }' || fail 'a heap filled with 1050 bytes'
run 0 bench --backend cpu --test fill --allocator corw --threads 100 --size 1-1K --heap 16M
prints '^corw +fill +1-1024 +100% +(49|50|51)\.[0-9]+% +16[0-9]{3}$'
checks=$((checks + 3))

# One malloc a thread until the pages are gone: of ualloc as many are NULL as its chunks have no room for, of tbuddy none.
if [ -z "${QUARRY_TEST_THREADS:-}" ]; then # sanitizers are slow: the watchdog would end it on a busy machine
    run 0 bench --backend cpu --test exhaust --allocator ualloc,tbuddy --size 16,256,512,1K,2K,4K,512K --heap 1M --runs 2 --csv
    nulls='u16:2048/65536 u256:376/4096 u512:312/2048 u1024:280/1024 u2048:256/512 u4096:0/256 u524288:0/2 '
    nulls+='t16:65280/65536 t256:3840/4096 t512:1792/2048 t1024:768/1024 t2048:256/512 t4096:0/256 t524288:0/2'
    same "$(sed 1d "$out" | awk -F, '$14 == 1 { print substr($3, 1, 1) $6 ":" $13 "/" $5 }' | xargs)" "$nulls" 'mallocs that fail'
fi
run 2 bench --backend cpu --test exhaust --allocator rw-malloc --size 4 --heap 16G # 2^32 threads would be 0
says '--size: test exhaust has a thread for each of 4294967296 blocks of 4 bytes, and may have 2\^30: '
run 2 bench --backend cpu --test exhaust --threads 32

# Probes and cycles, fewer lanes, percentages with decimals, and mallocs that fail: all of them, and not one of
# the table's frees.
walks=$(few rw rw-bm crw corw)
run 0 bench --backend cpu --test alloc,free --allocator "${walks// /,}" --threads 1000 --size 256 --free 50,0.5,0 --lanes 3,32 \
    --heap 16M --runs 2 --steps
for allocator in $walks; do
    prints "^$allocator +malloc/3 +256 +50% .*x$"
    prints "^$allocator +steps/3 +256 +0\.5% +[0-9.]+ +[0-9.]+$"
    prints "^$allocator +malloc +256 +0% .*x$"
    prints_not "^$allocator +free(/3)? +256 +0%"
done
run 0 bench --backend cpu --test alloc,free --allocator rw,corw --threads 1000 --size 256 --free 50,0 --lanes 3 --heap 16M --runs 2 \
    --steps --csv
same "$(sed 1d "$out" | cut -d, -f4,5,8,13,18 | tr '\n' ' ')" "$(for _ in rw corw; do
    printf 'malloc,1000,50,0,3 malloc,1000,0,96,3 '
done)free,1000,50,0,3 free,1000,50,0,3 " 'NULLs and lanes in the CSV'
# A random walk over pages of which half are free takes two steps, the unluckiest of three lanes three.
sed 1d "$out" | awk -F, '$3 == "rw" && $4 == "malloc" && $8 == 50 { print ($22 > 1.7 && $22 < 2.3 && $23 > 2.4 && $23 < 4) }' |
    grep -q 1 || fail 'TAS and WAS of rw at 50 % free'
run 0 bench --backend cpu --test alloc,free --allocator corw --threads 1000 --size 256 --free 50 --heap 8M --runs 3 --low-free 0.5 \
    --set probe_lanes=1
prints '^corw +malloc +256 +50% .*x$'

run 0 bench --backend cpu --test alloc,free --allocator rw,corw --threads 1000 --size 100 --free 100,50 --heap 1M --runs 3 --debug
prints '^heap .*, debug mode$'
prints '^corw +free +100 +50% .*x$'

# ---- all tests ----

# tests FILE: the tests of a CSV file, each with its operations.
tests() {
    sed 1d "$1" | sed 's/^"[^"]*",//' | awk -F, '{ print $31 ":" $3 }' | uniq | awk '!seen[$0]++' | tr '\n' ' '
}
small='--backend cpu --allocator rw,scatter --threads 100 --size 64 --heap 4M --runs 2'
# shellcheck disable=SC2086 # words
run 0 bench $small --csv="$scratch/all" --json="$scratch/json"
prints '^method: each cell verified in an untimed run; 1 warm-up; 2 runs, at most '
prints '^commit ([0-9a-f]{12}(-dirty)?|unknown), '
prints '^rw +range\+16 +64 +100% +[0-9.]+ [KM]iB [0-9.]+x$'
prints '^scatter +prefix-sum +64 '
prints '^rw +exchange +64 '
ops='alloc:malloc free:free used:malloc used:free warp:malloc warp:free mixed:malloc mixed:free scaling:malloc '
ops+='scaling:free first-vs-warm:first first-vs-warm:warm shuffled:free churn:churn producer-consumer:exchange '
ops+='frag:range fill:fill oom:malloc init:create init:reset workload:malloc+write workload:prefix-sum write:write '
# Bandwidths are those of the CSV's bytes and medians, and have no floors in microseconds above them.
awk -F, '$32 ~ /^w(rite|orkload)$/ { print $3, $4, $37 / $9 / 1e3 }' "$scratch/all" >"$scratch/wanted"
awk '$NF == "GB/s" { print $1, $2, $5 }' "$out" | awk 'NR == FNR { wanted[$1, $2] = $3; next }
    { off = $3 - wanted[$1, $2]; good += off * off < ($3 < 1 ? 1e-6 : 0.01) } END { exit !(good == 8) }' "$scratch/wanted" - || fail 'bandwidths'
checks=$((checks + 1))
same "$(grep -A2 -E '^w[a-z]+: every thread writes .*; 10\^9 bytes a second' "$out" | cut -d' ' -f1 | sort | uniq -c | tr -s ' \n' ' ')" \
    ' 1 -- 2 allocator 2 rw 1 workload: 1 write: ' 'what is above bandwidths'
same "$(tests "$scratch/all")" "${ops}write:packed " 'tests and their operations'
same "$(sed 1d "$scratch/all" | awk -F, '$33 != "ok" || $14 != 1' | wc -l)" 0 'rows that are not ok'
# Each thread's block, or its share of one array: 64 bytes. A heap's range is at least what the blocks were asked for.
same "$(sed 1d "$scratch/all" | awk -F, '$32 == "write" || $32 == "workload" { print $37 }' | sort -u)" 6400 'bytes written'
sed 1d "$scratch/all" | awk -F, '$32 == "frag" { rows++; good += $36 >= 6400 && $36 <= 4194304 && $37 == 6400; n = n $35 " " }
    END { exit !(rows == 8 && good == 8 && n == "0 1 4 16 0 1 4 16 ") }' || fail 'address ranges'
# Half of 256 blocks stay in each round until the heap is full. Those of the last round are among the blocks.
if [ -z "${QUARRY_TEST_THREADS:-}" ]; then # sanitizers are slow
    run 0 bench --backend cpu --test growth --allocator ouro-c-va,rw --threads 256 --heap 1M --csv
    sed 1d "$out" | awk -F, '{ wrong += $36 < $37 || $36 > 1048576 || $37 != 16 * $30 || $35 <= last[$3]; last[$3] = $35; blocks[$3] = $30; rows++ }
        END { near = blocks["ouro-c-va"] / 128 / last["ouro-c-va"]; exit !(!wrong && rows > 15 && near > 0.9 && near < 1.1) }' || fail 'growth'
fi
checks=$((checks + 1))
if command -v python3 >/dev/null 2>&1; then
    python3 - "$scratch/json" "$scratch/all" >"$out" 2>&1 <<'EOF' || fail 'JSON and CSV'
import csv, json, sys
whole = json.load(open(sys.argv[1]))
rows = list(csv.DictReader(open(sys.argv[2])))
assert len(rows) == len(whole["results"]) > 0
assert [f["threads"] for f in whole["floors"]] and whole["method"]["most_runs"] == 2
for row, result in zip(rows, whole["results"]):
    assert list(row) == list(result), (row, result)
    for name, text in row.items():
        value = result[name]
        same = text == "" if value is None else float(text) == value if isinstance(value, float) else text == str(value)
        assert same, (name, text, value)
    assert any(floor["store_us"] == result["store_floor_us"] for floor in whole["floors"])
EOF
fi
# Skewed: of 4~8K half of the blocks have at most 2^7 bytes or so, where 4-8K has them above 4 KiB.
run 0 bench --backend cpu --test fill --allocator scatter --threads 100 --size 4-8K,4~8K --heap 16M --csv
sed 1d "$out" | awk -F, '{ mean[$34] = $37 / $30 } END { exit !(mean["uniform"] > 3700 && mean["octaves"] < 1200) }' ||
    fail 'sizes that are drawn'

# Only timed mallocs have steps. Mallocs that trap where they would return NULL are not measured.
run 0 bench --backend cpu --test alloc,fill,frag --allocator corw --threads 100 --size 64 --heap 1M --runs 2 --steps --csv
same "$(awk -F, 'NR > 1 && $22 != "" { print $4 }' "$out")" malloc 'operations with steps'

# On an empty heap the first look is the only one, and a step.
run 0 bench --backend cpu --test alloc --allocator scatter,rw-malloc,corw --threads 1,64 --size 64 --heap 4M --runs 1 --steps --csv
same "$(awk -F, 'NR > 1 { print $22 }' "$out" | sort -u)" 1.0000 'steps on an empty heap'
run 0 bench --backend cpu --test alloc,fill,oom --allocator corw --threads 100 --size 64 --heap 1M --runs 2 --oom trap --csv
same "$(sed 1d "$out" | cut -d, -f32,33)" alloc,ok 'tests of mallocs that trap'
run 1 bench --backend cpu --test fill --oom trap
says 'measure nothing'

# What was said before stays where nothing can be written, and where nothing was measured.
echo old >"$scratch/kept"
run 2 bench --backend cpu --test alloc --allocator cuda --threads 32 --size 16 --align 64
says "can't prepare: alignment is 64, but allocator cuda can't align"
run 2 bench --backend cpu --test alloc --allocator rw --threads 32 --size 16 --heap 1M --align 64 --page 48 --csv="$scratch/kept"
says 'can.t create the heap: .*48'
same "$(cat "$scratch/kept")" old 'a file of before'
run 1 bench --backend cpu --test alloc --csv="$scratch/fine" --json="$scratch/none/json"
says "$scratch/none/json: can't"
same "$(ls "$scratch/fine" 2>/dev/null)" '' 'a file of a run that had nowhere to write'

run 1 bench --backend cpu --test registers --csv="$scratch/kept"
says 'measure nothing'
run 1 bench --backend cpu --test fill,init --allocator cuda
says 'measure nothing'
run 0 bench --backend cpu --test alloc,fill,oom,shuffled --allocator cuda --threads 32 --size 16 --heap 1M --runs 2 --csv
same "$(sed 1d "$out" | cut -d, -f4,28,32,33 | tr '\n' ' ')" 'malloc,,alloc,ok free,,shuffled,ok ' 'what the platform can do'

# Files are written though nobody reads the table.
"$quarry" bench --backend cpu --test alloc --allocator rw --threads 32 --size 16 --heap 1M --runs 2 --csv="$scratch/fine" \
    --json="$scratch/fine.json" 2>"$err" | true
same "$(wc -l <"$scratch/fine")$(tail -1 "$scratch/fine.json")" '2}' 'files without a reader of the table'

# A grid that nothing gets through in that time.
run 1 bench --backend cpu --test alloc --allocator rw --threads 190M --size 16 --heap 1M --watchdog 1
says '199229440 threads that only store a pointer take longer than 1 s \(--watchdog\): use fewer --threads'

# ---- broken allocators ----

if [ -n "$testing" ]; then
    # One that hangs with pages of 336 bytes: those cells, and no others.
    quarry=$testing run 1 bench --backend cpu --test alloc --allocator plain-stuck,plain --threads 64 --size 16,330,64 --heap 1M \
        --runs 2 --watchdog 2 --csv="$scratch/stuck"
    prints '^plain-stuck malloc +330 +100% +HUNG$'
    same "$(sed 1d "$scratch/stuck" | cut -d, -f3,6,32,33 | sort | tr '\n' ' ')" "$({
        for size in 16 330 64; do echo "plain,$size,alloc,ok"; done
        for size in 16 64; do echo "plain-stuck,$size,alloc,ok"; done
        echo "plain-stuck,330,alloc,hung"
    } | sort | tr '\n' ' ')" 'cells beside those that hang'
    same "$(grep -c '330 bytes, 100 % free, 64 threads: ended after 2 s$' "$err")" 1 'sentences about cells that hang'
    # start_stuck ARGUMENT...: begins a run, $whole, and waits until the process of its cells, $part, hangs in that of 330 bytes.
    start_stuck() {
        env --default-signal=INT "$testing" bench --backend cpu --test alloc --allocator plain-stuck --threads 64 --size 330,16 --heap 1M --runs 2 \
            --watchdog 60 "$@" >"$out" 2>"$err" & # with SIGINT, which a shell's background processes ignore
        whole=$!
        for _ in $(seq 400); do # a third of a second of its time may be many seconds of a busy machine's
            part=$(pgrep -P $whole) && [ "$(cut -d ' ' -f 14 "/proc/${part:-0}/stat" 2>/dev/null)" -ge $(($(getconf CLK_TCK) / 3)) ] 2>/dev/null && break
            sleep 0.1
        done
    }
    # Its process killed by someone else.
    start_stuck --csv
    kill -KILL "$part"
    wait $whole
    same $? 1 'exit code after a process was killed'
    same "$(sed 1d "$out" | cut -d, -f6,33 | tr '\n' ' ')" '330,crashed 16,ok ' 'cells beside one that was killed'
    # The run interrupted: what is done is written, and no process is left.
    for signal in INT TERM; do
        start_stuck --csv="$scratch/csv" --json="$scratch/json"
        kill -$signal $whole
        wait $whole
        same $? $((128 + $(kill -l $signal))) "exit code after SIG$signal"
        same "$(cat "$err")" 'quarry: interrupted: 1 of 2 cells are missing' 'what is said of an interrupted run'
        prints '^plain-stuck malloc +16 +100% .*x$'
        prints_not '330'
        same "$(sed 1d "$scratch/csv" | cut -d, -f6,33)" 16,ok 'cells of an interrupted run'
        grep -q '"bytes": 16,' "$scratch/json" || fail 'JSON of an interrupted run'
        same "$(tail -1 "$scratch/json")" '}' 'end of the JSON of an interrupted run'
        ! kill -0 "$part" 2>/dev/null || fail 'a process is left'
    done
    checks=$((checks + 4))
    # Blocks at odd addresses: the cell fails, with a reason.
    quarry=$testing run 1 bench --backend cpu --test alloc,first-vs-warm,churn,fill --allocator plain-crooked,plain --threads 64 --size 256 --heap 1M \
        --runs 2 --csv
    ops='plain-crooked,malloc,,0,failed plain,malloc,us,1,ok plain-crooked,first,,0,failed plain-crooked,warm,,0,failed '
    ops+='plain,first,us,1,ok plain,warm,us,1,ok plain-crooked,churn,,0,failed plain,churn,us,1,ok plain-crooked,fill,,0,failed plain,fill,us,1,ok '
    same "$(sed 1d "$out" | cut -d, -f3,4,9,14,33 | sed 's/,[0-9.]*,1,/,us,1,/' | tr '\n' ' ')" "$ops" 'cells of blocks at odd addresses'
    grep -q 'alloc, plain-crooked, 256 bytes, .*: 0 NULL, 64 misaligned, 0 overwritten of 64 blocks$' "$err" || fail 'the reason'

    # Pages given to two threads: found by each test that could meet them, also where blocks are freed in the same kernel.
    quarry=$testing run 1 bench --backend cpu --test alloc,churn,producer-consumer,fill,workload --allocator plain-twice,plain \
        --threads 1K --size 256 --heap 1500K --runs 2 --csv
    same "$(sed 1d "$out" | cut -d, -f3,4,33 | sort | tr '\n' ' ')" "$(for op in malloc churn exchange fill malloc+write prefix-sum; do
        echo "plain-twice,$op,failed"
        echo "plain,$op,ok"
    done | sort | tr '\n' ' ')" 'cells of blocks that two threads have'
    grep -Eq 'churn, plain-twice, .* 0 NULL, 0 misaligned, [1-9][0-9]* overwritten of 16384 blocks$' "$err" || fail 'blocks overwritten'
fi

# The bar and the time left, on a terminal only; neither the bar nor a table of more than one column is wider than it.
if command -v python3 >/dev/null 2>&1; then
    for columns in 40 80; do
        QUARRY_PROGRESS_US=1 on_terminal $columns "$quarry" bench --backend cpu --test alloc,scaling --allocator rw,corw --heap 4M --size 16,256,1K \
            --runs 1 --csv="$scratch/csv"
        tr '\r' '\n' <"$out" | grep -Eq '^bench \[#+\.*\] +[0-9]+%, [0-9]+:[0-9]{2} left' || fail 'no bar with the time left'
        same "$(tr '\r' '\n' <"$out" | grep '^bench' | sed 's/\x1b\[K//' | awk -v columns=$columns 'length($0) >= columns')" '' 'bars that are too wide'
        same "$(grep -c '^allocator' "$out")" "$((columns == 40 ? 2 + 6 : 1 + 3))" "tables side by side in $columns columns"
    done
    QUARRY_PROGRESS_US=1000000000 on_terminal 80 "$quarry" bench --backend cpu --test alloc --allocator rw --size 16 --runs 1
    same "$(grep -c 'bench \[' "$out")" 0 'bars of short work'
fi

# ---- comparisons ----

a=$scratch/a.csv
b=$scratch/b.csv
# row FILE TEST US Q1 Q3 STATUS UTILISATION [BYTES]: appends a result of corw.
row() {
    echo "corw,x,1024,16,16,100,$3,$4,$5,$2,$6,one,0,$7,,${8:-},,32,cpu" >>"$1"
}
echo 'allocator,op,threads,bytes,bytes_least,free_percent,median_us,q1_us,q3_us,test,status,draw,rounds,utilisation,range_bytes,asked_bytes,registers,lanes,backend' |
    tee "$a" >"$b"
row "$a" alloc 10 9 11 ok ''
row "$a" free 10 9 11 ok ''
row "$a" fill '' '' '' ok 0.5
row "$a" mixed 5 5 5 ok ''
row "$a" scaling '' '' '' hung ''
row "$a" write 10 8 12 ok '' 50000
row "$b" write 8 7 9 ok '' 50000
row "$b" fill '' '' '' ok 0.5
row "$b" alloc 10.5 10 11 ok ''
row "$b" free 8 7 9 ok ''
row "$b" scaling 1 1 1 ok ''
row "$b" warp 1 1 1 ok ''
run 0 bench --compare "$a" "$b"
prints '^ +10 +10.5 us +1\.050 0\.909-1\.222 +alloc x cpu corw '
prints '^ +10 +8 us +0\.800 0\.636-1\.000 +better free '
prints '^ +0\.5 +0\.5 +1\.000 +fill '
prints '^ +5 +6\.25 GB/s +1\.250 0\.889-1\.714 +better +write '
prints '^4 results in both: 0 worse and 2 better by more than 10 %; 1 only in A, 1 only in B, 1 without a value in A$'
run 1 bench --compare --tolerance 4.9 "$a" "$b"
prints '1\.050 .* worse +alloc '
run 0 bench --compare --tolerance 5.1 "$a" "$b"
run 1 bench --compare --tolerance 20 "$b" "$a"
prints ' worse +free ' # 10 beside 8
prints ' worse +write '
prints '^ +1 +- us +- +worse +scaling ' # it hangs now
sed -i 's/,0\.5,/,0.4,/' "$b"
run 1 bench --compare "$a" "$b"
prints ' 0\.800 +worse +fill '
run 1 bench --compare "$scratch/all" "$a"
says 'a\.csv have no result in common'
run 0 bench --compare "$scratch/all" "$scratch/all"
prints 'results in both: 0 worse and 0 better'
run 1 bench --compare "$scratch/nonesuch" "$a"
says 'nonesuch: can.t read'
: >"$scratch/empty"
run 1 bench --compare "$a" "$scratch/empty"
says 'empty: line 1: the file is empty'
# refused SED PATTERN: the file, changed so, is refused.
refused() {
    sed "$1" "$a" >"$scratch/bad"
    run 1 bench --compare "$scratch/bad" "$a"
    says "bad: $2"
}
refused 's/,status,/,state,/' "line 1: there is no column 'status'"
refused '3s/,10,/,ten,/' "line 3: no number: 'ten'"
refused '4s/,cpu$//' 'line 4: 18 values instead of 19'
refused '2s/corw/"corw/' 'line 2: a quote is wrong'
refused '2p' 'line 3: the same cell as in line 2'

# ---- usage ----

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
run 2 bench --test alloc,nonesuch
says "no test 'nonesuch'"
run 2 bench --test alloc,free,alloc
says "'alloc' is there twice"
run 2 bench --full --test alloc
says '--full is all tests'
run 2 bench --csv=
says '--csv=: name a file'
run 2 bench --json=
says '--json=: name a file'
run 2 bench --csv --json
says 'name a file'
run 2 bench --csv=x --json=x
says "can't both be 'x'"
for option in --csv=x --align=64 --oom=trap --set=serial=1; do
    run 2 bench --compare $option a.csv b.csv
    says '--compare measures nothing'
done
run 2 bench --threads 1K,2,1024
says "--threads: '1024' is there twice"
run 2 bench --size 4-8,4~8,4-8
says "--size: '4-8' is there twice"
run 2 bench --free 50,50.0
says "--free: '50.0' is there twice"
run 2 bench --allocator rw,corw,rw
says "--allocator: 'rw' is there twice"
run 2 bench --watchdog 0
says "--watchdog: '0'"
run 2 bench --size 4~5G
says "--size: '5G'"
run 2 bench --tolerance 5
says 'tolerance'
run 2 bench --compare a.csv
says 'two CSV files'
run 2 bench --compare --tolerance x a.csv b.csv
says "--tolerance: 'x'"
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
run 2 bench --backend cpu --set probes=4 --set probe_lanes=3
says "--set 'probe_lanes=3': --set is there twice; give all pairs in one"
run 2 bench --backend cpu --set probe_lanes=33
says '--set: probe_lanes is 33, but may be 1 to 32 \(lanes'
run 2 bench --backend cpu --allocator ualloc --set arenas=4097
says '--set: arenas is 4097, but may be 1 to 4096, or 0 \(arenas'
run 2 bench --backend cpu --allocator rw,corw --set probe_lanes=4,page_lanes=4
says "--set: there is no option 'page_lanes': the allocators have probes, word_bits, probe_lanes"
run 2 bench --backend cpu --allocator cuda --set probes=4
says "--set: there is no option 'probes': allocator cuda has none$"
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
for option in --free=10 --lanes=8 --threads=64; do
    run 2 bench --backend cpu --test init "$option"
    says "${option%=*}: none of these tests takes it"
done
run 2 bench --backend cpu --test fill,frag --steps
says '--steps: none of these tests counts steps'
run 2 bench --backend cpu --allocator ring,scatter --low-free 1
says '--low-free: none of these allocators infers that the heap is full'
run 2 bench --backend cpu --allocator cuda --page 64
says '--page: none of these allocators has pages'
run 2 bench --backend cpu --allocator ring,corw --test alloc --threads 64 --size 16 --heap 1M --set word_bits=48
says '--set: option word_bits is 48: it must be 32 or 64'
run 2 bench --runs 0
says "--runs: '0'"
run 2 bench --backend gpu
says "--backend 'gpu': give auto, cuda or cpu"
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
says "$scratch/none/csv: can't create a file"
if [ -e /dev/full ]; then
    "$quarry" bench --backend cpu --allocator rw --threads 1 --size 16 --free 100 --heap 1M --csv \
        >/dev/full 2>"$err"
    same $? 1 'exit code with standard output full'
fi

[ -n "$testing" ] || echo 'left out: the allocators that are broken'
finish
