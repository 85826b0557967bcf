/* SPDX-License-Identifier: Apache-2.0 */
/* Those tests of `quarry` that are about slots that were freed: whom they serve next. */
#ifndef QUARRY_TESTS_SLABS_REUSE_H
#define QUARRY_TESTS_SLABS_REUSE_H

void a_slot_serves_smaller_blocks_when_nothing_else_is_free(void **state);
void null_never_comes_of_a_larger_slot_that_moves(void **state);
void every_slot_can_be_had_in_each_class(void **state);
void lanes_of_several_classes_have_slots_of_their_own(void **state);
void a_warp_gathers_slots_of_several_classes(void **state);
void a_warp_recalls_what_it_freed_of_many_words(void **state);
void each_lane_has_a_slot_of_words_that_all_have_seen(void **state);
void a_warp_seeks_the_class_that_most_chunks_have(void **state);
void a_warp_that_sees_a_chunk_to_close_seeks_no_larger_class(void **state);
void lanes_of_a_warp_have_slots_of_several_larger_classes(void **state);
void a_larger_class_serves_until_there_are_chunks(void **state);
void an_empty_heap_has_all_small_slots_after_a_larger_class_served(void **state);
void a_walk_finds_slots_of_a_larger_class(void **state);
void blocks_in_larger_slots_are_their_owners_alone(void **state);
void a_warp_has_a_word_as_far_as_others_have_not(void **state);
void warps_take_words_of_which_others_take_slots(void **state);
void sizes_that_change_keep_to_their_chunks(void **state);
void each_warp_has_hints_of_its_own(void **state);

#endif
