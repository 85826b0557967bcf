#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bugs planted into the allocator `quarry`.
#
#   planted_slabs.sh CC LIBRARY-FLAGS    the compiler, and what links a program of tests with the library
# shellcheck source=tests/planted.sh
. "$(dirname "$0")/../planted.sh"
export QUARRY_TEST_ALLOCATOR=quarry
kernel_flags=(-DQUARRY_ALLOCATOR=quarry)
failed_seed='s/.*quarry,.*, seed ([0-9]+).*/\1/p; s/.*Test failed with exception.*/of an exception/p; s/^\[  FAILED  \] (a_sweep_knows|a_cursor_past)_.*/0/p'

fresh() {
    rm -rf "$scratch/copy"
    mkdir -p "$scratch/copy/include/quarry" "$scratch/copy/tests"
    cp -r include/quarry/alloc "$scratch/copy/include/quarry/"
}

build() {
    local part parts=("test_$1" promise_kernels "$1_kernels")
    [ "$1" = slabs ] && parts+=(slabs_common slabs_reuse slabs_trails)
    compile_once alloc/promises && compile_once chosen || return
    for part in "${parts[@]}"; do
        compile "alloc/$part" || return
    done
    link promises.o chosen.o "${parts[@]/%/.o}"
}

# aim TEST: only this test runs, until the next.
aim() {
    export QUARRY_TEST_ONLY=$1
}

sound slabs 20

# A hint over a chunk that has another class by now.
plant slabs 60 slabs_slots.h 'who takes by a hint does not look at the class' \
    's/if \(quarry_slabs_is_of\(now, class_\)\)/if (1)/'
plant slabs 60 slabs_slots.h 'what is taken of another class by mistake stays taken' \
    's/\(void\)simt_and_u64\(word, ~\(uint64_t\)fresh, relaxed\);/(void)fresh;/'
plant slabs 60 slabs_slots.h 'who takes by a hint has also what others have' \
    's/uint32_t fresh = wants \& ~\(uint32_t\)now;/uint32_t fresh = wants;/'
aim a_heap_that_is_too_small_loses_nothing # others wait for ever for what is lost
plant slabs 60 slabs_slots.h 'who takes does not look whether the word has changed' \
    's/uint64_t now = simt_cas_u64\(word, \*seen, after, acquire\);/uint64_t now = (simt_exchange_u64(word, after, acquire), *seen);/'
aim '*'
plant slabs 20 slabs_slots.h 'a cursor past its end gives slots' \
    's/next < slots \? slots - next : 0;/next < slots + 32u ? slots + 32u - next : 0;/'
plant slabs 200 slabs_map.h 'a chunk is held twice' \
    's/simt_cas_u64\(at, kind, moving, acquire\) == kind/(simt_exchange_u64(at, moving, acquire), 1)/'
plant slabs 60 slabs_map.h 'a chunk is closed with a live slot, whose free is on its way' \
    's/closed = \(uint32_t\)seen == quarry_slabs_from\(i, slots\);/closed = simt_popc_u32((uint32_t)seen) <= simt_popc_u32(quarry_slabs_from(i, slots)) + 1u;/'
aim a_chunk_that_can_not_be_closed_is_as_before # others wait for ever for what is lost
plant slabs 1 slabs_map.h 'what could not be closed stays closed' \
    's/\(void\)simt_and_u64\(&word\[back\]/(void)simt_or_u64(\&word[back]/;s/simt_or_u64\(&word\[back\], ~/simt_or_u64(\&word[back], 0 \& ~/'
aim '*'
plant slabs 20 slabs_map.h 'the rest of a cursor is lost' \
    's/for \(; from < slots; from = \(from/for (; 0; from = (from/'
plant slabs 20 slabs_more.h 'who finds no chunk leaves the cursor busy, and others wait for it' \
    '/if \(chunk == QUARRY_NO_PAGE\) \{/,/^    \}/s/~QUARRY_SLABS_BUSY/~(uint64_t)0/;s/i < QUARRY_SLABS_PATIENCE \&\& //'
plant slabs 20 slabs_sweep.h 'a proof does not look at cursors' \
    's/if \(of\.end > chunks\)/if (0)/'
aim a_chunk_that_moves_is_not_missed # the test that finds these late in its seeds
plant slabs 1200 slabs_sweep.h 'a proof takes a chunk that moves for one without space' \
    's/return QUARRY_SLABS_SAW_VACANT \| QUARRY_SLABS_SAW_MOVING;/return 0;/'
plant slabs 1200 slabs_sweep.h 'a proof reads once' \
    's/plan\.kinds = 2;/plan.kinds = 1;/'
aim '*'
plant slabs 20 slabs_sweep.h 'a proof does not look at what was touched' \
    's/saw \|= QUARRY_SLABS_SAW_TOUCHED;/saw |= 0;/'
plant slabs 20 slabs_slots.h 'who takes does not say so in the word' \
    's/ \| QUARRY_SLABS_TOUCHED//'
aim a_sweep_sees_what_was_taken_between_its_passes # others never come to an end
plant slabs 20 slabs_sweep.h 'a proof does not clear what was touched before' \
    's/\(void\)simt_and_u64\(at, ~QUARRY_SLABS_TOUCHED, relaxed\);/(void)at;/'
aim '*'
aim a_sweep_knows_the_words_that_it_relies_on
plant slabs 0 slabs_sweep.h 'a live slot that was just taken proves that a chunk has had one' \
    's/seen \& QUARRY_SLABS_TOUCHED \? QUARRY_SLABS_WORD_LIVE$/0 ? QUARRY_SLABS_WORD_LIVE/'
aim '*'
plant slabs 200 slabs_sweep.h 'the chunk of a cursor that has slots left seems used' \
    's/if \(quarry_slabs_is_of\(seen, class_\) \&\& .*/if (quarry_slabs_is_of(seen, class_))/'
aim a_slot_serves_smaller_blocks_when_nothing_else_is_free
plant slabs 20 slabs_more.h 'nobody looks for slots of larger classes' \
    's/need->wide = need->chunks \? 0 : QUARRY_SLABS_ALL;/need->wide = 0;/'
aim '*'
plant slabs 20 slabs.h 'a larger slot seems to be one of the class that was asked for' \
    's/if \(need\.wide\)/if (0)/'
aim what_a_part_has_does_not_depend_on_who_reads_it
plant slabs 0 slabs_sweep.h 'lanes that read a chunk together each begin with its first word' \
    's/h->stride \+ at\]/h->stride + 0 * at]/'
aim a_sweep_sees_a_chunk_that_moves_after_it_has_read_its_kind
plant slabs 0 slabs_map.h 'who closes a chunk does not touch its words' \
    's/quarry_slabs_of_moving\(class_, ~0u\)/quarry_slabs_of(class_, ~0u)/'
plant slabs 0 slabs_map.h 'who binds a chunk does not touch its words' \
    's/quarry_slabs_of_moving\(class_, bits\)/quarry_slabs_of(class_, bits)/'
aim who_waits_hears_what_others_have_found
plant slabs 0 slabs_sweep.h 'who waits hears of larger slots whose chunk can be closed' \
    's/ \&\& \(i == need->class_ \|\| quarry_slabs_serves\(.*\)\)\) \{/) {/'
plant slabs 0 slabs_more.h 'who finds nothing where others have found something does not say so' \
    's/found\[need->first\], need->page \+ 1u, 0,/found[need->first], 0, 0,/'
plant slabs 0 slabs_more.h 'who finds something there says that it was nothing' \
    's/ != need->row\) \{/ != need->row \&\& 0) {/'
aim '*'
plant slabs 1 slabs_sweep.h 'a sweep believes a cursor whose chunk was closed' \
    's/rest = rest \&\& quarry_slabs_has_chunk\(h, index, now\);//'
aim lanes_of_several_classes_have_slots_of_their_own
plant slabs 20 slabs_more.h 'who fills a cursor for its class alone leaves it what it takes' \
    '/uint64_t quarry_slabs_fill_each\(/,/^\}/s/(quarry_slabs_fill_cursor\(cursor, chunk, .*, )got\)/\10)/'
plant slabs 20 slabs_more.h 'who fills a cursor for its class alone does not write the words' \
    '/uint64_t quarry_slabs_fill_each\(/,/^\}/s/simt_store_u64\(&word\[i\], quarry_slabs_of_moving\(class_, ~0u\), relaxed\);/(void)word;/'
aim '*'
plant slabs 60 slabs_more.h 'a refill leaves the cursor what it takes' \
    '/uint64_t quarry_slabs_refill\(/,/^\}/s/(quarry_slabs_fill_cursor\(cursor, chunk, .*, )got\)/\10)/'
plant slabs 60 slabs_more.h 'a refill does not write the words' \
    '/uint64_t quarry_slabs_refill\(/,/^\}/s/simt_store_u64\(&word\[i\], .*relaxed\);/(void)word;/'
plant slabs 60 slabs_more.h 'a refill fills a cursor that has slots left' \
    '/uint64_t quarry_slabs_refill\(/,/^\}/s/ \&\& next >= slots;/;/'
plant slabs 20 slabs_more.h 'a refill does not raise how many cursors the class has reached' \
    's/if \(raise\)/if (0)/'
aim lanes_of_several_classes_have_slots_of_their_own
plant slabs 60 slabs_more.h 'who fills a cursor does not raise how many the class has reached' \
    's/<= i\)$/<= i \&\& 0)/'
# Trails.
aim numbers_of_a_trail_are_one_warps
plant slabs 60 slabs_map.h 'a trail that ends leaves its last chunk fresh' \
    's/kind = simt_cas_u64\(&h->kinds\[chunk\], QUARRY_SLABS_FRESH,/kind = simt_cas_u64(\&h->kinds[chunk], ~(uint64_t)0,/'
plant slabs 60 slabs_map.h 'a cursor whose trail ends takes a chunk that is not its' \
    '/void quarry_slabs_end_trail\(/,/^\}/s/if \(quarry_slabs_is_step\(kind, class_, step\.more\)\)/if (quarry_slabs_is_bound(kind, class_))/'
plant slabs 60 slabs_map.h 'nobody knows of the rest of a trail' \
    's/its = quarry_slabs_is_step\(kind, .*;/its = QUARRY_NO_PAGE;/'
plant slabs 60 slabs_slots.h 'any chunk of the class seems to be the one of a trail' \
    '/uint64_t quarry_slabs_follow\(/,/^\}/s/quarry_slabs_is_step\(kind, class_, step\.more\)/quarry_slabs_is_bound(kind, class_)/'
plant slabs 60 slabs_slots.h 'any chunk of the cursor seems to be the one of a trail' \
    '/uint64_t quarry_slabs_follow\(/,/^\}/s/quarry_slabs_is_step\(kind, class_, step\.more\)/(quarry_slabs_is_bound(kind, class_) \&\& quarry_slabs_owner(kind) == cursor)/'
plant slabs 60 slabs_slots.h 'who follows a trail gives no word its class' \
    '/uint64_t quarry_slabs_follow\(/,/^\}/s/quarry_slabs_of\(class_, 0\)/(uint64_t)0/'
plant slabs 60 slabs_slots.h 'lanes of a warp have the same number of a trail' \
    's/\? at \+ simt_rank\(needs\) : 0;/? at : 0;/'
plant slabs 60 slabs_slots.h 'what a cursor had counts as numbers of its trail' \
    's/at = at < slots \? slots : at;/at += 0;/'
plant slabs 60 slabs_more.h 'a warp of several classes takes numbers of a trail that nobody follows' \
    '/uint64_t quarry_slabs_fill_each\(/,/^\}/s/if \(quarry_slabs_is_trail\(now\)\)/if (0)/'
plant slabs 60 slabs_more.h 'a warp of several classes fills a cursor that has a trail' \
    '/uint64_t quarry_slabs_fill_each\(/,/^\}/s/ \&\& !quarry_slabs_is_trail\(now\)\)/)/'
plant slabs 60 slabs_more.h 'who asks takes numbers of a trail that nobody follows' \
    '/int quarry_slabs_ask\(/,/^\}/s/if \(quarry_slabs_is_trail\(now\)\)/if (0)/'
plant slabs 60 slabs_more.h 'who asks fills a cursor that has a trail' \
    '/int quarry_slabs_ask\(/,/^\}/s/ \|\| quarry_slabs_is_trail\(now\)\)\)/))/'
plant slabs 60 slabs_more.h 'trails go on when others sweep' \
    's/i < h->trails \* h->classes; i \+=/i < 0; i +=/'
plant slabs 60 slabs_more.h 'of a class one trail ends before others sweep' \
    's/i < h->trails \* h->classes; i \+=/i < h->classes; i +=/'
aim a_number_leads_to_its_slot_however_late
plant slabs 0 slabs_map.h 'who retires a cursor forgets which chunk of a trail it was' \
    '/void quarry_slabs_retire\(/,/^\}/s/class_, quarry_slabs_more\(kind\)\);/class_, number + 1u);/'
plant slabs 0 slabs_map.h 'who could not close a chunk forgets which one of a trail it was' \
    's/all \? 0 : quarry_slabs_more\(kind\)\);/all ? 0 : quarry_slabs_owner(kind) + 1u);/'
plant slabs 0 slabs_map.h 'who holds a chunk forgets which one of a trail it was' \
    '/int quarry_slabs_hold_at\(/,/^\}/s/class_, quarry_slabs_more\(kind\)\);/class_, 0);/'
plant slabs 0 slabs_map.h 'a chunk of a trail that moves seems to be none' \
    's/state == QUARRY_SLABS_IS_BOUND \|\| state == QUARRY_SLABS_IS_MOVING\);/state == QUARRY_SLABS_IS_BOUND);/'
aim words_of_a_trail_have_a_class_before_their_slots_are_freed
plant slabs 0 slabs_map.h 'words of the rest have no class when a trail ends' \
    '/void quarry_slabs_end_trail\(/,/^\}/s/simt_cas_u64\(&word\[i\], ~0u,/simt_cas_u64(\&word[i], 0,/'
plant slabs 0 slabs_slots.h 'who follows a trail gives one word its class' \
    's/\(k == 0 \|\| step\.slot % QUARRY_SLABS_BITS == 0\)\)/(k == 0))/'
plant slabs 0 slabs_slots.h 'lanes of a warp that lead to one chunk seem to be of one class' \
    's/k = simt_rank\(simt_ballot\(all, ours\) & group\);/(void)0;/'
aim who_ends_a_trail_late_leaves_other_classes_alone
plant slabs 0 slabs_map.h 'who ends a trail late gives its class to words that have one' \
    '/void quarry_slabs_end_trail\(/,/^\}/s/simt_cas_u64\(&word\[i\], ~0u, .*/simt_or_u64(\&word[i], quarry_slabs_of(class_, 0),/'
aim a_gather_takes_no_numbers_of_a_trail
plant slabs 0 slabs_gather.h 'who gathers takes numbers of a trail that nobody follows' \
    '/uint64_t quarry_slabs_gather_once\(/,/^\}/s/ && !quarry_slabs_is_trail\(now\)\)/)/'
# Slots that are gathered, and hints that are kept.
aim a_warp_gathers_slots_of_several_classes
plant slabs 0 slabs_gather.h 'who gathers has also what others have' \
    '/uint64_t quarry_slabs_gather_once\(/,/^\}/s/bits = quarry_slabs_take\(.*;/bits = quarry_slabs_lowest(~(uint32_t)seen, needs);/'
plant slabs 0 slabs_gather.h 'what is gathered of a cursor is lost' \
    '/uint64_t quarry_slabs_gather_once\(/,/^\}/s/(first = quarry_slabs_add\(.*;)/\1 got = 0;/'
aim each_warp_has_hints_of_its_own
plant slabs 0 slabs_slots.h 'with one class few hints serve many warps' \
    's/\(class_ \+ \(warp >> h->hint_log\)\) %/class_ %/'
aim a_warp_recalls_what_it_freed_of_many_words
plant slabs 0 slabs_gather.h 'who recalls has also what others have' \
    '/uint64_t quarry_slabs_take_words\(/,/^\}/s/bits = quarry_slabs_or\(.*;/bits = quarry_slabs_lowest(clear, (to < asked ? to : asked) - from);/'
plant slabs 0 slabs_gather.h 'a warp recalls one hint' \
    '/uint64_t quarry_slabs_recall\(/,/^\}/s/simt_lane\(\) == last \? SIMT_LANES - 1u : simt_rank\(all\)\)/SIMT_LANES - 1u)/'
plant slabs 0 slabs_slots.h 'all hints of a size are those of another' \
    's/\(157u \* class_ \+ 128u\) %/128u %/'
plant slabs 0 slabs.h 'a warp leaves one hint' \
    's/ \&\& simt_popc_u32\(its\) > 1u\)/ \&\& 0)/'
plant slabs 0 slabs.h 'who frees slots of several classes leaves one hint of each' \
    's/if \(several \&\& simt_any\(all, \(spread .*/if (several \&\& simt_all(all, class_ == simt_shuffle_u32(all, class_, simt_ctz_u32(all)))) {/'
plant slabs 0 slabs_slots.h 'all hints of a free are one' \
    's/\(begin \+ number\) % SIMT_LANES/begin/'
aim each_lane_has_a_slot_of_words_that_all_have_seen
plant slabs 0 slabs_slots.h 'who deals words gives what others had first, too' \
    's/ \&\& k < simt_popc_u32\(bits\)$//'
plant slabs 0 slabs_slots.h 'who deals words begins anew with each of a giver' \
    's/k -= simt_shuffle_u32\(group, from, giver\);/(void)from;/'
plant slabs 0 slabs_slots.h 'the richest words are half of those that are needed' \
    's/\(group, rich\) >= asked\)/(group, rich) >= asked \/ 2u)/'
# Slots of a larger class, for a class that has none of its own.
aim a_warp_seeks_the_class_that_most_chunks_have
plant slabs 0 slabs_gather.h 'who seeks has slots of a smaller class' \
    's/ \&\& size <= class_;/;/'
plant slabs 0 slabs_gather.h 'who seeks has a slot where its own class would have it' \
    '/void \*quarry_slabs_seek\(/,/^\}/s/quarry_slabs_block\(h, place, class_\)/quarry_slabs_block(h, place, size)/'
plant slabs 0 slabs_gather.h 'who seeks does not tell which class serves' \
    '/void \*quarry_slabs_seek\(/,/^\}/s/quarry_slabs_tell_larger\(h, size, class_\);/(void)0;/'
aim a_warp_that_sees_a_chunk_to_close_seeks_no_larger_class
plant slabs 0 slabs_gather.h 'who seeks takes larger slots though a chunk can be closed' \
    's/simt_any\(all, vacant\) \|\| class_/class_/'
aim lanes_of_a_warp_have_slots_of_several_larger_classes
plant slabs 0 slabs_gather.h 'a larger slot is where one of its own class would be' \
    '/void \*quarry_slabs_recall_all\(/,/^\}/s/quarry_slabs_block\(h, place, of\)/quarry_slabs_block(h, place, size)/'
plant slabs 0 slabs_gather.h 'one larger class serves a warp' \
    's/left \&= ~mine;/left = 0 * mine;/'
plant slabs 0 slabs_gather.h 'nobody looks at chunks of the larger class' \
    's/guesses = tries != 0/guesses = 0/'
aim a_larger_class_serves_until_there_are_chunks
plant slabs 20 slabs_gather.h 'nobody tells that a larger class serves' \
    's/now \|= larger << .*;/now |= 0;/'
plant slabs 20 slabs_gather.h 'a larger class serves for ever' \
    's/if \(larger \&\& quarry_slabs_seems_vacant/if (0 \&\& quarry_slabs_seems_vacant/'
aim a_walk_finds_slots_of_a_larger_class
plant slabs 0 slabs_more.h 'a walk does not look for slots of the larger class' \
    's/need->of = larger;/need->of = need->class_;/'
plant slabs 0 slabs.h 'a slot that a walk finds seems to be one of the class that was asked for' \
    's/if \(need\.wide\)/if (0)/'
aim blocks_in_larger_slots_are_their_owners_alone
plant slabs 60 slabs_gather.h 'who recalls a larger slot has one where its own class would have it' \
    '/void \*quarry_slabs_recall_all\(/,/^\}/s/quarry_slabs_block\(h, place, of\)/quarry_slabs_block(h, place, size)/'
plant slabs 60 slabs_gather.h 'who guesses has also what others have' \
    '/uint64_t quarry_slabs_take_words\(/,/^\}/s/bits = quarry_slabs_or\(.*;/bits = quarry_slabs_lowest(clear, (to < asked ? to : asked) - from);/'
aim sizes_that_change_keep_to_their_chunks
plant slabs 0 slabs_slots.h 'classes of a warp that lie side by side have one hint' \
    's/\(class_ \+ \(warp >> h->hint_log\)\) %/(warp >> h->hint_log) %/'
plant slabs 0 slabs_slots.h 'classes of a warp that do not have one hint' \
    's/class_ \/ QUARRY_SLABS_HINT_ROW \* apart/0u * apart/'
aim a_warp_has_a_word_as_far_as_others_have_not
plant slabs 0 slabs.h 'a warp has a word of which it got a part' \
    's/\(simt_shuffle_u32\(all, bits, 0\) == ~0u\)/(simt_shuffle_u32(all, bits, 0) != 0)/'
plant slabs 0 slabs.h 'what a warp got of a part of a word is lost' \
    's/if \(!whole && k == 0/if (k == 0/'
plant slabs 0 slabs.h 'a warp that has a word keeps the hint' \
    's/simt_store_u64\(hint, \(uint64_t\)id << 32, relaxed\);/(void)hint;/'
aim warps_take_words_of_which_others_take_slots
plant slabs 60 slabs.h 'lanes of a warp that has a word have each its own hint' \
    's/id = simt_shuffle_u32\(all, id, 0\);/(void)0;/'
aim '*'
plant slabs 20 slabs.h 'a large block loses its second chunk' \
    's/for \(uint32_t i = chunks; i > 0; i--\)/for (uint32_t i = 1; i > 0; i--)/'

# NULL though something is left, with one size, and with many.
aim null_never_comes_of_one_size_at_any_level
plant churn 400 slabs_sweep.h 'levels: a proof does not look at the last chunk' \
    's/\? of\.end : chunks;/? of.end : chunks - 1u;/'
plant churn 60 slabs_sweep.h 'levels: a proof reads every other word of a chunk' \
    's/words -= \(int32_t\)step, word \+= step/words -= 2 * (int32_t)step, word += 2 * step/'
plant churn 60 slabs_sweep.h 'levels: a proof reads the words of a chunk up to the first live slot' \
    's/QUARRY_SLABS_WORD_CLEAR \| QUARRY_SLABS_WORD_HELD\);/QUARRY_SLABS_WORD_LIVE);/'
aim null_of_many_sizes_means_that_nothing_is_left
plant churn 0 slabs_more.h 'levels: nobody looks for slots of larger classes' \
    's/need->wide = need->chunks \? 0 : QUARRY_SLABS_ALL;/need->wide = 0;/'

# What a soak is to see: a slot that two have, and one that nobody has.
aim soak
export QUARRY_TEST_SECONDS=10
sound churn 0
plant churn 0 slabs_slots.h 'a soak: who takes by a hint has also what others have' \
    's/uint32_t fresh = wants \& ~\(uint32_t\)now;/uint32_t fresh = wants;/'
plant churn 0 slabs_map.h 'a soak: a chunk is closed with a live slot' \
    's/closed = \(uint32_t\)seen == quarry_slabs_from\(i, slots\);/closed = simt_popc_u32((uint32_t)seen) <= simt_popc_u32(quarry_slabs_from(i, slots)) + 1u;/'
plant churn 0 slabs.h 'a soak: a slot that is freed alone, the eighth of its word, is lost' \
    's/~\(uint64_t\)bits, release\)/~(uint64_t)(bits == 128u ? 0u : bits), release)/'

finish
