/* SPDX-License-Identifier: Apache-2.0 */
/* Those promises that are about heaps without a free page. */
#ifndef QUARRY_TESTS_PROMISES_FULL_H
#define QUARRY_TESTS_PROMISES_FULL_H

#include <stdint.h>

void a_heap_fills_to_its_last_page_and_again_after_frees(void **state);
void a_heap_that_few_fill_holds_what_they_wrote(void **state);
void out_of_memory_gives_null_is_counted_and_leaves_a_usable_heap(void **state);
void a_full_heap_neither_shares_nor_loses_pages(void **state);
void null_never_comes_while_a_page_is_free(void **state);
void many_may_fail_at_once(void **state);

/* So many threads take a page each, as long as there are any, and give them back; twice. */
void fill(uint64_t pages, uint64_t page_bytes, uint32_t threads, uint64_t seed);

/* All but `spare` of the pages are taken; then `threads` threads ask at once. */
void fail_at_once(uint32_t pages, uint32_t spare, uint32_t threads, uint64_t seed);

#endif
