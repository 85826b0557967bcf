#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bugs planted into the blocks that ualloc is made of: bins and arenas.
#
#   planted_ualloc.sh CC LIBRARY-FLAGS    the compiler, and what links a program of tests with the library
# shellcheck source=tests/planted.sh
. "$(dirname "$0")/../planted.sh"
export QUARRY_TEST_ALLOCATOR=ualloc
kernel_flags=(-DQUARRY_ALLOCATOR=ualloc)
# A page that is reused while others stand on it leads a lane anywhere, and the test is told of a bad address and no seed.
failed_seed='s/.*ualloc.*, seed ([0-9]+).*/\1/p; s/.*Test failed with exception.*/of an exception/p'

build() {
    compile_once "alloc/test_$1" && compile_once alloc/promises && compile_once chosen &&
        compile alloc/promise_kernels && link "test_$1.o" promises.o chosen.o promise_kernels.o
}

sound ualloc 60

plant ualloc 60 arenas.h 'a bin goes though a count was lowered' \
    's/simt_cas_u32\(&bin->word, full, 0, acquire\) == full/(simt_exchange_u32(\&bin->word, 0, acq_rel) | 1u)/'
# Only a lane that stands on the bin just then, and takes a block of it as one of another class, is harmed: rare.
plant ualloc 600 arenas.h 'a bin that is retired is reused at once' \
    's/quarry_srcu_barrier_or_delegate\(readers\)/(struct quarry_srcu_callback *)(uintptr_t)simt_exchange_u64(\&readers->queue, 0, acquire)/'
plant ualloc 60 arenas.h 'a bin is listed in the arena of who frees' \
    '/^SIMT_FN void quarry_arenas_enlist/,/^}/s/h, bin->arena, bin->class_/h, simt_sm() % h->count, bin->class_/'
plant ualloc 60 arenas.h 'units of a bin that could not go are lost' \
    '/^SIMT_FN int quarry_arenas_retire_try/,/^}/s/quarry_semaphore_signal\(units, blocks\);//'
plant ualloc 60 arenas.h 'what is retired stays in its list' \
    '/^SIMT_NOINLINE_FN void quarry_arenas_retire/,/^}/s/quarry_list_remove\(&bin->link\);//'
plant ualloc 60 arenas.h 'what is retired is not expected meanwhile' \
    's/quarry_semaphore_(announce|retract)\(above, 1\);//;s/(give_bit\(h, page\), 1), 1\)/\1, 0)/;s/quarry_semaphore_retract\(&h->buddy.*chunk_log\], 1\);//'
plant ualloc 600 arenas.h 'a bin that was listed goes without a barrier' \
    's/ \&\& quarry_list_is_new\(&bin->link\)//'
plant ualloc 600 arenas.h 'who unlists a bin takes it from who retires it' \
    '/^SIMT_FN void quarry_arenas_unlist/,/^}/s/ \&\& \(word \& QUARRY_BIN_LISTED\)//'
plant ualloc 60 bin.h 'two list one bin' \
    's/return next \& ~word \& \(QUARRY_BIN_LISTING/return next \& (~word | QUARRY_BIN_LISTING) \& (QUARRY_BIN_LISTING/'
plant ualloc 60 bin.h 'two retire one bin' \
    's/return next \& ~word \& \(QUARRY_BIN_LISTING/return next \& (~word | QUARRY_BIN_RETIRING) \& (QUARRY_BIN_LISTING/'
plant ualloc 60 bin.h 'who counts blocks forgets those of others' \
    's/\*n = (simt_exchange_u32\(&bin->given)/(void)\1/'
plant ualloc 60 arenas_take.h 'who gets no bin gives up blocks of bins that still come' \
    's/uint32_t stays = left \? left - blocks \+ 1u : 0;/uint32_t stays = 0;/'
plant ualloc 60 arenas_take.h 'bins that are not made are still promised' \
    's/part = gone \* blocks;/part = gone * blocks - 1u;/'
plant ualloc 60 arenas_take.h 'who makes a chunk may take the bins of another one' \
    's/quarry_bin_count\(&h->shape\), kept\)/quarry_bin_count(\&h->shape), 0)/;s/kept == quarry_bin_count\(&h->shape\)/0/;s/a->kept = first \+ h->shape.heads;//'
plant ualloc 60 bin.h 'two claims get the same blocks' \
    '/^SIMT_FN uint32_t quarry_bin_lower/,/^}/s/quarry_bin_unclaimed\(simt_add_u32/quarry_bin_free(simt_add_u32/'
plant ualloc 60 bin.h 'a claim that got nothing is not withdrawn' \
    '/^SIMT_FN uint32_t quarry_bin_lower/,/^}/s/less = n \* QUARRY_BIN_CLAIM/less = (got ? n : 0u) * QUARRY_BIN_CLAIM/'
plant ualloc 60 bin.h 'who takes bits believes all are its own' \
    's/got = pick \& ~simt_or_u32\(&bin->used\[i\], pick, acquire\);/got = (simt_or_u32(\&bin->used[i], pick, acquire), pick);/'
plant ualloc 60 bin.h 'the tail of another bin' \
    '/^SIMT_FN uint64_t quarry_bin_offset/,/^}/s/tail = number - s->heads/tail = (number - s->heads) \/ 2u/'
plant ualloc 60 bin.h 'a tail lies over a head' \
    '/^SIMT_FN uint64_t quarry_bin_offset/,/^}/s/uint64_t place = s->head_bytes;/uint64_t place = index < inside ? s->head_bytes : 0;/'
plant ualloc 60 bin.h 'blocks that the bin has not are free' \
    's/uint32_t missing = ~quarry_bin_below\(blocks, i\);/uint32_t missing = ~quarry_bin_below(blocks + 1u, i);/'

finish
