#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bugs planted into the blocks that ualloc is made of, bins and arenas, and into tbuddy's: for each one test runs, which
# finds it within as many seeds as stated here.  docs/reproduction/gelado.md has a table of all.
#
#   planted_ualloc.sh CC LIBRARY-FLAGS    the compiler, and what links a program of tests with the library
# shellcheck source=tests/planted.sh
. "$(dirname "$0")/../planted.sh"
failed_seed='s/.*((ualloc|tbuddy),.*, seed |deadlock.*\(seed )([0-9]+).*/\3/p'
export QUARRY_TEST_PATIENCE=5 # seconds for a schedule, of which most take milliseconds: some bugs make lanes wait for ever

build() {
    compile_once "alloc/test_$1" && compile_once alloc/promises && compile_once chosen &&
        compile alloc/promise_kernels && link "test_$1.o" promises.o chosen.o promise_kernels.o
}

# of ALLOCATOR
of() {
    export QUARRY_TEST_ALLOCATOR=$1
    kernel_flags=(-DQUARRY_ALLOCATOR="$1")
    rm -f "$scratch"/*.o
}

# aim TEST: only this test of the file runs, until the next.
aim() {
    export QUARRY_TEST_ONLY=$1
}

of ualloc
sound ualloc 60
aim a_full_heap_of_bins_loses_nothing
sound ualloc 200
aim sizes_may_be_mixed_in_a_heap_that_is_too_small
sound ualloc 600

aim null_never_comes_while_a_small_block_is_free
plant ualloc 60 arenas.h 'what is retired is not expected meanwhile' \
    's/quarry_semaphore_(announce|retract)\(above, 1\);//;s/(give_bit\(h, page\), 1), 1\)/\1, 0)/;s/quarry_semaphore_retract\(&h->buddy.*chunk_log\], 1\);//'
plant ualloc 60 arenas.h 'a bin that was listed goes without a barrier' \
    's/ \&\& quarry_list_is_new\(&bin->link\)//'
plant ualloc 60 arenas.h 'who unlists a bin takes it from who retires it' \
    '/^SIMT_FN void quarry_arenas_unlist/,/^}/s/ \&\& \(word \& QUARRY_BIN_LISTED\)//'
plant ualloc 60 bin.h 'two retire one bin' \
    's/return next \& ~word \& \(QUARRY_BIN_LISTING/return next \& (~word | QUARRY_BIN_RETIRING) \& (QUARRY_BIN_LISTING/'
plant ualloc 60 bin.h 'two claims get the same blocks' \
    '/^SIMT_FN uint32_t quarry_bin_lower/,/^}/s/quarry_bin_unclaimed\(simt_add_u32/quarry_bin_free(simt_add_u32/'
plant ualloc 60 bin.h 'a claim that got nothing is not withdrawn' \
    '/^SIMT_FN uint32_t quarry_bin_lower/,/^}/s/less = n \* QUARRY_BIN_CLAIM/less = (got ? n : 0u) * QUARRY_BIN_CLAIM/'

aim a_full_heap_of_bins_loses_nothing
plant ualloc 60 arenas.h 'a bin goes though a count was lowered' \
    's/simt_cas_u32\(&bin->word, full, 0, acquire\) == full/(simt_exchange_u32(\&bin->word, 0, acq_rel) | 1u)/'
plant ualloc 60 arenas.h 'units of a bin that could not go are lost' \
    '/^SIMT_FN int quarry_arenas_retire_try/,/^}/s/quarry_semaphore_signal\(units, blocks\);//'
plant ualloc 60 arenas.h 'what is retired stays in its list' \
    '/^SIMT_FN void quarry_arenas_retire_all/,/^}/s/quarry_list_remove\(&bin->link\);//'
plant ualloc 60 bin.h 'two list one bin' \
    's/return next \& ~word \& \(QUARRY_BIN_LISTING/return next \& (~word | QUARRY_BIN_LISTING) \& (QUARRY_BIN_LISTING/'
plant ualloc 60 bin.h 'who counts blocks forgets those of others' \
    's/\*n = (simt_exchange_u32\(&bin->given)/(void)\1/'
# Where who waits asks again, hardly anybody comes there while others wait.
plant ualloc 200 arenas_take.h 'who gets no bin gives up blocks of bins that still come' \
    's/ \|\| \(!a->searches && quarry_buddy_seems_full\(&h->buddy\)\)//;s/uint32_t stays = left \? left - blocks \+ 1u : 0;/uint32_t stays = 0;/'

aim a_heap_of_bins_fills_to_its_last_block
plant ualloc 60 arenas_take.h 'bins that are not made are still promised' \
    's/part = gone \* blocks;/part = gone * blocks - 1u;/'
plant ualloc 60 bin.h 'who takes bits believes all are its own' \
    's/got = quarry_bits_take\(&bin->used\[i\], pick\);/got = (quarry_bits_take(\&bin->used[i], pick), pick);/'
plant ualloc 60 bin.h 'the tail of another bin' \
    '/^SIMT_FN uint64_t quarry_bin_offset/,/^}/s/tail = number - s->heads/tail = (number - s->heads) \/ 2u/'
plant ualloc 60 bin.h 'a tail lies over a head' \
    '/^SIMT_FN uint64_t quarry_bin_offset/,/^}/s/uint64_t place = s->head_bytes;/uint64_t place = index < inside ? s->head_bytes : 0;/'
plant ualloc 60 bin.h 'blocks that the bin has not are free' \
    's/uint32_t missing = ~quarry_bin_below\(blocks, i\);/uint32_t missing = ~quarry_bin_below(blocks + 1u, i);/'
plant ualloc 60 bin.h 'a bin keeps bits of what was there before' \
    '/^SIMT_FN void quarry_bin_make/,/^}/s/i < quarry_bin_words\(blocks\)/i < blocks \/ 32u/'

aim sizes_may_be_mixed_in_a_heap_that_is_too_small
# Only a lane that stands on the bin just then, and takes a block of it as one of another class, is harmed: rare.
plant ualloc 600 arenas.h 'a bin that is retired is reused at once' \
    's/quarry_srcu_barrier_or_delegate\(readers\)/(struct quarry_srcu_callback *)(uintptr_t)simt_exchange_u64(\&readers->queue, 0, acquire)/'
plant ualloc 60 arenas.h 'a bin is listed in the arena of who frees' \
    '/^SIMT_FN void quarry_arenas_enlist/,/^}/s/h, bin->arena, bin->class_/h, simt_sm() % h->count, bin->class_/'
plant ualloc 60 arenas_take.h 'who makes a chunk may take the bins of another one' \
    's/quarry_bin_count\(&h->shape\), kept\)/quarry_bin_count(\&h->shape), 0)/;s/kept == quarry_bin_count\(&h->shape\)/0/;s/a->kept = first \+ h->shape.heads;//'
plant ualloc 60 semaphore.h 'a chunk that could not be had is still expected' \
    's/\*owed \* QUARRY_SEMAPHORE_UNIT - part, relaxed/*owed * QUARRY_SEMAPHORE_UNIT, relaxed/'

plant ualloc 600 spans.h 'who lacks the pages for a span of chunks leaves it to be made' \
    's/quarry_spans_lack\(h, made\);/quarry_spans_lack(h, kind);/'

aim a_full_heap_holds_what_the_layout_says
plant ualloc 1 bin.h 'a bin does not use its tail' \
    's/(\(s\)->head_bytes\) >> \(size_log\)\)) \+ \(QUARRY_BIN_HEAD >> \(size_log\)\)\)/\1)/'
plant ualloc 1 arenas_take.h 'who makes bins keeps one back' \
    's/quarry_semaphore_produced\(bins, &owed, count, &promised\);/quarry_semaphore_produced(bins, \&owed, count - 1u, \&promised);/'

aim what_is_kept_open_is_used
sound ualloc 1
plant ualloc 1 spans.h 'nobody looks into spans' \
    's/^        if \(simt_lane\(\) == leader\)$/        if (0)/'
aim what_many_arenas_keep_is_closed
sound ualloc 60
plant ualloc 60 spans.h 'an arena without spans of pages begins one' 's/^        arena %= h->places;/        ;/'
aim what_is_left_of_a_span_is_free_when_it_is_closed
sound ualloc 1
plant ualloc 1 spans.h 'who closes a span forgets the last bin of a word' 's/i = whole \/ 32u/i = whole \/ 31u/'

aim what_is_kept_open_serves_all_sizes
sound ualloc 60
plant ualloc 1 spans.h 'who is refused leaves spans open' \
    's/return simt_any\(group, proof\);/return 1;/'
plant ualloc 1 spans.h 'what is left of a bin that was begun is lost' \
    's/bin = in \? quarry_arenas_given\(h, bin, blocks - in, 0\) : SIMT_NULL;/bin = SIMT_NULL;/'
plant ualloc 1 spans.h 'bins that were not begun are lost' \
    's/chunk = whole < bins \? quarry_arenas_given\(h, chunk, bins - whole, 0\) : SIMT_NULL;/chunk = SIMT_NULL;/'
plant ualloc 300 spans.h 'a span ends before it is given back' \
    's/quarry_spans_end\(h\); \/\* and not before.*/;/;s/^( *)if \(found\) \{/&\n\1    quarry_spans_end(h);/'
plant ualloc 60 spans.h 'who closes a span gives blocks back that others have' \
    's/quarry_bin_below\(in, i\);/quarry_bin_below(in - 1u, i);/'
plant ualloc 60 spans.h 'two close one span' \
    's/while \(seen != \*word\);/while (0);/'
plant ualloc 60 spans.h 'blocks past the last are taken' \
    's/quarry_semaphore_part\(\(int64_t\)total - \(uint32_t\)\*at, n\)/n/'

plant ualloc 100 spans.h 'who closes spans forgets those of pages' \
    's/spans = of_classes \+ h->places \* QUARRY_ARENAS_ORDERS,/spans = of_classes,/'

aim null_never_comes_while_a_block_is_kept_open
sound ualloc 100
plant ualloc 100 spans.h 'who is refused does not ask whether spans have begun since' \
    's/simt_add_u64\(&h->spans->flights, 0, release\) \/ QUARRY_ARENAS_SPAN ==/before ==/'
begins_late='s/\(void\)simt_add_u64\(&h->spans->flights, QUARRY_ARENAS_SPAN \+ 1u, acquire\);//
    /^SIMT_FN uint32_t quarry_spans_lead/,/^}/{
        s/^    n->order = .*h->span_log;/&\n    if (made != QUARRY_SPANS_NOTHING)\n        BEGIN/
        s/^    \} else if \(made != kind\) \{/&\n        BEGIN/
        s/^        if \(got == 1\)/&\n            BEGIN\n        if (got == 1)/
        s/BEGIN/(void)simt_add_u64(\&h->spans->flights, QUARRY_ARENAS_SPAN + 1u, acquire);/
    }'
plant ualloc 2500 spans.h 'a span begins after its chunk was taken' "$begins_late"
plant ualloc 100 spans.h 'who makes a chunk keeps its first blocks, and says others have them' \
    's/at \+ got, release\)/at, release)/'

aim null_never_comes_while_pages_are_kept_open
sound ualloc 100
plant ualloc 100 spans.h 'pages that lanes got stay BUSY' \
    's/\(void\)simt_or_u64\(&b->word\[w\], quarry_buddy_fields\(nodes\), relaxed\);/;/'
plant ualloc 100 spans.h 'one lane marks its page for all' \
    's/simt_reduce_or_u32\(same, has \? (.*) : 0\);/has ? \1 : 0;/'
plant ualloc 100 spans.h 'a chunk that came of a span is no block' \
    's/quarry_spans_mark\(h, 1u << simt_lane\(\), 1, log, page\);/;/'
plant ualloc 100 spans.h 'who makes a span of chunks keeps none' \
    's/quarry_spans_make_pages\(h, chunks, page, 1\);/quarry_spans_make_pages(h, chunks, page, 0);/'
plant ualloc 100 spans.h 'who makes a span of pages keeps its first, and says others have them' \
    's/page \* QUARRY_ARENAS_SPAN \+ got, release/page * QUARRY_ARENAS_SPAN + 1u, release/'
plant ualloc 100 spans.h 'a span that all of one group took is still under way' \
    '/^SIMT_FN void quarry_spans_make_pages/,/^}/s/if \(got == .*\)$/if (0)/'
plant ualloc 2000 spans.h 'who is refused does not ask whether spans of pages have begun since' \
    's/simt_add_u64\(&h->spans->flights, 0, release\) \/ QUARRY_ARENAS_SPAN ==/before ==/'

aim who_must_be_refused_is_while_others_malloc
sound ualloc 1000
plant ualloc 60 spans.h 'spans begin though somebody closes all' \
    '/int quarry_spans_may_begin\(/,/^\}/s/simt_load_u64\(&h->spans->closers, relaxed\)/(uint64_t)0/'
plant ualloc 60 spans.h 'who was refused without a proof is no closer' \
    's/quarry_spans_count_closer\(h, group, 1\);/;/;s/n->closes = 1;/n->closes = 0;/'
plant ualloc 60 spans.h 'a closer stays one' \
    's/quarry_spans_count_closer\(h, group, ~\(uint64_t\)0\);/;/'
plant ualloc 60 spans.h 'who closes a span of pages loses what is left' \
    '/^SIMT_FN void quarry_spans_give_pages/,/^}/s/at >> h->span_log == 0/at == 0/'
plant ualloc 60 spans.h 'who closes a span of pages gives pages back that others have' \
    '/^SIMT_FN void quarry_spans_give_pages/,/^}/s/at = \(uint32_t\)word << order;/at = ((uint32_t)word - 1u) << order;/'

aim as_many_are_refused_as_there_is_too_little_for
sound ualloc 300
plant ualloc 300 arenas_take.h 'who finds a full heap shares whatever refusal there was' \
    '/^SIMT_FN uint32_t quarry_arenas_begin/,/^}/s/uint64_t since = 0;/uint64_t since = 1;/'
plant ualloc 300 arenas_take.h 'who asks again shares a refusal of when it had a claim itself' \
    '/^SIMT_FN uint32_t quarry_arenas_begin/,/^}/{
         s/uint64_t since = 0;/uint64_t since = a->block ? 0 : a->since;/
         s/^    a->searches = said/    a->since = since;\n&/
     }
     s/^    uint32_t searches;/    uint64_t since;\n&/;s/^    a->searches = 0;\n\}/&/;/^SIMT_FN void quarry_arenas_start/,/^}/s/^    a->searches = 0;/&\n    a->since = 0;/'
plant ualloc 300 arenas_take.h 'a search that found blocks is one that was refused' \
    's/refused \? QUARRY_BUDDY_NO_ORDER : 0\)/QUARRY_BUDDY_NO_ORDER)/'
plant ualloc 300 arenas_take.h 'a search does not end' \
    's/quarry_buddy_searched\(&h->supply\[a->class_\], .*\);/;/'
plant ualloc 300 arenas_take.h 'who asks again leaves blocks promised' \
    's/quarry_semaphore_leave\(units, a->owed, a->promised\);/quarry_semaphore_leave(units, a->owed, 0);/'
plant ualloc 300 arenas_take.h 'who asks again leaves bins reserved' \
    's/quarry_semaphore_leave\(bins, a->owed_bins, 0\);/;/'
plant ualloc 300 arenas_take.h 'who asks again leaves blocks reserved' \
    's/quarry_semaphore_leave\(units, a->owed, 0\);/;/'
plant ualloc 300 buddy_take.h 'who asks again leaves larger blocks promised' \
    's/quarry_semaphore_leave\(&b->units\[--h\], 1, QUARRY_BUDDY_BATCH\);/quarry_semaphore_leave(\&b->units[--h], 1, 0);/'

of tbuddy
aim blocks_of_any_size_fill_the_heap_and_become_one_again
sound tbuddy 1
plant tbuddy 1 buddy.h 'buddies that are free stay apart' \
    '/int quarry_buddy_merge\(/,/^\}/s/if \(simt_rank\(same\) == 0\)/if (0)/'
plant tbuddy 1 buddy_take.h 'a half that is left over is not signalled' \
    's/while \(height-- > plan.order\)/while (height-- > plan.order + 1)/'

export QUARRY_TEST_ALLOCATOR=tbuddy
aim as_many_are_refused_as_there_is_too_little_for
sound ualloc 300
plant ualloc 300 buddy_take.h 'who gives up leaves its promise' '/uint32_t quarry_buddy_unit\(/,/^\}/s/promised = QUARRY_BUDDY_BATCH;/promised = 1;/'
plant ualloc 300 buddy_take.h 'who asks again leaves the block reserved' \
    's/for \(quarry_semaphore_leave\(&b->units\[h\], 1, 0\); h > order;\)/for (; h > order;)/'
plant ualloc 300 buddy_take.h 'who asks again leaves larger blocks promised' \
    's/quarry_semaphore_leave\(&b->units\[--h\], 1, QUARRY_BUDDY_BATCH\);/quarry_semaphore_leave(\&b->units[--h], 1, 0);/'

finish
