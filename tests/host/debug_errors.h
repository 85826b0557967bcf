/* SPDX-License-Identifier: Apache-2.0 */
/* Those tests of debug mode in which a block of one page is freed or written as it must not be. */
#ifndef QUARRY_TESTS_DEBUG_ERRORS_H
#define QUARRY_TESTS_DEBUG_ERRORS_H

void double_free_is_recorded(void **state);
void one_of_racing_frees_wins(void **state);
void foreign_pointers_are_recorded(void **state);
void pointers_from_before_a_reset_are_foreign(void **state);
void interior_pointers_are_recorded(void **state);
void writes_past_the_end_are_recorded(void **state);
void writes_before_the_start_are_recorded(void **state);
void headers_that_were_forged_are_no_blocks(void **state);
void writes_after_free_are_recorded(void **state);
void writes_to_blocks_never_allocated_are_recorded(void **state);
void kinds_are_recorded_side_by_side(void **state);

#endif
