#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bugs planted into copies of the headers that ouro-c-s is made of, one at a time: a test finds each within as many seeds of
# the deterministic scheduler as stated here, and nothing in the copy without a bug.
#
#   planted.sh CC LIBRARY-FLAGS    the compiler, and what links a program of tests with the library
set -u
cc=$1
flags=$2
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
planted=0

# compile FILE: an object of a file of the tests, with the copy's headers.
compile() {
    # shellcheck disable=SC2086 # words
    "$cc" -std=c11 -D_GNU_SOURCE -O1 -I"$scratch/copy" -Iinclude -Itests $flags -c "tests/$1.c" \
        -o "$scratch/$(basename "$1").o" 2>"$scratch/log"
}

# build: the tests of the copy.  Their host's part is the same for all copies.
build() {
    compile alloc/promise_kernels || return
    for test in ouro seeds; do
        # shellcheck disable=SC2086 # words
        "$cc" "$scratch/test_$test.o" "$scratch/promises.o" "$scratch/chosen.o" "$scratch/promise_kernels.o" $flags \
            -o "$scratch/$test" 2>"$scratch/log" || return
    done
}

# fresh: a copy of the blocks.
fresh() {
    rm -rf "$scratch/copy"
    mkdir -p "$scratch/copy/quarry"
    cp -r include/quarry/core "$scratch/copy/quarry/"
}

# run TEST SEEDS: its exit code.
run() {
    QUARRY_TEST_BACKEND=cpu QUARRY_TEST_ALLOCATOR=ouro-c-s QUARRY_TEST_SEEDS=$2 timeout 300 "$scratch/$1" >"$scratch/out" 2>&1
}

# plant TEST SEEDS FILE WHAT SED-PROGRAM: the change is there, compiles, and the test fails.
plant() {
    planted=$((planted + 1))
    fresh
    file=$scratch/copy/quarry/core/$3
    sed -i -E "$5" "$file"
    if cmp -s "$file" "$root/include/quarry/core/$3"; then
        echo "FAILED: $3: $4: the change applies nowhere"
    elif ! build; then
        echo "FAILED: $3: $4: does not compile"
        head -5 "$scratch/log"
    elif run "$1" "$2"; then
        echo "FAILED: $3: $4: not found within $2 seeds"
    elif ! grep -q 'ouro-c-s.*seed [0-9]' "$scratch/out"; then
        echo "FAILED: $3: $4: the test failed in another way"
        tail -5 "$scratch/out"
    else
        echo "$3: $4: $(sed -nE 's/.*ouro-c-s.*, (seed [0-9]+).*/\1/p' "$scratch/out" | head -1)"
        return
    fi
    failures=$((failures + 1))
}

fresh
for file in alloc/test_ouro alloc/test_seeds alloc/promises chosen; do
    compile $file || { head -5 "$scratch/log"; exit 1; }
done
for test in ouro:60 seeds:5000; do
    { build && run ${test%:*} ${test#*:}; } || { echo "FAILED: ${test%:*} without a bug"; head "$scratch/log" "$scratch/out"; failures=$((failures + 1)); }
done

plant ouro 60 chunk_masks.h 'a chunk recycled between look and subtraction' \
    '/^SIMT_FN uint32_t quarry_mask_claim/,/^}/s/(\*count = )quarry_mask_here\((.*), class_\);/\1(uint32_t)quarry_mask_count(\2); if (*count >> 31) *count = 0;/'
plant seeds 5000 chunk_masks.h 'who undoes a subtraction misses a free' \
    '/^SIMT_FN uint32_t quarry_mask_claim/,/^}/s/quarry_mask_add\(m, chunk, n - got\)/simt_add_u64(word, (n - got) * QUARRY_MASK_PAGE, relaxed)/'
plant ouro 60 chunk_masks.h 'a chunk that could not go is signalled twice' \
    '/^SIMT_FN void quarry_mask_leave/,/^}/s/quarry_semaphore_signal\(units, pages\);/& &/'
plant ouro 60 chunk_masks.h 'units of a chunk that could not go are lost' \
    '/^SIMT_FN void quarry_mask_leave/,/^}/s/quarry_semaphore_signal\(units, pages\);//'
plant ouro 60 chunk_masks.h 'a chunk goes without a compare-exchange' \
    '/^SIMT_FN void quarry_mask_leave/,/^}/s/if \(before == now\)/if (simt_exchange_u64(word, now - pages * QUARRY_MASK_PAGE - (class_ + 1u) * QUARRY_CHUNK_CLASS, acquire) | 1u)/'
plant ouro 60 semaphore.h 'a batch that failed is still expected' \
    's/\*owed \* QUARRY_SEMAPHORE_UNIT - part, relaxed/*owed * QUARRY_SEMAPHORE_UNIT, relaxed/'
plant ouro 60 index_queue.h 'an entry is put over another' \
    '/^SIMT_FN int quarry_index_queue_put_try/,/^}/s/simt_cas_u32\((.*), QUARRY_NO_INDEX, index, release\) == QUARRY_NO_INDEX/simt_exchange_u32(\1, index, release) | 1/'
plant seeds 5000 chunk_masks.h 'an entry is dropped though pages came' \
    '/^SIMT_FN void quarry_mask_keep/,/^}/s/if \(before == now\)/if (simt_and_u64(word, ~quarry_mask_queued(class_), relaxed) | 1u)/'
plant ouro 300 chunk_masks.h 'late chunks are not recalled' \
    '/^SIMT_FN int quarry_mask_recall/,/^}/s/if \(late <= 0\)/if (1)/'
plant ouro 300 chunk_masks.h 'a chunk that could not go is not late' \
    '/^SIMT_FN void quarry_mask_leave/,/^}/s/if \(!\(simt_or_u64.*/if (0) {/'
plant seeds 5000 chunk_masks.h 'the pages that the maker keeps are counted, too' \
    '/^SIMT_FN void quarry_mask_deal/,/^}/s/taken < each \? each - taken : 0/each/'
plant seeds 5000 chunk_masks.h 'who has claimed some takes all bits of a field' \
    '/^SIMT_FN uint32_t quarry_mask_win/,/^}/s/some \&= last < 31u.*/(void)last;/'


echo "$planted bugs, $failures failures"
[ "$failures" -eq 0 ]
