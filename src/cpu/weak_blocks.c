/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of memory that quarry_memory_create gave out, heaps' pools above all: bytes that a malloc gave and nobody
 * has written yet, and bytes that were freed.  Both outlive a launch.
 *
 * The library itself may do as it likes in a pool: an allocator keeps its own records where freed blocks lay, and
 * the C library's functions copy what was never written.  So what stands in its headers is never reported. */
#include "cpu/weak_run.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_PLACES 256u

enum { FIRST = 1, LAST = 2 }; /* words of a block */

/* Of each 8 bytes: a bit for each that is so, and whether a block begins or ends there. */
struct word {
    uint8_t unwritten, freed, ends;
};

struct weak_region {
    struct weak_region *next;
    uintptr_t base;
    uint64_t bytes;
    struct word *words; /* NULL: no malloc gave any of it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct weak_region *regions;
static uint32_t in_use; /* atomic: regions with words */

void simt_weak_region(const void *memory, uint64_t bytes)
{
    struct weak_region *made = calloc(1, sizeof *made);
    if (!made)
        return; /* then nothing is found there */
    made->base = (uintptr_t)memory;
    made->bytes = bytes;
    pthread_mutex_lock(&lock);
    made->next = regions;
    regions = made;
    pthread_mutex_unlock(&lock);
}

void simt_weak_region_end(const void *memory)
{
    pthread_mutex_lock(&lock);
    struct weak_region **link = &regions;
    while (*link && (*link)->base != (uintptr_t)memory)
        link = &(*link)->next;
    struct weak_region *gone = *link;
    if (gone) {
        *link = gone->next;
        __atomic_fetch_sub(&in_use, gone->words != NULL, __ATOMIC_RELAXED);
        free(gone->words);
        free(gone);
    }
    pthread_mutex_unlock(&lock);
}

static struct weak_region *region_of(uintptr_t address)
{
    pthread_mutex_lock(&lock);
    struct weak_region *region = regions;
    while (region && address - region->base >= region->bytes)
        region = region->next;
    pthread_mutex_unlock(&lock);
    return region;
}

/* Bits of the word `at` that lie in first .. end - 1, offsets in the region. */
static uint8_t bits_of(uint64_t at, uint64_t first, uint64_t end)
{
    uint32_t from = first > 8 * at ? (uint32_t)(first - 8 * at) : 0;
    uint32_t to = end < 8 * at + 8 ? (uint32_t)(end - 8 * at) : 8;
    return (uint8_t)((0xffu << from) & (0xffu >> (8 - to)));
}

static void note_malloc(struct weak_region *region, uint64_t first, uint64_t bytes)
{
    uint64_t end = first + bytes < region->bytes ? first + bytes : region->bytes;
    if (!region->words) {
        region->words = calloc(region->bytes / 8 + 1, sizeof *region->words);
        if (!region->words)
            return;
        __atomic_fetch_add(&in_use, 1, __ATOMIC_RELAXED);
    }
    for (uint64_t at = first / 8; 8 * at < end; at++) {
        struct word *word = &region->words[at];
        word->unwritten |= bits_of(at, first, end);
        word->freed = 0;
        word->ends = (at == first / 8 ? FIRST : 0) | (8 * at + 8 >= end ? LAST : 0);
    }
}

/* The block may be larger than was asked for.  Of what lay there before nothing is left. */
static void note_usable(struct weak_region *region, uint64_t first, uint64_t bytes)
{
    uint64_t end = first + bytes < region->bytes ? first + bytes : region->bytes, at = first / 8;
    if (!region->words)
        return;
    while (8 * at < end && !(region->words[at].ends & LAST))
        at++;
    if (8 * at + 8 >= end)
        return; /* it is known already */
    region->words[at].ends &= (uint8_t)~LAST;
    for (at++; 8 * at < end; at++)
        region->words[at] = (struct word){bits_of(at, first, end), 0, 8 * at + 8 >= end ? LAST : 0};
}

/* From whatever address in the block that quarry_aligned_alloc may have returned. */
static void note_free(struct weak_region *region, uint64_t inside)
{
    uint64_t at = inside / 8;
    if (!region->words)
        return;
    while (at > 0 && !(region->words[at].ends & FIRST))
        at--;
    if (!(region->words[at].ends & FIRST))
        return;
    for (;; at++) {
        struct word *word = &region->words[at];
        int last = word->ends & LAST;
        word->freed = 0xff;
        word->unwritten = 0;
        if (last || 8 * at + 8 >= region->bytes)
            return;
    }
}

void simt_cpu_note_block(const void *block, uint64_t bytes)
{
    struct weak_region *region = block && weak_self() ? region_of((uintptr_t)block) : NULL;
    if (!region)
        return;
    if (bytes)
        note_malloc(region, (uintptr_t)block - region->base, bytes);
    else
        note_free(region, (uintptr_t)block - region->base);
}

void simt_cpu_note_usable(const void *block, uint64_t bytes)
{
    struct weak_region *region = bytes && weak_self() ? region_of((uintptr_t)block) : NULL;
    if (region)
        note_usable(region, (uintptr_t)block - region->base, bytes);
}

/* Does the call stand in the library itself?  Few places ask, and they ask often. */
static int is_own(uintptr_t place)
{
    static __thread struct {
        uintptr_t place;
        int own;
    } known[KNOWN_PLACES];
    uint32_t at = (uint32_t)((place * 0x9e3779b97f4a7c15u) >> 32) % KNOWN_PLACES;
    if (known[at].place != place) {
        char text[384];
        weak_place_text(place, text, sizeof text);
        known[at].place = place;
        known[at].own = strstr(text, "include/quarry/") || strstr(text, "src/device/");
    }
    return known[at].own;
}

void simt_cpu_note_plain(const void *memory, uint64_t bytes)
{
    struct weak_region *region = bytes && weak_self() ? region_of((uintptr_t)memory) : NULL;
    if (!region || !region->words)
        return;
    const uint64_t first = (uintptr_t)memory - region->base;
    for (uint64_t at = first / 8; 8 * at < first + bytes && 8 * at < region->bytes; at++)
        region->words[at] = (struct word){0, 0, 0};
}

const char *weak_block_fault(uintptr_t address, uint64_t bytes, enum weak_kind kind, uintptr_t place)
{
    if (__atomic_load_n(&in_use, __ATOMIC_RELAXED) == 0)
        return NULL;
    struct weak_region *region = region_of(address);
    if (!region || !region->words)
        return NULL;
    uint64_t first = address - region->base, end = first + bytes;
    uint8_t unwritten = 0, freed = 0;
    for (uint64_t at = first / 8; 8 * at < end && 8 * at < region->bytes; at++) {
        struct word *word = &region->words[at];
        uint8_t bits = bits_of(at, first, end);
        unwritten |= word->unwritten & bits;
        freed |= word->freed & bits;
        if (kind == WEAK_WRITE)
            word->unwritten &= (uint8_t)~bits;
    }
    if (place == 0) /* the host does it */
        return NULL;
    if (freed && !is_own(place))
        return "a block that was freed";
    if (unwritten && kind == WEAK_READ && !is_own(place))
        return "bytes of a block that nobody has written since its malloc";
    return NULL;
}

void simt_weak_written(const void *memory, uint64_t bytes)
{
    (void)weak_block_fault((uintptr_t)memory, bytes, WEAK_WRITE, 0);
}
