#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bugs planted into copies of the headers that the ouro family is made of, one at a time: a test finds each within as
# many seeds of the deterministic scheduler as stated here, and nothing in the copy without a bug.
#
#   planted.sh CC LIBRARY-FLAGS             the compiler, and what links a program of tests with the library
#   planted.sh CC LIBRARY-FLAGS segments    of ouro-c-va
#   planted.sh CC LIBRARY-FLAGS pages       of ouro-p-s, whose pages are parked
#   planted.sh CC LIBRARY-FLAGS full        of ouro-p-va, in a full heap
#   planted.sh CC LIBRARY-FLAGS runs        of blocks of several chunks, of ouro-c-s
# shellcheck source=tests/planted.sh
. "$(dirname "$0")/../planted.sh"
export QUARRY_TEST_ALLOCATOR=ouro-c-s
failed_seed='s/.*ouro-[cp]-.*, seed ([0-9]+).*/\1/p'

build() {
    local kernels=(promise_kernels.o)
    [ "$1" = ouro ] && kernels+=(ouro_kernels.o)
    compile_once "alloc/test_$1" && compile_once alloc/promises && compile_once chosen && compile alloc/promise_kernels &&
        { [ "$1" != ouro ] || compile alloc/ouro_kernels; } && link "test_$1.o" promises.o chosen.o "${kernels[@]}"
}

fresh() {
    rm -rf "$scratch/copy"
    mkdir -p "$scratch/copy/include/quarry" "$scratch/copy/tests"
    cp -r include/quarry/core include/quarry/alloc "$scratch/copy/include/quarry/"
}

if [ "${3:-}" = segments ]; then
    export QUARRY_TEST_ALLOCATOR=ouro-c-va
    sound ouro 60
    sound seeds 5000
    plant ouro 60 chunk_masks.h 'an entry without a slot is lost' '/^SIMT_FN void quarry_mask_put\(/,/^}/s/quarry_mask_stray\(m, class_, chunk\)/(void)0/'
    plant ouro 60 chunk_masks.h 'nobody looks at strays' 's/int strays = .*/int strays = 0;/'
    plant ouro 60 chunk_masks.h 'a stray is not put back' '/^SIMT_FN uint32_t quarry_mask_keep_stray/,/^}/s/return \(uint32_t\)queued;/return 0;/'
    plant seeds 5000 chunk_masks.h 'who crosses 0 does not see a stray' '/^SIMT_FN uint32_t quarry_mask_enter/,/^}/s/if \(word & \(queued \| QUARRY_MASK_STRAY\)\)/if (word \& QUARRY_MASK_STRAY) quarry_mask_put_array(\&m->stray, chunk);\n    if (word \& queued)/'
    plant seeds 5000 chunk_masks.h 'an entry becomes a stray in two steps, with time between' \
        '/^SIMT_FN void quarry_mask_stray/,/^}/s/uint64_t before = simt_cas_u64\(word, now, then, relaxed\);/uint64_t before = now; if (quarry_mask_here(now, class_)) now = simt_or_u64(word, QUARRY_MASK_STRAY, relaxed); before = now; for (int i = 0; i < 8; i++) simt_backoff(); (void)simt_and_u64(word, ~quarry_mask_queued(class_), relaxed);/'
    finish
fi

if [ "${3:-}" = pages ]; then
    export QUARRY_TEST_ALLOCATOR=ouro-p-s
    sound ouro 60
    plant ouro 60 chunk_pages.h 'a parked page is lost' '/^SIMT_FN void quarry_chunk_enter\(/,/^}/s/if \(!mine \|\| simt_rank\(same\) != 0\)/if (mine || !mine)/'
    plant ouro 60 chunk_pages.h 'parked pages of two lanes are counted once' '/^SIMT_FN void quarry_chunk_enter\(/,/^}/s/n = simt_popc_u32\(same\)/n = 1/'
    plant ouro 60 chunk_pages.h 'who parks the first page makes no token' '/^SIMT_FN void quarry_chunk_enter\(/,/^}/s/quarry_chunk_count\(before\) == 0 \|\|/0 ||/'
    plant ouro 60 chunk_pages.h 'a token is lost though pages are left' '/^SIMT_FN uint32_t quarry_chunk_take\(/,/^}/s/\(void\)quarry_chunk_place\(p, chunk, &ticket\);/;/'
    plant ouro 60 ouro_pages.h 'a take waits for its own slot' \
        's/int around = vain >= QUARRY_OURO_WAIT/int around = 0/'
    finish
fi

if [ "${3:-}" = full ]; then
    aim() {
        export QUARRY_TEST_ONLY=$1
        sound ouro 60
    }
    export QUARRY_TEST_ALLOCATOR=ouro-p-va
    aim null_never_comes_while_a_small_page_is_free
    plant ouro 60 ouro.h 'a search that found pages is one that was refused' 's/refused != 0\)/1)/'
    plant ouro 600 ouro_pages.h 'what is seen in a hurry is a proof' \
        '/^SIMT_FN uint32_t quarry_ouro_grow\(/,/^}/s/!quarry_chunks_is_same\(&h->segments.store, seen\)/!(seen \& QUARRY_CHUNKS_TRANSIT) \&\& &/'
    aim a_heap_of_small_pages_fills_to_its_last
    plant ouro 60 ouro_pages.h 'who waits shares whatever refusal there was' '/^SIMT_FN uint32_t quarry_ouro_turn\(/,/^}/s/uint64_t since = 0;/uint64_t since = 1;/'
    plant ouro 600 ouro.h 'a search that must be made again is one that was refused' 's/refused != 0\)/(refused | again) != 0)/'
    aim what_lies_in_segments_comes_back_to_many
    plant ouro 60 ouro_pages.h 'who asks for whole chunks does not look for segments' '/^SIMT_FN uint32_t quarry_ouro_whole\(/,/^}/s/!quarry_segments_any\(h->segments.segments\) &&//'
    plant ouro 60 ouro_pages.h 'who asks for pages does not look for segments' '/^SIMT_FN uint32_t quarry_ouro_grow\(/,/^}/s/int some = .*;/int some = 0;/'
    finish
fi

if [ "${3:-}" = runs ]; then
    export QUARRY_TEST_ONLY='*run*'
    sound ouro 20
    plant ouro 20 chunks.h 'who takes a hint has the chunk' '/^SIMT_FN uint32_t quarry_chunks_hint/,/^}/s/return QUARRY_NO_INDEX;/return chunk;/'
    plant ouro 20 chunks.h 'a claim whose hint was old is not given back' \
        '/^SIMT_FN void quarry_chunks_settle/,/^}/s/claimed - got\)/claimed - (got ? got : claimed))/'
    plant ouro 20 chunk_runs.h 'a run that has lost a chunk keeps the others' \
        '/^SIMT_FN int quarry_run_try/,/^}/s/if \(!has && done\)/if (0)/'
    build() {
        local kernels=(promise_kernels)
        [ "$1" = ouro ] || kernels+=("$1_kernels")
        compile_once "alloc/test_$1" && compile_once alloc/promises && compile_once chosen || return 1
        for kernel in "${kernels[@]}"; do
            compile "alloc/$kernel" || return 1
        done
        link "test_$1.o" promises.o chosen.o "${kernels[@]/%/.o}"
    }
    plant exact 250 chunk_runs.h 'who has some fields of a run is not in transit' \
        '/^SIMT_FN int quarry_run_try/,/^}/s/several = n > 32u/several = 0/'
    plant ouro 20 chunk_runs.h 'only half of the windows are looked at' \
        '/^SIMT_FN uint32_t quarry_run_take/,/^}/s/for \(uint32_t i = 0; i < units \&\&/for (uint32_t i = 0; i < (units + 1u) \/ 2u \&\&/'
    plant ouro 20 chunk_runs.h 'a run is taken without a compare-exchange' \
        '/^SIMT_FN int quarry_run_try/,/^}/s/before = simt_cas_u64\(field, now, now & ~\(uint64_t\)bits, acquire\);/before = (simt_and_u64(field, ~(uint64_t)bits, acquire), now);/'
    plant ouro 20 chunk_runs.h 'chunks before the first window are lost' '/^SIMT_FN uint32_t quarry_run_fresh/,/^}/s/if \(simt_rank\(group\) == 0 && first < begin\)/if (0)/'

    # NULL, which is to be proven.
    export QUARRY_TEST_ONLY='*window*'
    no_run='/^SIMT_FN int quarry_ouro_has_no_run/,/^}/'
    plant ouro 60 ouro_runs.h 'NULL, though the word of the store has changed' "$no_run"'s/return quarry_chunks_is_same.*/return 1;/'
    plant ouro 60 ouro_runs.h 'NULL, though others have chunks in their hands' "$no_run"'{/TRANSIT/,/return 0/d
        s/return quarry_chunks_is_same.*/return ((simt_load_u64(\&h->segments.store.head->word, relaxed) ^ seen) \& ~QUARRY_CHUNKS_TRANSIT) == 0;/}'
    plant ouro 60 chunk_runs.h 'who has fresh numbers in its hands is not in transit' '/^SIMT_FN uint32_t quarry_run_fresh/,/^}/{
        s/quarry_chunks_begin\(s\);//;s/QUARRY_CHUNKS_VERSION - 1u -/QUARRY_CHUNKS_VERSION -/}'
    QUARRY_TEST_ALLOCATOR=ouro-c-va plant ouro 60 ouro_runs.h 'chunks that are segments stay what they are' "$no_run"'s/quarry_segments_any\(h->segments.segments\)/0/
        s/some = \(uint32_t\)quarry_segments_any.*/some = 0;/'
    export QUARRY_TEST_ONLY='*late*'
    plant ouro 60 ouro_runs.h 'late chunks are not gathered' 's/\(void\)quarry_mask_recall\(&masks\);/(void)masks;/'
    finish
fi

sound ouro 60
sound seeds 5000

plant ouro 60 chunk_masks.h 'a chunk recycled between look and subtraction' \
    '/^SIMT_FN uint32_t quarry_mask_claim/,/^}/s/(\*count = )quarry_mask_here\((.*), class_\);/\1(uint32_t)quarry_mask_count(\2); if (*count >> 31) *count = 0;/'
plant seeds 60000 chunk_masks.h 'who undoes a subtraction misses a free' \
    '/^SIMT_FN uint32_t quarry_mask_claim/,/^}/s/quarry_mask_add\(m, chunk, n - got, puts\)/simt_add_u64(word, (n - got) * QUARRY_MASK_PAGE, relaxed)/'
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
    '/^SIMT_FN uint32_t quarry_mask_keep\(/,/^}/s/if \(before == now\)/if (simt_and_u64(word, ~quarry_mask_queued(class_), relaxed) | 1u)/'
plant ouro 300 chunk_masks.h 'late chunks are not recalled' 's/if \(late <= 0 \|\| quarry_mask_is_in_vain.*\)$/if (late <= 0 || late > 0)/'
plant ouro 300 chunk_masks.h 'late chunks are not recalled though their pages are free' '/^SIMT_FN int quarry_mask_is_in_vain/,/^}/s/quarry_semaphore_free\(.*\) >=$/0 >=/'
plant ouro 300 chunk_masks.h 'a chunk that could not go is not late' \
    '/^SIMT_FN void quarry_mask_leave/,/^}/s/if \(!\(simt_or_u64.*/if (0) {/'
plant seeds 5000 chunk_masks.h 'the pages that the maker keeps are counted, too' \
    '/^SIMT_FN void quarry_mask_deal/,/^}/s/taken < each \? each - taken : 0/each/'
plant seeds 5000 chunk_masks.h 'who has claimed some takes all bits of a field' \
    '/^SIMT_FN uint32_t quarry_mask_win/,/^}/s/some \&= last < 31u.*/(void)last;/'

finish
