/* SPDX-License-Identifier: Apache-2.0 */
/* A command's work on one target: memory, kernels and their times, heaps.  What fails prints one sentence and
 * returns TOOL_FAILED, else 0. */
#ifndef QUARRY_TOOL_WORK_H
#define QUARRY_TOOL_WORK_H

#include "options.h"
#include "quarry/quarry.h"
#include "quarry/trace.h"
#include "rows.h"

struct work {
    struct quarry_target target;
    quarry_event *begin;
    quarry_event *end;
    void *temporary; /* memory of work_scan and work_sort */
    uint64_t temporary_bytes;
    quarry_trace *trace; /* of a heap that is recorded; NULL: none */
};

/* work_close may follow, whatever work_open returned, and also if *work is all zero. */
int work_open(struct work *work, const struct quarry_target *target);
void work_close(struct work *work);

/* Prints what the library says about a failure; TOOL_FAILED for any status but OK. */
int work_check(enum quarry_status status, const char *doing);

/* Device memory; *memory must be NULL before.
 *   what  the sentence begins with it */
int work_create(struct work *work, uint64_t bytes, void **memory, const char *what);
/* Makes *memory NULL; it may be so before. */
void work_destroy(struct work *work, void **memory);

/* Waits. */
int work_copy(struct work *work, void *to, const void *from, uint64_t bytes);
int work_zero(struct work *work, void *memory, uint64_t bytes);

/* Copies the keys of rows to the target, as the struct keys of keys.h has them; *bytes and *offsets as in
 * work_create. */
int work_upload_keys(struct work *work, const struct rows *rows, void **bytes, void **offsets);

/* Launches between begin and end are timed together; work_end waits and adds the time to *microseconds. */
int work_begin(struct work *work);
int work_launch(struct work *work, const struct simt_kernel *kernel, struct quarry_grid grid,
                const void *argument);
int work_end(struct work *work, const char *doing, double *microseconds);

/* Exclusive prefix sum in place: each value becomes the sum of those before it.  Queued; by CUB on a GPU. */
int work_scan(struct work *work, uint64_t *values, uint64_t count);

/* Sorts words in target memory by bits shift up to shift + bits, the radix sort of CUB on a GPU; words with
 * the same bits keep their order.  Queued.
 *
 *   words   `count` of them; then receives where the result is
 *   other   room for as many; then receives where that is
 *   bits    0 does nothing
 *
 * Returns 0, or prints one sentence and returns TOOL_FAILED. */
int work_sort(struct work *work, uint64_t **words, uint64_t **other, uint64_t count, uint32_t shift,
              uint32_t bits);

/* Makes a heap whose blocks hold a page, and waits for it.
 *   bytes  of the pool; 0: the library's default
 *   heap   NULL, without a sentence and with 0 returned, if `bytes` do not hold one page
 *   made   what it is; if there is one
 *   microseconds  the host's clock */
int work_create_heap(struct work *work, const struct method_options *options, uint64_t bytes,
                     quarry_heap **heap, struct quarry_heap_description *made, double *microseconds);

/* How many blocks are live in a heap.  Waits. */
int work_live_blocks(quarry_heap *heap, uint64_t *blocks);

/* Takes `percent` of a heap's pages, at random, with a bar if that lasts; 0 takes none.  *taken: pages that
 * are live then.  Returns 0, or prints one sentence and returns TOOL_FAILED: it takes over a minute, or
 * failed. */
int work_prefill(struct work *work, quarry_heap *heap, const struct method_options *options, unsigned percent,
                 uint64_t *taken);

/* Records the heap from now on, if that is wanted: each work_launch is then waited for, and is a launch of
 * the trace. */
int work_begin_trace(struct work *work, quarry_heap *heap, const struct method_options *options);
/* Finishes the file, if there is one.  Events that were lost are told on stderr, and no error. */
int work_end_trace(struct work *work, const struct method_options *options);
/* Ends the recording without a file, if it is not at its end; before the heap is destroyed. */
void work_drop_trace(struct work *work);
/* There was nothing to do: says so if a trace was wanted.  Returns 0. */
int work_no_trace(const struct method_options *options);

/* KiB of a heap that surely has so many pages.
 *   heap_bytes, heap_pages  of a heap with the same options, which tells the metadata; 0 pages: none is known
 */
uint64_t work_heap_kib(uint64_t pages, uint64_t page_bytes, uint64_t heap_bytes, uint64_t heap_pages);

#endif
