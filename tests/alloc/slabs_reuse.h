/* SPDX-License-Identifier: Apache-2.0 */
/* Those tests of `quarry` that are about slots that were freed: whom they serve next. */
#ifndef QUARRY_TESTS_SLABS_REUSE_H
#define QUARRY_TESTS_SLABS_REUSE_H

#include "alloc/promises.h"
#include "alloc/slabs_kernels.h"

#define SEEDS 60u
#define CHUNK 1024u /* bytes: two words of 16-byte slots */

void a_slot_serves_smaller_blocks_when_nothing_else_is_free(void **state);
void null_never_comes_of_a_larger_slot_that_moves(void **state);
void every_slot_can_be_had_in_each_class(void **state);
void lanes_of_several_classes_have_slots_of_their_own(void **state);
void a_warp_gathers_slots_of_several_classes(void **state);
void a_warp_recalls_what_it_freed_of_many_words(void **state);
void lanes_of_a_warp_have_slots_of_several_larger_classes(void **state);
void a_larger_class_serves_until_there_are_chunks(void **state);
void an_empty_heap_has_all_small_slots_after_a_larger_class_served(void **state);
void a_walk_finds_slots_of_a_larger_class(void **state);
void blocks_in_larger_slots_are_their_owners_alone(void **state);
void a_warp_has_a_word_as_far_as_others_have_not(void **state);
void warps_take_words_of_which_others_take_slots(void **state);
void sizes_that_change_keep_to_their_chunks(void **state);
void each_warp_has_hints_of_its_own(void **state);

/* Standard options; one in three seeds has a schedule of few switches. */
void choose_schedule(uint64_t seed);

/* Runs a kernel in so many blocks of a warp on the heap that has begun.  It may count nothing that is wrong. */
void launch_case(const struct simt_kernel *kernel, struct slabs_case *a, uint32_t blocks, uint64_t seed);

/* Ends all trails of the heap that has begun, and is new: its cursors get chunks from now on. */
void end_trails(void);

/* Chunks of the heap that has begun, of that state. */
uint32_t chunks_that_are(enum quarry_slabs_state kind);

#endif
