/* SPDX-License-Identifier: Apache-2.0 */
/* Those promises that are about blocks smaller and larger than a page.  Allocators of fixed pages have only
 * the smaller ones. */
#ifndef QUARRY_TESTS_PROMISES_SIZES_H
#define QUARRY_TESTS_PROMISES_SIZES_H

void blocks_of_all_sizes_are_disjoint(void **state);
void slots_are_right_for_every_size(void **state);
void freed_space_serves_other_sizes(void **state);
void the_largest_free_block_can_be_had(void **state);

#endif
