/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of `quarry bench`, and what they take. */
#ifndef QUARRY_BENCH_KERNELS_H
#define QUARRY_BENCH_KERNELS_H

#include "each_allocator.h"

/* What bench_check found wrong and the counting kernels counted.  Zeroed by the host before. */
struct bench_tally {
    uint64_t nulls;
    uint64_t misaligned; /* blocks, not counted again as broken */
    uint64_t broken;     /* blocks whose pattern someone else wrote over */
    uint64_t steps;      /* probes of all threads */
    uint64_t warp_steps; /* sum over warps of the most that one of its threads made */
    uint64_t warps;      /* that took part */
    uint64_t cycles[2];  /* clock cycles in malloc, and in free, of all threads */
    uint64_t filled[2];  /* bench_fill, bench_keep: blocks, and the bytes that they were asked for */
    uint64_t low;        /* bench_range: lowest address of a block, inverted */
    uint64_t high;       /* highest end of one */
};

/* bench_spin: one thread runs for `ticks` of simt_clock(), so that what the host queues after it is
 * there before it ends. */
struct bench_spin {
    uint64_t ticks;
};

/* All others: thread i < threads whose lane is below `lanes` works on pointers[i]. */
struct bench_cell {
    struct quarry_handle heap;
    void **pointers;
    uint64_t bytes;     /* of a block */
    uint64_t least;     /* not 0: a block has from so many to that many bytes */
    uint32_t octaves;   /* not 0: of these, every power of two as often, below 2^32; else uniform */
    uint32_t threads;   /* that take part; the grid may have more */
    uint32_t lanes;     /* of each warp: the others of the threads do nothing */
    uint32_t alignment; /* bench_check: a power of two */
    uint32_t rounds;    /* bench_churn, bench_exchange: mallocs of a thread; bench_thin_half: which one */
    uint64_t drawn;     /* sizes of a range are other ones for each such number */
    uint32_t step;      /* bench_shuffle: prime to threads */
    void **others;      /* as many as pointers[] */
    char *packed;       /* bench_pack...: memory in which blocks lie one behind the other */
    uint64_t *counter;  /* bench_bump */
    struct bench_tally *tally; /* bench_check, bench_fill, bench_range, bench_keep, bench_count_... */
};

/* bench_hold and bench_thin work on held[first .. last), whatever the grid. */
struct bench_hold {
    struct quarry_handle heap;
    void **held;
    uint64_t bytes;
    uint64_t first;
    uint64_t last;
    uint32_t free_share; /* bench_thin: of 2^32 */
};

/* Spreads the bits of a number: multiply, then fold the well-mixed upper half onto the lower. */
SIMT_FN uint64_t bench_mix(uint64_t x)
{
    x = (x + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 32)) * 0x9e3779b97f4a7c15u;
    return x ^ (x >> 29);
}

/* Over 2^k, up to 2^(k + 1), for a k that is as often each. */
SIMT_FN uint64_t bench_size_of_octave(const struct bench_cell *a, uint64_t hash)
{
    uint32_t first = 31 - simt_clz_u32((uint32_t)a->least);
    uint32_t last = a->bytes > a->least ? 31 - simt_clz_u32((uint32_t)a->bytes - 1) : first;
    uint32_t k = first + simt_mulhi_u32((uint32_t)(hash >> 32), last - first + 1);
    uint64_t bytes = ((uint64_t)1 << k) + (hash & (((uint64_t)1 << k) - 1)) + 1;
    return bytes < a->least ? a->least : bytes > a->bytes ? a->bytes : bytes;
}

/* Bytes of block i: uniform by 24 bits of a hash, or by octaves.  a->bytes is at most 2^40. */
SIMT_FN uint64_t bench_size(const struct bench_cell *a, uint64_t i)
{
    if (!a->least)
        return a->bytes;
    if (a->octaves)
        return bench_size_of_octave(a, bench_mix(~i + a->drawn));
    return a->least + ((bench_mix(~i + a->drawn) >> 40) * (a->bytes - a->least + 1) >> 24);
}

/* Writes a pattern of its own over every byte of block i: 8-byte words, word w being key(i) + w, and the
 * bytes left over.  Two overlapping blocks differ in the key wherever they meet, whatever their distance. */
SIMT_FN void bench_put_pattern(void *block, uint64_t i, uint64_t bytes)
{
    uint64_t *words = (uint64_t *)block;
    uint64_t key = bench_mix(i), count = bytes / 8;
    for (uint64_t w = 0; w < count; w++)
        words[w] = key + w;
    unsigned char *rest = (unsigned char *)(words + count);
    for (uint32_t b = 0; b < bytes % 8; b++)
        rest[b] = (unsigned char)(key >> (56 - 8 * b));
}

/* Is block i's pattern as bench_put_pattern left it? */
SIMT_FN int bench_has_pattern(const void *block, uint64_t i, uint64_t bytes)
{
    const uint64_t *words = (const uint64_t *)block;
    uint64_t key = bench_mix(i), count = bytes / 8;
    int broken = 0;
    for (uint64_t w = 0; w < count; w++)
        broken |= words[w] != key + w;
    const unsigned char *rest = (const unsigned char *)(words + count);
    for (uint32_t b = 0; b < bytes % 8; b++)
        broken |= rest[b] != (unsigned char)(key >> (56 - 8 * b));
    return !broken;
}

/* Blocks of one thread as a chain, each with a pointer to the one before, a word that tells whether that is
 * as it was, and behind these a pattern.  Those under BENCH_LINK bytes are left out. */
#define BENCH_LINK 16u

SIMT_FN int bench_put_link(void *block, uint64_t i, uint64_t bytes, const void *before)
{
    uint64_t *words = (uint64_t *)block;
    if (bytes < BENCH_LINK)
        return 0;
    words[0] = (uint64_t)(uintptr_t)before;
    words[1] = words[0] ^ bench_mix(i);
    bench_put_pattern(words + 2, i, bytes - BENCH_LINK);
    return 1;
}

/* Whether block i is as bench_put_link left it; *before receives the one before. */
SIMT_FN int bench_has_link(const void *block, uint64_t i, uint64_t bytes, const void **before)
{
    const uint64_t *words = (const uint64_t *)block;
    *before = (const void *)(uintptr_t)words[0];
    return words[1] == (words[0] ^ bench_mix(i)) && bench_has_pattern(words + 2, i, bytes - BENCH_LINK);
}

SIMT_FN int bench_works(const struct bench_cell *a)
{
    return simt_thread() < a->threads && simt_lane() < a->lanes;
}

#if SIMT_HAS_HOST
SIMT_KERNEL_DECLARE(bench_spin);
SIMT_KERNEL_DECLARE(bench_empty);      /* floor: nothing */
SIMT_KERNEL_DECLARE(bench_store);      /* floor: stores a pointer */
SIMT_KERNEL_DECLARE(bench_bump);       /* floor: one atomic add a warp on one counter */
SIMT_KERNEL_DECLARE(bench_write);      /* bench_put_pattern for pointers[i] */
SIMT_KERNEL_DECLARE(bench_check);      /* reads it back */
SIMT_KERNEL_DECLARE(bench_check_fill); /* the same for the chains that bench_fill leaves */
SIMT_KERNEL_DECLARE(bench_shuffle);    /* others[] = pointers[], in another order */
SIMT_KERNEL_DECLARE(bench_range); /* where the blocks of pointers[] begin and end, and how many are NULL */
SIMT_KERNEL_DECLARE(bench_keep);  /* pointers[i], unless it is NULL, joins the chain others[i] */
SIMT_KERNEL_DECLARE(bench_check_kept); /* reads the chains back; how many blocks they have */
SIMT_KERNEL_DECLARE(bench_pack); /* others[i] = a place for block i, one behind the other, all as large */
SIMT_KERNEL_DECLARE(bench_pack_size); /* others[i] = bytes of block i, to a multiple of 16 */
SIMT_KERNEL_DECLARE(
    bench_pack_write); /* others[i], bytes before block i, becomes its place, and is written */

/* For any heap: state_kernels.c */
SIMT_KERNEL_DECLARE(bench_fill); /* until each thread got NULL: pointers[i] = chain of others[i] blocks */
SIMT_KERNEL_DECLARE(bench_hold); /* allocates those of held[] that are NULL */
SIMT_KERNEL_DECLARE(bench_thin); /* frees free_share / 2^32 of held[], chosen by a hash of the index */
SIMT_KERNEL_DECLARE(bench_thin_half); /* frees half of pointers[], by a hash of index and round: NULL then */
SIMT_KERNEL_DECLARE(bench_renew);     /* allocates those of pointers[] that are NULL */

/* Each allocator's: heap_kernels.c */
struct bench_heap_kernels {
    const struct simt_kernel *malloc;  /* timed: pointers[i] = a new block */
    const struct simt_kernel *free;    /* timed: frees pointers[i] */
    const struct simt_kernel *at_once; /* timed: pointers[i] = a new block, freed again */
};

/* Each allocator's: survey_kernels.c */
struct bench_survey_kernels {
    const struct simt_kernel *churn; /* mallocs, keeps a few blocks, frees the oldest */
    const struct simt_kernel
        *exchange; /* puts new blocks into pointers[], at any place, and frees what lay there */
    const struct simt_kernel *produce; /* pointers[i] = a new block, written */
};

/* Each allocator's: count_kernels.c */
struct bench_count_kernels {
    const struct simt_kernel *malloc; /* as bench_heap_kernels.malloc, and counts */
    const struct simt_kernel *free;
};

#define QUARRY_ALLOCATOR_ENTRY(id, ...)                                                                      \
    extern const struct bench_heap_kernels EACH_OF(bench_heap_kernels, id);                                  \
    extern const struct bench_survey_kernels EACH_OF(bench_survey_kernels, id);                              \
    extern const struct bench_count_kernels EACH_COUNTED_OF(bench_count_kernels, id);
#include "quarry/alloc/list.def"
extern const struct bench_heap_kernels EACH_ANY(bench_heap_kernels);
extern const struct bench_survey_kernels EACH_ANY(bench_survey_kernels);
extern const struct bench_count_kernels EACH_ANY(bench_count_kernels);

struct bench_kernels {
    const struct bench_heap_kernels *heap;
    const struct bench_survey_kernels *survey;
    const struct bench_count_kernels *count;
};

/* Those for a heap: of its allocator, or of all.  Times of the one kind and the other are not to be compared. */
const struct bench_kernels *bench_kernels_of(const struct quarry_handle *heap);
/* Whether they are for one allocator. */
int bench_is_direct(const struct bench_kernels *kernels);
#endif

#endif
