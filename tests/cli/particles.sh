#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# examples/particles on one backend: what it prints, for every allocator the same particles, and what it refuses.  The
# program itself looks at every particle after each step.
#
#   particles.sh PARTICLES QUARRY     the binary, and the command; QUARRY_TEST_BACKEND: cpu or cuda
set -u

quarry=$1
command=$2
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
backend=${QUARRY_TEST_BACKEND:-cpu}
plot=$(dirname "$0")/../../examples/particles/plot.py

# refuses CODE PATTERN ARGUMENT...: one sentence like that, and nothing else.
refuses() {
    local code=$1 pattern=$2
    shift 2
    run "$code" "$@"
    checks=$((checks + 1))
    if [ "$(wc -l <"$err")" -ne 1 ] || ! grep -Eq -- "^particles: .*$pattern" "$err" || [ -s "$out" ]; then
        fail "not one sentence like '$pattern'"
    fi
}

# look STATEMENTS WHAT: `good` is true in the end, when awk has run STATEMENTS for each row.
look() {
    checks=$((checks + 1))
    awk -F, "NR > 1 { $1 } END { exit !good }" "$out" || fail "$2"
}

for allocator in ring scatter corw rw-malloc quarry cuda; do
    run 0 --backend "$backend" --allocator "$allocator" --atoms 5000 --cells 5 --steps 40
    same "$(head -n 1 "$out")" \
        'allocator,backend,step,atoms,ions,electrons,frames,used_bytes,heap_bytes,microseconds' 'the header'
    same "$(wc -l <"$out")" 42 'lines'
    # shellcheck disable=SC2016 # for awk
    {
        look "good += \$1 == \"$allocator\" && \$2 == \"$backend\" && \$4 + \$5 == 5000 && \$5 == \$6 && \$8 == 8192 * \$7 &&
            \$8 < \$9; if (good != NR - 1) exit" 'a row that contradicts itself'
        look 'if ($5 > most) { most = $5; at = NR } last = $5; good = most > 1000 && at > 10 && last < 0.8 * most' \
            'ions that come and go'
    }
    cut -d, -f3-7 "$out" >"$scratch/$allocator"
    cmp -s "$scratch/$allocator" "$scratch/ring" || fail "$allocator has other particles than ring"
    cp "$out" "$scratch/$allocator.csv"
    [ "$allocator" != cuda ] || continue # whose heap is no smaller than the platform makes it
    refuses 1 'step [0-9]+: the heap of 300000 bytes is full' --backend "$backend" --allocator "$allocator" --cells 3 \
        --atoms 8K --heap 300000
    refuses 1 'a pool of 1 bytes is too small' --backend "$backend" --allocator "$allocator" --heap 1
done
# One atom; less than a particle a step; a world where all cells are neighbours.
run 0 --backend "$backend" --atoms 1 --cells 3 --steps 1
run 0 --backend "$backend" --atoms 9 --cells 40 --steps 3
run 0 --backend "$backend" --atoms 3K --cells 3 --steps 20

# A ring for each species, and one for those that leave: the same particles.  Each has a quarter of --heap, whatever it needs.
run 0 --backend "$backend" --apart # long enough for ions that capture the last electron of a frame
run 0 --backend "$backend" --apart --atoms 5000 --cells 5 --steps 40
cut -d, -f3-8 "$out" >"$scratch/apart"
cut -d, -f3-8 "$scratch/ring.csv" | cmp -s - "$scratch/apart" || fail 'other particles or frames with rings apart'
run 0 --backend "$backend" --apart --allocator ring --atoms 5000 --cells 5 --steps 40 --heap 4000003
cut -d, -f3-8 "$out" | cmp -s - "$scratch/apart" || fail 'other particles or frames with rings of a given size'
# shellcheck disable=SC2016 # for awk
look 'good += $1 == "ring" && $9 == 4000003; if (good != NR - 1) exit' 'shares that are not all of --heap'
refuses 1 "step 0: the ring of atoms is full with 9 frames, while 2[67] of the others' 2[67] are free; .* than 324001 bytes" \
    --backend "$backend" --apart --cells 3 --atoms 8K --heap 324001
refuses 1 "step [1-9][0-9]*: the ring of [a-z ]+ is full with 9 frames, while [0-9]+ of the others' 2[67] are free; " \
    --backend "$backend" --apart --cells 3 --atoms 2K --heap 324001
refuses 1 'a pool of 1 bytes is too small' --backend "$backend" --apart --heap 3
refuses 2 '--apart gives each species a ring: ' --apart --allocator corw
refuses 2 '--apart gives each species a ring: ' --apart --trace "$scratch/trace"

# A trace of it: as many frames are allocated as freed, and those are the same particles.  What fails leaves none.
run 0 --backend "$backend" --atoms 5000 --cells 5 --steps 40 --trace "$scratch/trace"
cut -d, -f3-7 "$out" | cmp -s - "$scratch/ring" || fail 'other particles when they are recorded'
quarry=$command run 0 replay --backend "$backend" --runs 1 --check "$scratch/trace"
prints '^events +([0-9]+): '
prints '^batches +[0-9]+ of [0-9]+ launches$'
rm "$scratch/trace"
refuses 1 'heap of 300000 bytes is full' --backend "$backend" --cells 3 --atoms 8K --heap 300000 --trace "$scratch/trace"
refuses 1 "can't write" --backend "$backend" --trace "$scratch/no/folder"
refuses 2 '--trace records corw, ' --allocator ring --trace "$scratch/trace"
same "$(find "$scratch" -name 'trace*' | wc -l)" 0 'files of traces'

refuses 2 "--allocator rw: give ring, " --allocator rw
refuses 2 '--backend gpu: give cuda or cpu' --backend gpu
refuses 2 '--atoms 0: .* from 1 to' --atoms 0
refuses 2 '--atoms 257M: ' --atoms 257M
refuses 2 '--cells 2: .* from 3 to 1024' --cells=2
refuses 2 '--steps 1KB: ' --steps 1KB
refuses 2 '--heap -1: ' --heap -1
refuses 2 '--heap needs a value' --heap
refuses 2 'no option -x;' --atoms 3 -x
refuses 2 'no option --colour=red;' --colour=red
refuses 2 "'more'" more
run 0 -h
cp "$out" "$scratch/help"
run 0 --help
same "$(<"$out")" "$(<"$scratch/help")" -h
prints '^Usage: particles '

if python3 -c 'import matplotlib' 2>/dev/null; then
    python3 "$plot" "$scratch/plot.svg" "$scratch"/*.csv 2>"$err" || fail 'plot.py'
    for word in electrons ring scatter corw rw-malloc quarry cuda; do
        grep -q ">$word" "$scratch/plot.svg" || fail "the drawing doesn't name $word"
    done
fi
finish
