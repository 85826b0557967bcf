#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bugs planted into copies of the building blocks, one at a time: the tests of the blocks find each within as many
# seeds of the deterministic scheduler as stated here, and nothing in the copy without a bug.
#
#   planted.sh CC LIBRARY-FLAGS         the compiler, and what links a program of tests with the library
#   planted.sh CC LIBRARY-FLAGS weak    with a library of mode weak: orders of memory that are missing
#   planted.sh CC LIBRARY-FLAGS thread  the same with clang, and a library of ThreadSanitizer: some of slots
#
# QUARRY_PLANTED names the tests whose bugs are planted, with commas: of semaphore, srcu, queue, transit, windows, buddy,
# segments, hierarchy and slots.
# shellcheck source=tests/planted.sh
. "$(dirname "$0")/../planted.sh"
tests=${QUARRY_PLANTED:-semaphore,srcu,queue,transit,windows,buddy,segments,hierarchy,slots}
mode=${3:-}
if [ "$mode" = weak ]; then # as CMakeLists.txt has them
    export QUARRY_WEAK=1
    kernel_flags=(-g -DSIMT_CPU_WEAK=1 -fsanitize=thread)
    "$cc" --version | grep -q clang && kernel_flags+=(-fno-builtin)
fi
if [ "$mode" = thread ]; then
    tests=slots
    kernel_flags=(-gline-tables-only -fsanitize=thread)
    flags+=' -fsanitize=thread'
    export TSAN_OPTIONS=halt_on_error=1:atexit_sleep_ms=0
fi
export QUARRY_TEST_STOP=1 # the first failure is enough
failed_seed='s/.*failed with seed //p' # behind what a deadlock's report leaves of its last line

build() {
    compile_once "blocks/test_$1" && compile "blocks/$1_kernels" && link "test_$1.o" "$1_kernels.o"
}

for test in ${tests//,/ }; do
    sound "$test" 20
done

# The same in each build: no race, but a slot that two lanes have.
named_first() {
    plant slots 100 blocks_take.h 'the type is there before the slots are written' \
        '/ quarry_blocks_make\(/,/^\}/s/uint64_t rest = .*/& simt_store_u32(\&b->kind[block], kind, relaxed);/'
}

# raced SEEDS FILE WHAT SED-PROGRAM: ThreadSanitizer reports it.  Not here: a claim that releases nothing, for its store is no
# read-modify-write, and to ThreadSanitizer what was released before still is.  Mode weak has it.
raced() {
    failed_seed="s/.*WARNING: ThreadSanitizer: data race.*/up to $1/p"
    plant slots "$@"
}
if [ "$mode" = thread ]; then
    named_first
    raced 4 blocks.h 'a give releases nothing' '/quarry_blocks_give\(/,/^\}/s/, release\)/, relaxed)/'
    raced 4 blocks_take.h 'a take acquires nothing' '/quarry_blocks_take_from\(/,/^\}/s/, acquire\)/, relaxed)/'
    raced 4 blocks.h 'a thief acquires nothing' '/quarry_blocks_unmake\(/,/^\}/s/, acquire\)/, relaxed)/'
    raced 4 hierarchy.h 'put releases nothing' '/quarry_hierarchy_put_some\(/,/^\}/s/, release\)/, relaxed)/'
    raced 4 hierarchy.h 'claim acquires nothing' '/quarry_hierarchy_claim_some\(/,/^\}/s/, acquire\)/, relaxed)/'
    finish
fi

# Relaxed, one after the other.  Not here: the two of `waiting`, as a lane of mode weak goes in the order of its program
# (docs/reference/blocks.md).
if [ "$mode" = weak ]; then
    relaxed() {
        plant "$1" 1000 "$2" "$3" "/$4/,/^}/s/(, |\()$5\)/\1relaxed)/"
    }
    relaxed semaphore semaphore.h 'a take acquires nothing' 'quarry_semaphore_take\(' acquire
    relaxed semaphore semaphore.h 'a try acquires nothing' 'quarry_semaphore_try\(' acquire
    relaxed semaphore semaphore.h 'a signal releases nothing' 'quarry_semaphore_add\(' release
    relaxed srcu srcu.h 'who enters acquires nothing' 'quarry_srcu_enter\(' acquire
    relaxed srcu srcu.h 'who leaves releases nothing' 'quarry_srcu_leave\(' release
    relaxed srcu srcu.h 'a callback is not released' 'quarry_srcu_queue\(' release
    relaxed srcu srcu.h 'the queue is not acquired' 'taken = ' acquire
    relaxed srcu srcu.h 'the flip releases nothing' 'old = ' release
    relaxed srcu srcu.h 'the last of the readers is not acquired' 'while \(quarry_srcu_count' acquire
    relaxed srcu mutex.h 'lock acquires nothing' 'quarry_mutex_acquire\(' acquire
    relaxed srcu mutex.h 'unlock releases nothing' 'quarry_mutex_release\(' release
    relaxed srcu list.h 'who follows a link acquires nothing' 'quarry_list_next\(' acquire
    relaxed srcu list.h 'insert releases nothing' 'quarry_list_insert\(' release
    relaxed srcu list.h 'remove releases nothing' 'quarry_list_remove\(' release
    relaxed hierarchy hierarchy.h 'put releases nothing' 'quarry_hierarchy_put_some\(' release
    relaxed hierarchy hierarchy.h 'claim acquires nothing' 'quarry_hierarchy_claim_some\(' acquire
    relaxed slots blocks.h 'a give releases nothing' 'quarry_blocks_give\(' release
    relaxed slots blocks_take.h 'a take acquires nothing' 'quarry_blocks_take_from\(' acquire
    plant slots 1000 blocks_take.h 'a claim releases nothing' '/ quarry_blocks_make\(/,/^\}/s/, release\)/, relaxed)/'
    plant slots 100 blocks_take.h 'who did not claim a block makes it without the sync' \
        's/simt_sync\(group\); \/\* what the first lane acquired, each has \*\///'
    plant slots 1000 blocks_take.h 'lanes go on before all blocks are made' 's/simt_sync\(group\); \/\* all are made \*\///'
    plant slots 1000 blocks.h 'blocks end without the sync' '/int quarry_blocks_end\(/,/^\}/s/simt_sync\(group\);//'
    plant slots 100 blocks.h 'who ends a block that is another'"'"'s acquires nothing' '/int quarry_blocks_end\(/,/^\}/s/0, acquire\)/0, relaxed)/'
    plant slots 1000 blocks.h 'a thief acquires nothing' '/int quarry_blocks_unmake\(/,/^\}/s/slots\(b, block\), 0, acquire\)/slots(b, block), 0, relaxed)/'
    relaxed slots flights.h 'the end of a flight releases nothing' 'quarry_flights_end\(' release
    relaxed slots flights.h 'who waits for flights acquires nothing' 'quarry_flights_begun\(' acquire
    plant slots 1000 blocks_take.h 'lanes take without the sync' '/quarry_blocks_new\(/,/^\}/s/simt_sync\(group\);//'
    plant segments 1000 segments_install.h 'what an entry was long ago is taken for what it is' \
        '/int quarry_segments_draw\(/,/^\}/s/<< q->shift\) > 0;/<< q->shift) != 0;/'
    relaxed segments segments_install.h 'who draws a number knows of its own chance only' 'simt_add_u32\(&ends->next, 1' acq_rel
    relaxed windows chunk_runs.h 'who gives a run counts it before its bits are set' 'VERSION \+ counted' release
    relaxed segments segments.h 'a slot is not acquired' 'quarry_segments_read\(' acquire
    relaxed segments segments_install.h 'an entry is not acquired' 'quarry_segments_chunk\(' acquire
    relaxed segments segments.h 'who looks acquires nothing' 'quarry_segments_hold\(' acquire
    relaxed segments segments_list.h 'who lets go releases nothing' 'quarry_segments_let_go\(' release
    plant srcu 1000 srcu.h 'enter without the sync' '/quarry_srcu_enter\(/,/^\}/s/simt_sync\(group\);//'
    plant srcu 1000 srcu.h 'leave without the sync' '/quarry_srcu_leave\(/,/^\}/s/simt_sync\(group\);//'
    finish
fi

# The semaphore.
plant semaphore 100 semaphore.h 'a batch that failed is still expected' \
    's/\*owed \* QUARRY_SEMAPHORE_UNIT - part, relaxed/*owed * QUARRY_SEMAPHORE_UNIT, relaxed/'
plant semaphore 500 semaphore.h 'promises when as many are expected as reserved' \
    's/(quarry_semaphore_part\(quarry_semaphore_uncovered\(balance\)), \*owed/\1 + 1, *owed/'
plant semaphore 100 semaphore.h 'waits when one more is reserved than expected' \
    's/(quarry_semaphore_part\(quarry_semaphore_uncovered\(balance\)), \*owed/\1 - 1, *owed/'
plant semaphore 100 semaphore.h 'try takes what others have reserved' \
    '/while \(quarry_semaphore_free\(simt_load_u64\(&s->balance/s/>= \(int64_t\)n\)/>= -64)/'
plant semaphore 4000 semaphore.h 'a try fails where another is in the middle of one' \
    's/simt_backoff\(\); \/\* units are free.*/return 0;/'
plant semaphore 500 semaphore.h 'what was taken in vain is not put back' \
    's/\(void\)simt_add_u64\(&s->units, n - got, relaxed\)/(void)got/'
plant semaphore 100 semaphore.h 'what was not taken is put back, too, as Algorithm 2 of Ouroboros has it in lines 2 to 6' \
    's/uint32_t got = (quarry_semaphore_part\(.*simt_sub_u64\(&s->units, n, acquire\)\), n\));/uint32_t got = quarry_semaphore_there(simt_load_u64(\&s->units, relaxed)) >= (int64_t)n ? \1 : 0;/'
plant semaphore 100 semaphore.h 'what was taken in vain is put back twice' \
    's/\(void\)simt_add_u64\(&s->units, n - got, relaxed\);/{ & & }/'
plant semaphore 1000 semaphore.h 'a try that failed is undone twice' 's/\(void\)simt_add_u64\(&s->units, n, relaxed\);/& &/'
plant semaphore 4000 semaphore.h 'gives up what is covered, too' \
    's/(uint32_t given_up = ).*/\1*owed;/'
plant semaphore 1000 semaphore.h 'a promise too many is not withdrawn' \
    's/\(void\)simt_sub_u64\(&s->balance, \(parts - needed\) \* unit, relaxed\)/(void)balance/'
plant semaphore 100 semaphore.h 'what the maker keeps is there for others, too' 's/\(n - kept\), release/n, release/'
plant semaphore 4000 semaphore.h 'the first look at what is uncovered is the last' \
    '/balance = simt_add_u64\(&s->balance, parts/s/balance = /(void)/'
plant semaphore 4000 semaphore.h 'who gets nothing reserves nothing' \
    '/uint32_t quarry_semaphore_ask\(/,/^\}/s/\(void\)simt_sub_u64/if (got) (void)simt_sub_u64/'
plant semaphore 4000 semaphore.h 'what is covered is not reserved again' \
    '/quarry_semaphore_withdraw\(/,/^\}/s/\(void\)simt_sub_u64.*/;/'
plant semaphore 100 semaphore.h 'a signal changes units first' \
    '/void quarry_semaphore_add\(/,/^\}/{/simt_add_u64\(&s->balance/{h;d};/simt_add_u64\(&s->units/G}'
plant semaphore 500 semaphore.h 'a batch is as large as the promise' 's/quarry_semaphore_add\(s, batch, kept/quarry_semaphore_add(s, part, kept/'

# Read-copy-update and the list.
plant srcu 100 srcu.h 'callbacks run with a reader inside' \
    's/while \(quarry_srcu_count\(.*/while (0)/'
plant srcu 4000 srcu.h 'a reader is counted for an epoch that has ended' 's/acquire\)\) != parity\)/acquire)) > 1u)/'
plant srcu 50000 srcu.h 'the queue is taken after the epoch has moved' \
    '/taken = simt_exchange_u64\(&s->queue/{s/uint64_t taken = .*/uint64_t taken;/}
     /old = quarry_srcu_parity\(simt_add/s/$/ taken = simt_exchange_u64(\&s->queue, 0, acquire);/'
plant srcu 4000 srcu.h 'waiting is cleared after the queue was taken' \
    '/simt_exchange_u32\(&s->waiting, 0, acquire\)/d
     /old = quarry_srcu_parity\(simt_add/s/^/    simt_store_u32(\&s->waiting, 0, relaxed);/'
# A load may be stale: as old as if it had come before the callback was queued.
plant srcu 4000 srcu_kernels.c 'waiting is read by a load' \
    's/quarry_srcu_queue\(a->srcu, &element->callback\);/uint32_t stale = simt_load_u32(\&a->srcu->waiting, relaxed); &/
     s/\? (quarry_srcu_barrier_or_delegate\(a->srcu\))/? stale ? SIMT_NULL : \1/'
plant srcu 100 srcu.h 'several wait for the mutex' \
    '/quarry_srcu_barrier_or_delegate/,/^\}/{/quarry_mutex_acquire/d;s/\(void\)simt_exchange_u32.*/& quarry_mutex_acquire(\&s->mutex);/}'
plant srcu 4000 list.h 'insert publishes an element without its next' \
    '/void quarry_list_insert/,/^\}/{/simt_store_u64\(&element->next/{h;d};/simt_store_u64\(&at->next/G}'
plant srcu 100 srcu_kernels.c 'an element is reused without a barrier' \
    's/quarry_srcu_queue\(a->srcu, &element->callback\);/simt_store_u32(\&element->state, SRCU_REUSED, relaxed); &/'

# The mutex.
plant srcu 100 mutex.h 'the leader unlocks before the sync' '/void quarry_mutex_unlock\(/,/^\}/s/simt_sync\(group\);//'
plant srcu 100 mutex.h 'lock without the sync' '/void quarry_mutex_lock\(/,/^\}/s/simt_sync\(group\);//'
plant srcu 500 mutex.h 'a block unlocks before the barrier' '/quarry_mutex_unlock_block\(/,/^\}/s/simt_block_barrier\(\);//'
plant srcu 500 mutex.h 'a block locks without the barrier' '/quarry_mutex_lock_block\(/,/^\}/s/simt_block_barrier\(\);//'

# The queue of numbers, and the store of chunks.
plant queue 100 index_queue.h 'a claim in vain is not given back' \
    '/ quarry_index_queue_claim_likely\(/,/^\}/s/\(void\)simt_add_u32\(count, n - got, relaxed\);/(void)got;/'
plant queue 100 index_queue.h 'a claim is granted to whoever looked in time' \
    's/before <= 0 \? 0 : \(uint32_t\)before < n \? \(uint32_t\)before : n;/n;/'
plant queue 100 index_queue.h 'a take leaves its number in the slot' 's/simt_exchange_u32\(&q->slot\[at\], QUARRY_NO_INDEX, acquire\)/simt_load_u32(\&q->slot[at], acquire)/'
plant queue 100 index_queue.h 'a put writes over a number' \
    's/simt_cas_u32\(&q->slot\[at\], QUARRY_NO_INDEX, index, release\) == QUARRY_NO_INDEX/(simt_store_u32(\&q->slot[at], index, release), 1)/'
plant queue 100 index_queue.h 'a number is taken out of the middle, whatever is there now' \
    's/simt_cas_u32\(&q->slot\[at\], index, QUARRY_NO_INDEX, acquire\) != index/simt_exchange_u32(\&q->slot[at], QUARRY_NO_INDEX, acquire) == QUARRY_NO_INDEX/'
plant queue 100 index_queue.h 'who takes out of the middle draws no ticket' '/\(void\)quarry_index_queue_front\(q, 1\);/d'
plant queue 100 index_queue.h 'each who finds the oldest number moves the front' 's/if \(last - ticket - 1u < now - ticket\)/if (0)/'
plant queue 100 index_queue.h 'front is moved for numbers that are near' 's/!quarry_index_queue_apart\(q, oldest, now\)/ahead == 0/'
plant queue 100 index_queue.h 'the oldest number is the first that was seen' '/^SIMT_FN int quarry_index_queue_oldest/,/^}/s/\*oldest = newest - some;/*oldest = newest;/'
plant queue 4000 chunks.h 'a fresh number in vain is not given back' 's/\(void\)simt_sub_u32\(fresh, n - got, relaxed\);/(void)got;/'
plant transit 100 chunks.h 'the store is empty though others are in transit' 's/ && \(word & QUARRY_CHUNKS_TRANSIT\) == 0;/;/'
plant transit 100 chunks.h 'a chunk is counted before its number is' \
    '/ quarry_chunks_return\(/,/^\}/{/quarry_index_queue_(put|add)/{H;d};/QUARRY_CHUNKS_VERSION/G}'
plant transit 100 chunks.h 'who makes something of a chunk is not in transit' \
    's/ !\(stays && got\);/ 1u;/;s/QUARRY_CHUNKS_VERSION - 1u, release/QUARRY_CHUNKS_VERSION, release/'
plant transit 1000 chunks.h 'chunks are counted before all numbers are in slots' 's/simt_sync\(group\); \/\* all numbers are in slots.*//'

# Runs of chunks.
plant windows 1000 chunk_runs.h 'a run that has lost a chunk keeps the others' '/int quarry_run_try\(/,/^\}/s/if \(!has && done\)/if (0)/'
plant windows 1000 chunk_runs.h 'a run is taken without a compare-exchange' \
    '/int quarry_run_try\(/,/^\}/s/before = simt_cas_u64\(field, now, now & ~\(uint64_t\)bits, acquire\);/before = (simt_and_u64(field, ~(uint64_t)bits, acquire), now);/'
plant windows 1000 chunk_runs.h 'who has fresh numbers in its hands is not in transit' '/ quarry_run_fresh\(/,/^\}/{
    s/quarry_chunks_begin\(s\);//;s/QUARRY_CHUNKS_VERSION - 1u -/QUARRY_CHUNKS_VERSION -/}'
plant windows 4000 chunk_runs.h 'who gives a run changes no version' '/void quarry_run_give\(/,/^\}/s/QUARRY_CHUNKS_VERSION \+ counted/counted/'
plant windows 4000 chunk_runs.h 'who gives a run is not in transit' '/void quarry_run_give\(/,/^\}/{
    s/if \(counted\)/if (0)/;s/ - \(counted != 0\);/;/}'
plant windows 4000 chunks.h 'who gives chunks is not in transit' '/void quarry_chunks_give\(/,/^\}/{
    s/quarry_chunks_begin\(s\);//;s/QUARRY_CHUNKS_LEFT - 1u/QUARRY_CHUNKS_LEFT/}'

# The buddy tree.
plant buddy 1000 buddy.h 'merge with merge: a block becomes AVAILABLE beside its buddy' 's/^        ready &= ~\(\(free & .*/;/'
plant buddy 1000 buddy.h 'merge with malloc: a buddy is taken without a unit' \
    '/int quarry_buddy_merge\(/,/^\}/s/got && !quarry_semaphore_try\(units, got\)/0/'
plant buddy 1000 buddy.h 'merge with malloc: a unit without its node is kept' \
    '/int quarry_buddy_merge\(/,/^\}/s/quarry_semaphore_signal\(units, got - joined\);/;/'
plant buddy 1000 buddy.h 'a merge announces nothing before it takes a unit' \
    '/int quarry_buddy_merge\(/,/^\}/{s/quarry_semaphore_announce\(units \+ 1, asked\);//
         s/^    uint32_t served = /    if (got) quarry_semaphore_announce(units + 1, got);&/
         s/if \(asked > joined\)/if (got > joined)/
         s/units \+ 1, asked - joined/units + 1, got - joined/}'
plant buddy 1000 buddy.h 'a unit that is merged on is still expected' \
    '/int quarry_buddy_merge\(/,/^\}/s/quarry_semaphore_retract\(units, retracted\);/;/'
plant buddy 1000 buddy.h 'a merge in vain leaves its announcement' \
    '/int quarry_buddy_merge\(/,/^\}/s/quarry_semaphore_retract\(units \+ 1, asked - joined\);/;/'
plant buddy 1000 buddy.h 'lanes that merge together all have the units of one' \
    '/int quarry_buddy_merge\(/,/^\}/s/if \(simt_rank\(same\) < served\)/if (served)/'
plant buddy 1000 semaphore.h 'a refused search ends that of who came while it went on' \
    '/uint32_t quarry_semaphore_search\(/,/^\}/s/\*since = now \| 1u;/*since = now ? now - 1u : 1u;/'
plant buddy 1000 semaphore.h 'a search that got a unit is one that was refused' \
    '/void quarry_semaphore_searched\(/,/^\}/s/if \(refused\)/if (1)/'
plant buddy 4000 buddy_take.h 'a refusal holds though something has come since' \
    's/since % QUARRY_SEMAPHORE_CHANGES \?/0 ?/'
plant buddy 2000 buddy.h 'what is announced is forgotten where both buddies are given' \
    's/for \(lost = g->announced & ~blocks;/for (lost = 0;/'
plant buddy 1000 buddy_tree.h 'stale propagation: a word is not locked' \
    '/int quarry_buddy_change\(/,/^\}/{s/seen, next \| \(uint64_t\)locks/seen, next/;s/quarry_buddy_raise\(b, w, state\)/(void)simt_add_u64(\&b->word[w], 1, relaxed), &/}'
plant buddy 1000 buddy_tree.h 'stale propagation: a word is unlocked before the one above is changed' \
    '/void quarry_buddy_raise\(/,/^\}/{/simt_sub_u64\(&b->word\[lower\]/d;s/w = quarry_buddy_above\(w\);/& (void)simt_sub_u64(\&b->word[lower], QUARRY_BUDDY_LOCKED, release);/}'
plant buddy 1000 buddy_tree.h 'who changes a locked word does not wait' \
    '/int quarry_buddy_change\(/,/^\}/s/if \(locks && \(seen & QUARRY_BUDDY_LOCKED\)\)/if (0)/'
plant buddy 1000 buddy.h 'a merge out of a word does not wait for its lock' 's/if \(node < 4 && \(word & QUARRY_BUDDY_LOCKED\)\)/if (0)/
     s/simt_cas_u64\(&b->word\[g->w\], word, word & ~quarry_buddy_fields\(below\), acquire\)/simt_cas_u64(\&b->word[g->w], word, word \& ~(uint64_t)1 \& ~quarry_buddy_fields(below), acquire)/'
plant buddy 1000 buddy.h 'the order of a free is one too few' '/int quarry_buddy_give_together\(/,/^\}/s/^    index = has/    order -= has \&\& order; &/'
plant buddy 1000 buddy_tree.h 'find stops at the uppermost node of a word' 's/if \(w == 0\)$/if (1)/'
plant buddy 1000 buddy_take.h 'a half that is left over is not signalled' 's/while \(height-- > plan.order\)/while (height-- > plan.order + 1)/'
plant buddy 1000 buddy_take.h 'a half that is left over is signalled as two' 's/QUARRY_BUDDY_BATCH, 1, QUARRY_BUDDY_BATCH\)/QUARRY_BUDDY_BATCH, 0, QUARRY_BUDDY_BATCH)/'
plant buddy 1000 buddy.h 'blocks of a group wait for each other' 's/if \(!done && ready\)/if (!done \&\& ready \&\& ready == blocks)/'
plant buddy 1000 buddy.h 'signals of a group are of one word' 's/uint32_t units = simt_reduce_add_u32\(group, mine \? g->units : 0\);/uint32_t units = simt_shuffle_u32(group, g->units, simt_ctz_u32(rest));/'
plant buddy 1000 buddy_take.h 'a block that two of a warp share is had by both' 's/\(index << each\) \+ \(rank - first\)/(index << each)/'
plant buddy 1000 buddy_take.h 'what is shared is not TAKEN in the words below' 's/if \(plan.order \/ QUARRY_BUDDY_LEVELS > order/if (0 \&\& plan.order \/ QUARRY_BUDDY_LEVELS > order/'
plant buddy 12000 buddy_take.h 'a refusal of a large block is one of all' 's/if \(plan.units == 0 && each == 0\)/if (plan.units == 0)/'
plant buddy 1000 buddy.h 'a shrunk block signals nothing' '/void quarry_buddy_shrink\(/,/^\}/s/while \(height-- > kept\)/while (0)/'

# Queues in segments.
plant segments 100 segments.h 'a take is counted before the slot is read' \
    '/uint32_t quarry_segments_read\(/,/^\}/{
         /while \(\(index = simt_load_u32/{N;N;h;s/.*/;/}
         /^    return index;/{x;s/^/    if (mine) { uint32_t *slot = quarry_segments_slot_of(q, chunk, ticket);/;s/$/ }/;G}
     }
     s/^SIMT_FN uint32_t quarry_segments_read\(/SIMT_FN uint32_t *quarry_segments_slot_of(const struct quarry_segments *q, uint32_t chunk, uint32_t ticket) { return \&quarry_segments_slots(q, chunk)[ticket \& ((1u << q->shift) - 1u)]; }\n&/'
plant segments 100 segments.h 'takes are counted before all lanes have read' 's/simt_sync\(group\); \/\* all have read.*//'
plant segments 100 segments.h 'a segment is retired with one slot to read' 's/n, acq_rel\) \+ n == size/n, acq_rel) + n == size - 1u/'
plant segments 100 segments_install.h 'a segment is written over one that lives' \
    's/drawn = \(int32_t\)simt_sub_u32\(&ends->spare, 1, acquire\) > 0/(void)simt_sub_u32(\&ends->spare, 1, acquire), drawn = 1/'
plant segments 100 segments_install.h 'an entry is free as long as its segment lives' '/int quarry_segments_draw\(/,/^\}/s/- its\) << q->shift\) > 0;/- its) << q->shift) == 0;/'
plant segments 100 segments_install.h 'two segments have one number' 's/simt_add_u32\(&ends->next, 1, acq_rel\)/simt_add_u32(\&ends->next, simt_lane() % 2u, acq_rel)/'
plant segments 500 segments_shape.h 'numbers do not wrap with positions' 's/return \(number \+ n\) & .*;/return number + n;/'
plant segments 100 segments_install.h 'slots are not emptied' 's/simt_store_u32\(&slot\[i\], QUARRY_NO_INDEX, relaxed\)/(void)slot/'
plant segments 500 segments_install.h 'there is room before the segment is there' \
    '/void quarry_segments_publish\(/,/^\}/s/\(uint32_t\)entry != QUARRY_NO_INDEX\);/1);/'
plant segments 100 segments_install.h 'a chunk that found no entry is kept' \
    '/int quarry_segments_install\(/,/^\}/s/quarry_chunks_return\((&q->store), chunk\)/quarry_chunks_end(\1)/'
plant segments 100 segments.h 'what was reserved too much is not given back' 's/\(void\)simt_add_u64\(room, n - got, relaxed\)/(void)got/'
plant segments 100 segments_install.h 'who makes room tells it twice' '/void quarry_segments_publish\(/,/^\}/s/\(void\)simt_add_u64\(&ends->room, .*;/& &/'
plant segments 4000 segments_list.h 'a link is followed, wherever it is by now' 's/if \(\(\*link \^ .*\) != 0 \|\| /if (/'
plant segments 100 segments_list.h 'a segment goes with its link open' 's/link = simt_cas_u64\(&q->link\[chunk\], open, closed, release\) == open \? closed : 0/link = closed/'
plant segments 100 segments_list.h 'a segment of a list goes before it is finished' 's/acq_rel\) == q->size;/acq_rel) != 0;/'
plant segments 100 segments_list.h 'a segment of a list goes as the one before it is finished' 's/acquire\) == q->size;/acquire) != 0;/'
plant segments 100 segments_list.h 'segments that go together are counted as one' \
    '/void quarry_segments_retire_all\(/,/^\}/s/simt_sub_u32\(q->segments, simt_popc_u32\(group\),/simt_sub_u32(q->segments, 1,/'
plant segments 100 segments_list.h 'a segment without a hint is the last' \
    '/void quarry_segments_leave\(/,/^\}/s/stay && after != QUARRY_NO_INDEX/stay/'
plant segments 100 segments_list.h 'only the first finished segment goes' \
    '/void quarry_segments_leave\(/,/^\}/s/^        simt_sync\(group\);$/        return;/'
plant segments 100 segments.h 'who looks does not look again' '/uint32_t quarry_segments_hold\(/,/^\}/s/if \(simt_load_u64\(entry, relaxed\) == pair\)/if (1)/'
plant segments 100 segments.h 'who looks holds nothing' '/uint32_t quarry_segments_hold\(/,/^\}/s/simt_add_u32\(&q->readers\[chunk\], 1,/simt_add_u32(\&q->readers[chunk], 0,/
     /uint32_t quarry_segments_peek\(/,/^\}/s/quarry_segments_let_go\(q, chunk\);/;/'
plant segments 100 segments_list.h 'a segment that is retired is returned, whoever looks at it' \
    '/void quarry_segments_retire\(/,/^\}/s/quarry_segments_let_go\(q, chunk\);/simt_store_u32(\&q->readers[chunk], QUARRY_SEGMENTS_HELD + 1u, relaxed), &/'
plant segments 100 segments_list.h 'a segment has an entry after it was let go' \
    '/void quarry_segments_retire\(/,/^\}/{/quarry_segments_forget/{H;d};/^\}/{x;G}}'
plant segments 100 segments.h 'the last one who looks returns nothing' \
    '/uint32_t quarry_segments_peek\(/,/^\}/s/quarry_segments_let_go\(q, chunk\);/(void)simt_sub_u32(\&q->readers[chunk], 1, acq_rel);/'
plant segments 100 segments_list.h 'a hint of a list stays when its segment goes' \
    '/void quarry_segments_forget\(/,/^\}/s/\(void\)simt_cas_u64/if (!q->list) &/'

# Hierarchical bitmaps.
plant hierarchy 100 hierarchy.h 'bits are set and cleared, not toggled' \
    '/quarry_hierarchy_carry\(/,/^\}/s/simt_xor_u64\(&words\[w\], bit, relaxed\)/after ? simt_or_u64(\&words[w], bit, relaxed) : simt_and_u64(\&words[w], ~bit, relaxed)/'
plant hierarchy 100 hierarchy.h 'the level above the second is not toggled' '/quarry_hierarchy_carry\(/,/^\}/s/while \(w != 0/if (w != 0/'
plant hierarchy 100 hierarchy.h 'a claim does not toggle the level above' '/quarry_hierarchy_claim_some\(/,/^\}/s/quarry_hierarchy_carry\(.*/;/'
plant hierarchy 100 hierarchy.h 'a claim has what another has taken' '/quarry_hierarchy_claim_some\(/,/^\}/s/return before \& bits/return bits/'
plant hierarchy 100 hierarchy.h 'the next number is looked for in one word' '/quarry_hierarchy_next\(/,/^\}/s/\} else if \(QUARRY_HIERARCHY_FLAT \? .*\) \{/} else if (1) {/'
plant hierarchy 100 hierarchy.h 'what is beside is looked for from the first on' \
    '/ quarry_hierarchy_beside\(/,/^\}/s/quarry_hierarchy_bit\(word, .*\);/quarry_hierarchy_bit(word, 0);/'

# Blocks of slots.  Not here, as no few schedules come to them: a type that is read before slots are got, slots of
# another type that are not announced, slots behind the last that count, and a block that is given whole and stays
# active.  tests/models/blocks.py has them.
plant slots 500 blocks_take.h 'slots of another type are kept after they were given back' '/quarry_blocks_take_from\(/,/^\}/s/^ +got = 0;$/;/'
plant slots 1000 'blocks*.h' 'the toggle is of the type that was asked for' \
    's/(void quarry_blocks_agree\(.*uint32_t kind)\)/\1, uint32_t asked)/;s/(quarry_blocks_agree\(b, block, .*)\);/\1, kind);/
     /void quarry_blocks_agree\(/,/^\}/s/quarry_blocks_active\(b, kind\)/quarry_blocks_active(b, asked)/'
plant slots 4000 blocks.h 'a block is emptied by the type that was read before' \
    's/quarry_blocks_unmake\(b, block\)/quarry_blocks_unmake(b, block, kind)/;s/(int quarry_blocks_unmake\(.*)\)$/\1, uint32_t kind)/
     /int quarry_blocks_unmake\(/,/^\}/{s/uint32_t kind = simt_load_u32.*/;/;s/kind = simt_exchange/(void)simt_exchange/}'
plant slots 4000 blocks.h 'empty is: all but one were free' \
    's/\((slots|stolen) & all\) == all/simt_popc_u64(\1 \& all) + 1u >= quarry_blocks_capacity(kind)/'
plant slots 4000 blocks.h 'what was stolen is stored back' 's/simt_or_u64\(quarry_blocks_slots\(b, block\), stolen, release\)/simt_exchange_u64(quarry_blocks_slots(b, block), stolen, release)/'
plant slots 20000 blocks.h 'nobody looks at the block after that' 's/return ends;/return 1;/'
plant slots 4000 blocks.h 'who turns a block on or off does not look again' \
    '/void quarry_blocks_agree\(/,/^\}/s/quarry_hierarchy_toggle\(.*/& break;/'
plant slots 4000 blocks_take.h 'who takes the last slots leaves the block on' 's/quarry_blocks_agree\(b, block, left, found\);/;/'
plant slots 4000 blocks_take.h 'who claims a block does not look at it' '/ quarry_blocks_make\(/,/^\}/s/quarry_blocks_agree\(.*\);/;/'
plant slots 500 hierarchy.h 'bits are set and cleared, not toggled' \
    '/ quarry_hierarchy_flip\(/,/^\}/s/return simt_xor_u64\((.*), bits, relaxed\)/uint64_t *w = \1; return simt_load_u64(w, relaxed) \& bits ? simt_and_u64(w, ~bits, relaxed) : simt_or_u64(w, bits, relaxed)/'
named_first
plant slots 20000 blocks.h 'who gives looks only for the slots of the type that it has read' 's/ \|\| \(now & \(now \+ 1u\)\) == 0//'
plant slots 4000 blocks.h 'two thieves end one block' '/int quarry_blocks_unmake\(/,/^\}/{s/kind = simt_exchange/(void)simt_exchange/;s/if \(kind != 0\)/if (1)/}'
plant slots 4000 blocks_take.h 'a claim is not announced' '/ quarry_blocks_take\(/,/^\}/s/quarry_flights_(begin|end)\(b->flights\);/;/'
plant slots 4000 blocks_take.h 'blocks that are claimed together are not announced' \
    '/ quarry_blocks_new_several\(/,/^\}/s/quarry_flights_(begin|end)\(b->flights\);/;/'
plant slots 500 hierarchy.h 'of numbers that change together one is carried up' \
    '/ quarry_hierarchy_flip\(/,/^\}/s/, bits, relaxed/, bits \& -bits, relaxed/'
plant slots 4000 blocks.h 'what is stolen is not announced' '/ quarry_blocks_unmake\(/,/^\}/s/quarry_flights_(begin|end)\(b->flights\);/;/'
plant slots 100 blocks.h 'a block that is given whole stays in allocated' \
    '/int quarry_blocks_end\(/,/^\}/s/quarry_hierarchy_flip\(.*bits\)/bits/'
plant slots 20 blocks_take.h 'who comes claims a block, whatever has room' \
    '/ quarry_blocks_take\(/,/^\}/{s/int fresh = .*/int fresh = 1;/;s/fresh = \(other.*/fresh = 1;/}'
plant slots 20 blocks_take.h 'who has used up its place leaves half of each block' 's/far = other\.near == 0;/far = 0;/'
plant slots 4000 flights.h 'nobody waits for flights' 's/while \(land && /while (0 \&\& /'
plant slots 4000 flights.h 'flights that began since are not counted' '/quarry_flights_begun\(/,/^\}/s/sum \+= /sum += 0 */'

finish
