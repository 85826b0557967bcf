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
    void **memory; /* the caller's, by work_create */
    unsigned buffers;
    void *temporary; /* memory of work_scan and work_sort */
    uint64_t temporary_bytes;
    quarry_heap *heap;   /* of work_create_heap; NULL: none */
    quarry_trace *trace; /* of the heap, if it is recorded; NULL: none */
};

/* Of a heap that there is or, if pages and allocator are 0, of one that was too small. */
struct work_heap {
    const char *allocator; /* NULL: there is none */
    uint64_t bytes;        /* of the pool */
    uint64_t page_bytes;
    uint64_t pages;
    uint64_t prefilled; /* pages */
    double us;          /* to make it, by the host's clock */
};

/* work_close may follow, whatever work_open returned, and also if *work is all zero.  It gives back the heap,
 * drops its trace, and destroys the memory.
 *   memory   of work_create, `buffers` of them, NULL now */
int work_open(struct work *work, const struct quarry_target *target, void **memory, unsigned buffers);
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
/* On `threads` threads, or on as many as are worth while: the kernel loops. */
int work_launch_over(struct work *work, const struct simt_kernel *kernel, uint64_t threads,
                     const void *argument);
int work_end(struct work *work, const char *doing, double *microseconds);

/* Calls once(engine, run) for each of `runs` runs; us[times] is 0 before each, and has the medians
 * afterwards.  Returns 0, or what once did if that is not 0. */
int work_repeat(double *us, unsigned times, unsigned runs, int (*once)(void *engine, unsigned run),
                void *engine);

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

/* Makes work->heap, whose blocks hold a page, waits for it, and takes --prefill of its pages, at random, with
 * a bar if that lasts. half  by default it is of half the bytes that the library would choose: memory beside
 * it is wanted later heap  receives what it is; without allocator, and with 0 returned, if its bytes do not
 * hold one page */
int work_create_heap(struct work *work, const struct method_options *options, int half,
                     struct work_heap *heap);
/* What has been allocated from it must be free, or not be needed. */
void work_destroy_heap(struct work *work);

/* How many blocks are live in the heap.  Waits. */
int work_live_blocks(struct work *work, uint64_t *blocks);

/* Records the heap from now on, if that is wanted: each work_launch is then waited for, and is a launch of
 * the trace. */
int work_begin_trace(struct work *work, const struct method_options *options);
/* Finishes the file, if there is one.  Events that were lost are told on stderr, and no error. */
int work_end_trace(struct work *work, const struct method_options *options);
/* There was nothing to do: says so if a trace was wanted.  Returns 0. */
int work_no_trace(const struct method_options *options);

/* KiB of a heap that surely has so many pages besides those of --prefill.
 *   heap  with the same options: tells the metadata, if it has pages */
uint64_t work_heap_kib(const struct work_heap *heap, const struct method_options *options, uint64_t pages);

/* A malloc returned NULL although the heap had no fewer pages than `enough`: prints that, and returns
 * TOOL_FAILED. */
int work_no_page(const struct work_heap *heap, uint64_t enough);

#endif
