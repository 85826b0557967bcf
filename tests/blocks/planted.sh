#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bugs planted into copies of the building blocks, one at a time: the tests of the blocks find each within as many
# seeds of the deterministic scheduler as stated here, and nothing in the copy without a bug.
#
#   planted.sh CC LIBRARY-FLAGS     the compiler, and what links a program of tests with the library
set -u
cc=$1
flags=$2
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
planted=0

# build TEST: the test of the copy in $scratch/copy.
build() {
    # shellcheck disable=SC2086 # words
    "$cc" -std=c11 -D_GNU_SOURCE -O1 -I"$scratch/copy" -I"$root/include" -I"$root/tests" \
        "$scratch/copy/blocks/test_$1.c" "$scratch/copy/blocks/$1_kernels.c" $flags -o "$scratch/test" 2>"$scratch/log"
}

# fresh: a copy of the blocks and their tests.
fresh() {
    rm -rf "$scratch/copy"
    mkdir -p "$scratch/copy/quarry"
    cp -r include/quarry/core "$scratch/copy/quarry/"
    cp -r tests/blocks "$scratch/copy/"
}

# run TEST SEEDS: its exit code.
run() {
    QUARRY_TEST_BACKEND=cpu QUARRY_TEST_SEEDS=$2 timeout 120 "$scratch/test" >"$scratch/out" 2>&1
}

# plant TEST SEEDS FILE WHAT SED-PROGRAM: the change is there, compiles, and the test fails with a seed of 1 to SEEDS.
plant() {
    planted=$((planted + 1))
    fresh
    case $3 in *_kernels.c) file=$scratch/copy/blocks/$3 ;; *) file=$scratch/copy/quarry/core/$3 ;; esac
    cp "$file" "$scratch/before"
    sed -i -E "$5" "$file"
    if cmp -s "$file" "$scratch/before"; then
        echo "FAILED: $3: $4: the change applies nowhere"
    elif ! build "$1"; then
        echo "FAILED: $3: $4: does not compile"
        head -5 "$scratch/log"
    elif run "$1" "$2"; then
        echo "FAILED: $3: $4: not found within $2 seeds"
    elif ! grep -q '^failed with seed ' "$scratch/out"; then
        echo "FAILED: $3: $4: the test failed in another way"
        tail -5 "$scratch/out"
    else
        echo "$3: $4: seed $(sed -n 's/^failed with seed //p' "$scratch/out" | sort -n | head -1)"
        return
    fi
    failures=$((failures + 1))
}

for test in semaphore srcu; do
    fresh
    { build $test && run $test 500; } || { echo "FAILED: $test without a bug"; head "$scratch/log" "$scratch/out"; failures=$((failures + 1)); }
done

# The semaphore.
plant semaphore 100 semaphore.h 'a batch that failed is still expected' \
    's/\*owed \* QUARRY_SEMAPHORE_UNIT - part, relaxed/*owed * QUARRY_SEMAPHORE_UNIT, relaxed/'
plant semaphore 500 semaphore.h 'promises when as many are expected as reserved' \
    's/(quarry_semaphore_part\(quarry_semaphore_uncovered\(balance\)), \*owed/\1 + 1, *owed/'
plant semaphore 100 semaphore.h 'waits when one more is reserved than expected' \
    's/(quarry_semaphore_part\(quarry_semaphore_uncovered\(balance\)), \*owed/\1 - 1, *owed/'
plant semaphore 100 semaphore.h 'try takes what others have reserved' \
    '/if \(quarry_semaphore_free\(simt_load_u64\(&s->balance/s/\) < \(int64_t\)n\)/) < -64)/'
plant semaphore 500 semaphore.h 'what was taken in vain is not put back' \
    's/\(void\)simt_add_u64\(&s->units, n - got, relaxed\)/(void)got/'
plant semaphore 4000 semaphore.h 'gives up what is covered, too' \
    's/(uint32_t given_up = ).*/\1*owed;/'
plant semaphore 1000 semaphore.h 'a promise too many is not withdrawn' \
    's/\(void\)simt_sub_u64\(&s->balance, \(parts - needed\) \* unit, relaxed\)/(void)balance/'
plant semaphore 100 semaphore.h 'what the maker keeps is there for others, too' 's/n - kept, release/n, release/'
plant semaphore 4000 semaphore.h 'the first look at what is uncovered is the last' \
    '/balance = simt_add_u64\(&s->balance, parts/s/balance = /(void)/'
plant semaphore 4000 semaphore.h 'who gets nothing reserves nothing' \
    '/uint32_t quarry_semaphore_ask\(/,/^\}/s/\(void\)simt_sub_u64/if (got) (void)simt_sub_u64/'
plant semaphore 4000 semaphore.h 'what is covered is not reserved again' \
    '/quarry_semaphore_failed\(/,/^\}/s/\(void\)simt_sub_u64.*/;/'

# Read-copy-update and the list.
plant srcu 100 srcu.h 'callbacks run with a reader inside' 's/\(quarry_srcu_one\(1\) - 1u\)\) != 0\)/0u) != 0)/'
plant srcu 4000 srcu.h 'a reader is counted for an epoch that has ended' 's/acquire\)\) != parity\)/acquire)) > 1u)/'
plant srcu 4000 srcu.h 'the queue is taken after the epoch has moved' \
    '/taken = simt_exchange_u64\(&s->queue/{s/uint64_t taken = .*/uint64_t taken;/}
     /old = quarry_srcu_parity\(simt_add/s/$/ taken = simt_exchange_u64(\&s->queue, 0, acquire);/'
plant srcu 4000 srcu.h 'waiting is cleared after the queue was taken' \
    '/simt_exchange_u32\(&s->waiting, 0, acquire\)/d
     /old = quarry_srcu_parity\(simt_add/s/^/    simt_store_u32(\&s->waiting, 0, relaxed);/'
# A load may be stale: as old as if it had come before the callback was queued.
plant srcu 4000 srcu_kernels.c 'waiting is read by a load' \
    's/quarry_srcu_queue\(a->srcu, &element->callback\);/uint32_t stale = simt_load_u32(\&a->srcu->waiting, relaxed); &/
     s/a->delegates \? (quarry_srcu_barrier_or_delegate\(a->srcu\))/a->delegates ? stale ? SIMT_NULL : \1/'
plant srcu 100 srcu_kernels.c 'an element is reused without a barrier' \
    's/quarry_srcu_queue\(a->srcu, &element->callback\);/simt_store_u32(\&element->state, SRCU_REUSED, relaxed); &/'

# The mutex.
plant srcu 100 mutex.h 'the leader unlocks before the sync' '/void quarry_mutex_unlock\(/,/^\}/s/simt_sync\(group\);//'
plant srcu 100 mutex.h 'lock without the sync' '/void quarry_mutex_lock\(/,/^\}/s/simt_sync\(group\);//'
plant srcu 100 mutex.h 'a block unlocks before the barrier' '/quarry_mutex_unlock_block\(/,/^\}/s/simt_block_barrier\(\);//'
plant srcu 100 mutex.h 'a block locks without the barrier' '/quarry_mutex_lock_block\(/,/^\}/s/simt_block_barrier\(\);//'

echo "$planted bugs, $failures failures"
[ "$failures" -eq 0 ]
