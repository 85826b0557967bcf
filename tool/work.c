/* SPDX-License-Identifier: Apache-2.0 */
/* A command's work on one target; the contracts are in work.h. */
#include "work.h"

#include "cub.h"
#include "timing.h"
#include "tool.h"
#include "workload.h"

#include <stdlib.h>
#include <string.h>

#define OVERHEAD_PER_PAGE 16u /* bytes of metadata that surely suffice where no heap tells */
#define PREFILL_BUDGET_S 60.0
#define OVERHEAD_FIXED (1u << 16)
#define MAX_THREADS (1u << 20) /* of a launch: more than any device runs at once */
#define TRACE_MOST (1u << 24)  /* events of a log, 384 MiB */

int work_check(enum quarry_status status, const char *doing)
{
    if (status == QUARRY_OK)
        return 0;
    const char *detail = quarry_error_detail();
    return tool_error(TOOL_FAILED, "%s: %s", doing, detail[0] ? detail : quarry_status_string(status));
}

int work_open(struct work *work, const struct quarry_target *target, void **memory, unsigned buffers)
{
    memset(work, 0, sizeof *work);
    work->target = *target;
    work->memory = memory;
    work->buffers = buffers;
    if (work_check(quarry_event_create(target, &work->begin), "timing") ||
        work_check(quarry_event_create(target, &work->end), "timing"))
        return TOOL_FAILED;
    return 0;
}

void work_close(struct work *work)
{
    work_destroy_heap(work);
    for (unsigned i = 0; i < work->buffers; i++)
        work_destroy(work, &work->memory[i]);
    work_destroy(work, &work->temporary);
    quarry_event_destroy(work->begin);
    quarry_event_destroy(work->end);
    memset(work, 0, sizeof *work);
}

/* ---- memory ---- */

int work_create(struct work *work, uint64_t bytes, void **memory, const char *what)
{
    return work_check(quarry_memory_create(&work->target, QUARRY_POOL_DEVICE, bytes, memory), what);
}

void work_destroy(struct work *work, void **memory)
{
    if (*memory)
        quarry_memory_destroy(&work->target, QUARRY_POOL_DEVICE, *memory);
    *memory = NULL;
}

int work_copy(struct work *work, void *to, const void *from, uint64_t bytes)
{
    if (bytes == 0)
        return 0;
    return work_check(quarry_memory_copy(&work->target, to, from, bytes), "copying");
}

int work_zero(struct work *work, void *memory, uint64_t bytes)
{
    if (bytes == 0)
        return 0;
    return work_check(quarry_memory_fill(&work->target, memory, 0, bytes), "clearing memory");
}

/* Key bytes are read eight at a time, and the piece after the last one too: both are made to exist. */
int work_upload_keys(struct work *work, const struct rows *rows, void **bytes, void **offsets)
{
    static const char what[] = "memory for the keys";
    uint64_t key_bytes = rows->count ? rows->offsets[rows->count] : 0;
    uint64_t padded = (key_bytes / 8 + 2) * 8;
    uint64_t offset_bytes = (rows->count + 1) * sizeof *rows->offsets;
    if (work_create(work, padded, bytes, what) || work_create(work, offset_bytes, offsets, what) ||
        work_zero(work, (unsigned char *)*bytes + padded - 16, 16) ||
        work_copy(work, *bytes, rows->keys, key_bytes) ||
        work_copy(work, *offsets, rows->offsets, offset_bytes))
        return TOOL_FAILED;
    return 0;
}

/* ---- kernels ---- */

int work_begin(struct work *work)
{
    return work_check(quarry_event_record(work->begin), "timing");
}

int work_launch(struct work *work, const struct simt_kernel *kernel, struct quarry_grid grid,
                const void *argument)
{
    if (work_check(quarry_launch(kernel, &work->target, grid, argument), kernel->name))
        return TOOL_FAILED;
    return work->trace ? work_check(quarry_trace_drain(work->trace), "recording") : 0;
}

int work_launch_over(struct work *work, const struct simt_kernel *kernel, uint64_t threads,
                     const void *argument)
{
    return work_launch(work, kernel, quarry_grid_for(threads < MAX_THREADS ? threads : MAX_THREADS),
                       argument);
}

int work_end(struct work *work, const char *doing, double *microseconds)
{
    double taken = 0;
    if (work_check(quarry_event_record(work->end), "timing") ||
        work_check(quarry_event_elapsed(work->begin, work->end, &taken), doing))
        return TOOL_FAILED;
    *microseconds += taken;
    return 0;
}

int work_repeat(double *us, unsigned times, unsigned runs, int (*once)(void *engine, unsigned run),
                void *engine)
{
    double *samples = (double *)calloc((size_t)times * runs, sizeof *samples);
    int code = 0;
    if (!samples)
        return tool_error(TOOL_FAILED, "not enough memory for the times");
    for (unsigned run = 0; run < runs && code == 0; run++) {
        memset(us, 0, times * sizeof *us);
        code = once(engine, run);
        for (unsigned i = 0; i < times; i++)
            samples[i * runs + run] = us[i];
    }
    for (unsigned i = 0; i < times; i++)
        us[i] = statistics_summarise(samples + i * runs, runs).median;
    free(samples);
    return code;
}

/* ---- prefix sum ---- */

#ifdef QUARRY_WITH_CUDA
/* Makes work->temporary at least as large. */
static int reserve(struct work *work, uint64_t bytes)
{
    if (bytes <= work->temporary_bytes)
        return 0;
    if (work_check(quarry_target_wait(&work->target), "waiting"))
        return TOOL_FAILED;
    work_destroy(work, &work->temporary);
    work->temporary_bytes = 0;
    if (work_create(work, bytes, &work->temporary, "memory for sums and sorts"))
        return TOOL_FAILED;
    work->temporary_bytes = bytes;
    return 0;
}

static int scan_by_cub(struct work *work, uint64_t *values, uint64_t count)
{
    size_t bytes = 0;
    const char *problem = cub_scan_u64(NULL, &bytes, values, count, work->target.stream);
    if (!problem) {
        if (reserve(work, bytes))
            return TOOL_FAILED;
        problem = cub_scan_u64(work->temporary, &bytes, values, count, work->target.stream);
    }
    return problem ? tool_error(TOOL_FAILED, "prefix sum: %s", problem) : 0;
}

static int sort_by_cub(struct work *work, uint64_t **words, uint64_t **other, uint64_t count, uint32_t shift,
                       uint32_t bits)
{
    size_t bytes = 0;
    const char *problem = cub_sort_u64(NULL, &bytes, words, other, count, shift, bits, work->target.stream);
    if (!problem) {
        if (reserve(work, bytes))
            return TOOL_FAILED;
        problem =
            cub_sort_u64(work->temporary, &bytes, words, other, count, shift, bits, work->target.stream);
    }
    return problem ? tool_error(TOOL_FAILED, "sort: %s", problem) : 0;
}
#endif

int work_scan(struct work *work, uint64_t *values, uint64_t count)
{
#ifdef QUARRY_WITH_CUDA
    if (work->target.backend == QUARRY_BACKEND_CUDA)
        return scan_by_cub(work, values, count);
#endif
    (void)work;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = values[i];
        values[i] = sum;
        sum += value;
    }
    return 0;
}

/* One pass of a radix sort on the host, by at most 8 bits: histogram, prefix sum, reordering. */
static void sort_pass(const uint64_t *from, uint64_t *to, uint64_t count, uint32_t shift, uint32_t bits)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t starts[257] = {0};
    for (uint64_t i = 0; i < count; i++)
        starts[(from[i] >> shift & mask) + 1]++;
    for (uint64_t digit = 0; digit < mask; digit++)
        starts[digit + 1] += starts[digit];
    for (uint64_t i = 0; i < count; i++)
        to[starts[from[i] >> shift & mask]++] = from[i];
}

int work_sort(struct work *work, uint64_t **words, uint64_t **other, uint64_t count, uint32_t shift,
              uint32_t bits)
{
    if (bits == 0 || count == 0)
        return 0;
#ifdef QUARRY_WITH_CUDA
    if (work->target.backend == QUARRY_BACKEND_CUDA)
        return sort_by_cub(work, words, other, count, shift, bits);
#endif
    (void)work;
    for (uint32_t done = 0; done < bits; done += 8) {
        uint64_t *from = *words;
        sort_pass(from, *other, count, shift + done, bits - done < 8 ? bits - done : 8);
        *words = *other;
        *other = from;
    }
    return 0;
}

/* ---- heaps ---- */

static void show_prefill(double share)
{
    tool_progress("filling the heap", share);
}

static int prefill(struct work *work, const struct method_options *options, struct work_heap *heap)
{
    int gave_up = 0;
    if (options->prefill == 0)
        return 0;
    if (work_check(workload_fill(&work->target, work->heap, options->page_bytes, 1 - options->prefill / 100.0,
                                 PREFILL_BUDGET_S, show_prefill, &gave_up),
                   "filling the heap"))
        return TOOL_FAILED;
    tool_progress_end();
    if (gave_up)
        return tool_error(TOOL_FAILED,
                          "allocator %s took too long to fill the heap for --prefill; use a smaller --heap",
                          heap->allocator);
    return work_live_blocks(work, &heap->prefilled);
}

/* Makes the heap of a method's pages.  Pages of the allocator's own are as large, unless those that it has by default
 * hold several. */
static enum quarry_status create_heap(struct work *work, const struct quarry_heap_options *wanted,
                                      struct quarry_heap_description *made)
{
    struct quarry_allocator_info info;
    struct quarry_heap_options options = *wanted;
    enum quarry_status status = QUARRY_OK;
    uint64_t slots = 0;
    if (wanted->allocator && options_find_allocator(wanted->allocator, &info) >= 0 && info.counts_slots &&
        !info.whole_pages) {
        options.page_bytes = 0;
        status = quarry_heap_create(&work->heap, &options);
        if (status == QUARRY_OK)
            status = quarry_heap_describe(work->heap, made);
        if (status == QUARRY_OK && made->page_bytes > wanted->page_bytes)
            status = quarry_heap_slots(work->heap, wanted->page_bytes, &slots);
        if (status != QUARRY_OK || slots >= 2 * made->pages)
            return status;
        status = quarry_heap_destroy(work->heap);
        work->heap = NULL;
    }
    if (status == QUARRY_OK)
        status = quarry_heap_create(&work->heap, wanted);
    return status == QUARRY_OK ? quarry_heap_describe(work->heap, made) : status;
}

int work_create_heap(struct work *work, const struct method_options *options, int half,
                     struct work_heap *heap)
{
    struct quarry_heap_options wanted = QUARRY_HEAP_OPTIONS_INIT;
    struct quarry_heap_description made = {0};
    struct quarry_device_info info;
    if (work_check(quarry_device_describe(&work->target, &info), "describing the device"))
        return TOOL_FAILED;
    wanted.target = work->target;
    options_use_heap(options, &wanted);
    if (half && !wanted.pool_bytes)
        wanted.pool_bytes = info.heap_bytes / 2;
    memset(heap, 0, sizeof *heap);
    heap->bytes = wanted.pool_bytes;
    heap->page_bytes = wanted.page_bytes;
    const double began = timing_now();
    enum quarry_status status = create_heap(work, &wanted, &made);
    if (status == QUARRY_ERROR_POOL && wanted.pool_bytes)
        return 0;
    if (work_check(status, "creating the heap"))
        return tool_heap_code(status);
    if (work_check(quarry_target_wait(&work->target), "creating the heap"))
        return TOOL_FAILED;
    heap->us = 1e6 * (timing_now() - began);
    heap->allocator = made.allocator;
    heap->bytes = made.pool_bytes;
    heap->pages = made.pages;
    if (made.page_bytes < 2 * wanted.page_bytes)
        heap->page_bytes = made.page_bytes;
    else if (work_check(quarry_heap_slots(work->heap, wanted.page_bytes, &heap->pages),
                        "looking at the heap"))
        return TOOL_FAILED;
    if (made.max_block_bytes < options->page_bytes)
        return tool_error(TOOL_FAILED,
                          "allocator %s has no blocks of %llu bytes; use a --page of at most %llu",
                          made.allocator, (unsigned long long)options->page_bytes,
                          (unsigned long long)made.max_block_bytes);
    return prefill(work, options, heap);
}

void work_destroy_heap(struct work *work)
{
    quarry_trace_cancel(work->trace);
    quarry_heap_destroy(work->heap);
    work->trace = NULL;
    work->heap = NULL;
}

int work_live_blocks(struct work *work, uint64_t *blocks)
{
    struct quarry_statistics statistics;
    if (work_check(quarry_heap_statistics(work->heap, &statistics), "looking at the heap"))
        return TOOL_FAILED;
    *blocks = statistics.live_blocks;
    return 0;
}

uint64_t work_heap_kib(const struct work_heap *heap, const struct method_options *options, uint64_t pages)
{
    const uint64_t per_page =
        heap->pages ? heap->bytes / heap->pages + 1 : heap->page_bytes + OVERHEAD_PER_PAGE;
    /* Which pages are taken beforehand is random, and how many only nearly so. */
    if (options->prefill)
        pages = (pages + pages / 8 + 1000) * 100 / (100 - options->prefill);
    return (pages * per_page + OVERHEAD_FIXED) / 1024 + 1;
}

int work_no_page(const struct work_heap *heap, uint64_t enough)
{
    return tool_error(TOOL_FAILED,
                      "allocator %s gave no page although its heap has %llu and no more than %llu can be "
                      "needed; use another --allocator",
                      heap->allocator, (unsigned long long)heap->pages, (unsigned long long)enough);
}

/* ---- traces ---- */

/* In one launch each page is allocated once and freed once, at most. */
int work_begin_trace(struct work *work, const struct method_options *options)
{
    struct quarry_heap_description about;
    if (!options->trace)
        return 0;
    if (work_check(quarry_heap_describe(work->heap, &about), "looking at the heap"))
        return TOOL_FAILED;
    uint64_t pages = about.pages;
    if (about.page_bytes > options->page_bytes &&
        work_check(quarry_heap_slots(work->heap, options->page_bytes, &pages), "looking at the heap"))
        return TOOL_FAILED;
    pages = pages < TRACE_MOST / 2 ? pages : TRACE_MOST / 2;
    const uint64_t room = tool_environment("QUARRY_TRACE_ROOM", TRACE_MOST, 2 * pages);
    return work_check(quarry_trace_begin(&work->trace, work->heap, options->trace, room), "recording");
}

int work_end_trace(struct work *work, const struct method_options *options)
{
    struct quarry_trace_header header;
    quarry_trace *trace = work->trace;
    if (!trace)
        return 0;
    work->trace = NULL;
    if (work_check(quarry_trace_end(trace, &header), "recording"))
        return TOOL_FAILED;
    if (header.lost)
        tool_error(TOOL_OK, "%s: %llu events were lost: one launch had more than the log has room for",
                   options->trace, (unsigned long long)header.lost);
    return 0;
}

int work_no_trace(const struct method_options *options)
{
    if (options->trace)
        tool_error(TOOL_OK, "%s is not written: without rows there is nothing to record", options->trace);
    return 0;
}
