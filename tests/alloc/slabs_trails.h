/* SPDX-License-Identifier: Apache-2.0 */
/* Those tests of `quarry` that are about trails: rows of chunks that nobody has had. */
#ifndef QUARRY_TESTS_SLABS_TRAILS_H
#define QUARRY_TESTS_SLABS_TRAILS_H

void a_trail_has_whole_chunks(void **state);
void first_blocks_are_on_trails(void **state);
void numbers_of_a_trail_are_one_warps(void **state);
void a_number_leads_to_its_slot_however_late(void **state);
void words_of_a_trail_have_a_class_before_their_slots_are_freed(void **state);
void who_ends_a_trail_late_leaves_other_classes_alone(void **state);
void a_gather_takes_no_numbers_of_a_trail(void **state);

#endif
