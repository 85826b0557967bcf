/* SPDX-License-Identifier: Apache-2.0 */
/* Dividing a pool, and counting what is in it: what an allocator and the host's side tell each other. */
#ifndef QUARRY_CORE_LAYOUT_H
#define QUARRY_CORE_LAYOUT_H

#include "quarry/core/options.h"
#include "quarry/core/pages.h"
#include "quarry/core/random.h"
#include "quarry/simt/simt.h"

enum quarry_layout_result {
    QUARRY_LAYOUT_OK,
    QUARRY_LAYOUT_PAGE_BYTES, /* page size outside 16 .. 1 MiB or no multiple of 16 */
    QUARRY_LAYOUT_PAGES,      /* more pages than the allocator can number */
    QUARRY_LAYOUT_OPTION,     /* option number wrong_option has a value that it can't have */
    QUARRY_LAYOUT_LOW_FREE,   /* a share so low that to infer it takes more than QUARRY_MAX_PROBES probes */
    QUARRY_LAYOUT_ALIGNMENT,  /* blocks would not begin at multiples of the alignment */
    QUARRY_LAYOUT_POOL        /* the pool can't hold that many pages, or not even one */
};

/* A part of a pool with a name, for those who look at its map. */
struct quarry_section {
    const char *name; /* a literal */
    uint64_t begin;   /* bytes after the layout's base */
    uint64_t bytes;
};
#define QUARRY_MAX_SECTIONS 14u

struct quarry_layout {
    /* in */
    unsigned char *base;      /* of the pool, aligned to `page_align` */
    uint64_t page_align;      /* of `places`: a power of two, at least QUARRY_SECTION_ALIGN and `alignment` */
    uint64_t bytes;           /* of the pool.  UINT64_MAX, if pages is given: say only how much they need */
    uint64_t overhead;        /* bytes of each block that are not the user's, mostly 0 */
    int debug;                /* debug mode writes into blocks that are free */
    int watched;              /* find is asked while others malloc and free: debug mode, statistics */
    uint32_t multiprocessors; /* of the device; CPU: cores.  simt_sm() modulo this numbers them */

    /* A power of two.  `places` and `unit` must be multiples of it, if the allocator can.  If it is more than
     * 16, requests are multiples of it, too.  0: 16. */
    uint64_t alignment;

    /* in, and out with the defaults filled in */
    uint64_t page_bytes;                 /* with `overhead`; 0: the allocator's default */
    uint64_t pages;                      /* 0: as many as fit */
    uint64_t option[QUARRY_MAX_OPTIONS]; /* of the family's table (options.h) */
    /* in */
    uint32_t types;  /* of a schema (quarry/schema.h), for a family with QUARRY_HAS_TYPES; 0: there is none */
    uint32_t schema; /* its code */
    uint32_t fields; /* of all its types, inherited ones too, if debug mode is to fill them; else 0 */
    double low_free; /* 0: prove that the heap is full; else infer that less than this share is free */
    /* out */
    uint32_t wrong_option;     /* QUARRY_LAYOUT_OPTION: its number */
    uint64_t most_pages;       /* QUARRY_LAYOUT_PAGES: how many it takes */
    const char *wrong_because; /* QUARRY_LAYOUT_OPTION: half a sentence that says what it must be */
    struct quarry_section section[QUARRY_MAX_SECTIONS]; /* what lies where, by quarry_layout_section() */
    uint32_t section_count;
    uint64_t used_bytes; /* what the heap occupies from base */
    uint64_t max_block;  /* largest request in bytes */

    /* Each block starts at places + k * unit for some k.  Its length is a multiple of unit.  It ends before
     * base + used_bytes.  A unit has room for `overhead` and 16 bytes more.  unit 0: there are no blocks. */
    unsigned char *places;
    uint64_t unit;

    /* A free knows a block by any address that is less than so many bytes behind its first.  0: by its first
     * address only; then no block is aligned to more than all are. */
    uint64_t free_reach;
};

/* Who walks over a heap to count. */
struct quarry_census_share {
    uint32_t group;   /* lanes that call together, and have consecutive numbers */
    uint32_t idle;    /* nobody else uses the heap: faults are to be found, too */
    uint64_t thread;  /* number of the calling lane */
    uint64_t threads; /* of so many, a multiple of the group's lanes */
};

/* What the walk counts. */
struct quarry_census {
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t free_bytes;
    uint64_t largest_free; /* bytes; combined by maximum, the others by sum */
    uint64_t slots;
    uint64_t faults; /* structures that contradict themselves */

    /* Something that two structures tell, such as which blocks are free: one adds it here, times a key
     * (quarry_census_key), and the other subtracts it.  Modulo 2^64 the sum is 0 if they agree. */
    uint64_t odds;
};

/* The key of number `what`, any number: it is odd, and no other number has the same. */
SIMT_FN uint64_t quarry_census_key(uint32_t what)
{
    return ((uint64_t)quarry_mix_u32(2u * what + 1u) << 32 | quarry_mix_u32(2u * what + 2u)) | 1u;
}

#define QUARRY_SLOTS_UNKNOWN (~(uint64_t)0) /* slots, as one lane's share: nobody can count them */

/* Adds what a part of a heap of fixed pages counts: `live` and `spare` pages; slots are for `bytes`. */
SIMT_FN void quarry_census_pages(struct quarry_census *sum, uint64_t bytes, uint64_t live, uint64_t spare,
                                 uint64_t page_bytes)
{
    sum->live_blocks += live;
    sum->live_bytes += live * page_bytes;
    sum->free_bytes += spare * page_bytes;
    if (spare)
        sum->largest_free = page_bytes;
    if (bytes <= page_bytes)
        sum->slots += spare;
}

#define QUARRY_MAX_PROBES (1u << 24)
#define QUARRY_MIN_PAGE_BYTES 16u
#define QUARRY_DEFAULT_PAGE_BYTES 256u
#define QUARRY_MAX_PAGE_BYTES (1u << 20)
#define QUARRY_MAX_PAGES 0xffffffc0u /* page numbers are 32 bits, and a round-up to a word must not wrap */
#define QUARRY_SECTION_ALIGN 256u    /* of the sections of a pool */
#define QUARRY_PAGE_ALIGN 4096u      /* of the pages, at most, unless the heap has a larger alignment */

#if SIMT_HAS_HOST
SIMT_HOST_FN uint64_t quarry_round_up(uint64_t x, uint64_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

/* Do blocks begin at multiples of l->alignment? */
SIMT_HOST_FN int quarry_layout_is_aligned(const struct quarry_layout *l)
{
    return l->unit != 0 && l->unit % l->alignment == 0 && (uintptr_t)l->places % l->alignment == 0;
}

/* Fills in the page size of a layout that leaves it to the allocator, and checks it. */
SIMT_HOST_FN enum quarry_layout_result quarry_layout_page_bytes(struct quarry_layout *l, uint64_t standard)
{
    if (!l->page_bytes)
        l->page_bytes = (l->alignment ? quarry_round_up(standard, l->alignment) : standard) + l->overhead;
    if (l->page_bytes < QUARRY_MIN_PAGE_BYTES || l->page_bytes > QUARRY_MAX_PAGE_BYTES ||
        l->page_bytes % QUARRY_MIN_PAGE_BYTES)
        return QUARRY_LAYOUT_PAGE_BYTES;
    return QUARRY_LAYOUT_OK;
}

/* Number of parts of a sweep, of at most `wish`, and at most `most`, items; both at least 1. */
SIMT_HOST_FN uint32_t quarry_layout_parts(uint64_t items, uint64_t wish, uint64_t most)
{
    uint64_t each = wish < most ? wish : most;
    return each == 0 ? 1 : (uint32_t)((items + each - 1) / each);
}

/* The layout fails for one of l->option.
 *   because   half a sentence: what it must be */
SIMT_HOST_FN enum quarry_layout_result quarry_layout_refuse(struct quarry_layout *l, const uint64_t *option,
                                                            const char *because)
{
    l->wrong_option = (uint32_t)(option - l->option);
    l->wrong_because = because;
    return QUARRY_LAYOUT_OPTION;
}

/* How many pages, seen at random and none free, let infer that less than L = low_free (0 .. 1) of them are:
 * S_L = 5.411 (1 - L) / L, says Pham et al., section 3.2.3.  Were L or more free, the number found among S_L
 * pages would be normally distributed about S_L L, and 0 of them have a probability of 1 %.  (Exactly it is
 * e^-5.4 = 0.45 %: the normal law errs on the safe side.) */
SIMT_HOST_FN double quarry_layout_full_pages(double low_free)
{
    return 5.411 * (1 - low_free) / low_free;
}

/* Decides how many probes in vain a malloc makes before it looks into the matter, or gives up.
 *   probes       of l->option: 0: not given; else as the user wishes
 *   pages_each   pages that a probe looks at
 *   standard     the default when fullness is to be proven
 *   items        of the map that is probed.  If they are few, and the user has no wish, probes are fewer: a
 *                sweep is soon cheaper
 * Sets *probes.  What counts is pages, so S_L is divided by the pages that a probe sees, and rounded up.  A probe
 * of a word of w bits sees w pages.  A probe of a warp sees as many words as lanes probe. */
SIMT_HOST_FN enum quarry_layout_result quarry_layout_probes(struct quarry_layout *l, uint64_t *probes,
                                                            uint32_t pages_each, uint32_t standard,
                                                            uint32_t items)
{
    if (l->low_free > 0 && *probes)
        return quarry_layout_refuse(l, probes, "with QUARRY_FULL_INFERRED it follows from low_free");
    if (l->low_free > 0) {
        double wanted = quarry_layout_full_pages(l->low_free) / pages_each;
        if (!(wanted < QUARRY_MAX_PROBES))
            return QUARRY_LAYOUT_LOW_FREE;
        *probes = (uint32_t)wanted + 1;
    } else if (!*probes) {
        *probes = items < standard / 4 ? 4 * items : standard;
    }
    return QUARRY_LAYOUT_OK;
}

/* ---- sections ----
 *
 * A family has one function that names its sections, in their order, and sets its addresses:
 *
 *     void quarry_F_sections(void *heap, struct quarry_layout *l)
 *
 * It is called many times to measure, each time with another l->pages, and then once to place.  The sizes that it
 * asks for depend on l->pages and on options, and never on an address.  More pages never make a size smaller. */
typedef void (*quarry_layout_sections)(void *heap, struct quarry_layout *l);

/* Appends a section to the pool's map.
 *   name    a literal
 *   align   a power of two, up to what l->base is aligned to
 * Returns where it begins.  A section of 0 bytes is not in the map.  l->used_bytes becomes UINT64_MAX if no pool can
 * hold the section, or if there are QUARRY_MAX_SECTIONS already. */
SIMT_HOST_FN void *quarry_layout_section(struct quarry_layout *l, const char *name, uint64_t bytes,
                                         uint64_t align)
{
    uint64_t begin = quarry_round_up(l->used_bytes, align);
    if (bytes == 0)
        return l->base;
    if (begin < l->used_bytes || bytes >= UINT64_MAX - begin || l->section_count == QUARRY_MAX_SECTIONS) {
        l->used_bytes = UINT64_MAX;
        return l->base;
    }
    l->section[l->section_count].name = name;
    l->section[l->section_count].begin = begin;
    l->section[l->section_count].bytes = bytes;
    l->section_count++;
    l->used_bytes = begin + bytes;
    return (void *)((uintptr_t)l->base + begin);
}

/* The section of l->pages pages of l->page_bytes, which begins as l->page_align says.  Sets l->places. */
SIMT_HOST_FN struct quarry_pages quarry_layout_pages(struct quarry_layout *l)
{
    l->places = (unsigned char *)quarry_layout_section(l, "pages", l->pages * l->page_bytes, l->page_align);
    return quarry_pages_make(l->places, l->page_bytes, (uint32_t)l->pages);
}

/* Places the sections for so many pages.  Returns whether the pool can hold them. */
SIMT_HOST_FN int quarry_layout_place(struct quarry_layout *l, quarry_layout_sections sections, void *heap,
                                     uint64_t pages)
{
    l->pages = pages;
    l->used_bytes = 0;
    l->section_count = 0;
    sections(heap, l);
    return l->used_bytes != UINT64_MAX && l->used_bytes <= l->bytes;
}

/* Divides a pool into a family's sections, with l->pages pages or as many as fit.
 *   sections, heap   of the family; *heap is filled by its last call
 *   most             pages that the family can number; at most QUARRY_MAX_PAGES
 * Fills l->page_bytes, l->pages, l->section, l->used_bytes, and, for families whose blocks are pages,
 * l->max_block, l->unit, l->free_reach: a free finds the page by quarry_page_index(). */
SIMT_HOST_FN enum quarry_layout_result
quarry_layout_fit_most(struct quarry_layout *l, quarry_layout_sections sections, void *heap, uint64_t most)
{
    uint64_t low = l->pages ? l->pages : 1, high = l->pages ? l->pages : most;
    enum quarry_layout_result result = quarry_layout_page_bytes(l, QUARRY_DEFAULT_PAGE_BYTES);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    l->most_pages = most;
    if (l->pages > most)
        return QUARRY_LAYOUT_PAGES;
    while (low < high) { /* the largest number that fits, by bisection */
        uint64_t middle = low + (high - low + 1) / 2;
        if (quarry_layout_place(l, sections, heap, middle))
            low = middle;
        else
            high = middle - 1;
    }
    if (!quarry_layout_place(l, sections, heap, low))
        return QUARRY_LAYOUT_POOL;
    l->max_block = l->page_bytes;
    l->unit = l->page_bytes;
    l->free_reach = l->page_bytes;
    return QUARRY_LAYOUT_OK;
}

/* The same for a family that can number QUARRY_MAX_PAGES pages. */
SIMT_HOST_FN enum quarry_layout_result quarry_layout_fit(struct quarry_layout *l,
                                                         quarry_layout_sections sections, void *heap)
{
    return quarry_layout_fit_most(l, sections, heap, QUARRY_MAX_PAGES);
}

/* For families whose blocks are smaller than a page: quarry_layout_page_bytes, and what blocks begin at multiples of.
 *   debug_unit   at least so many bytes in debug mode
 *   unit         set to it, in bytes: a multiple of l->alignment */
SIMT_HOST_FN enum quarry_layout_result quarry_layout_unit(struct quarry_layout *l, uint64_t standard,
                                                          uint32_t debug_unit, uint32_t *unit)
{
    enum quarry_layout_result result = quarry_layout_page_bytes(l, standard);
    *unit = l->alignment > QUARRY_PAGE_UNIT ? (uint32_t)l->alignment : QUARRY_PAGE_UNIT;
    if (result == QUARRY_LAYOUT_OK && l->page_bytes % *unit != 0)
        result = QUARRY_LAYOUT_ALIGNMENT;
    if (l->debug && *unit < debug_unit)
        *unit = debug_unit;
    return result;
}

/* quarry_layout_fit_most for them: a page is as many units as the page size needs, and the largest block. */
SIMT_HOST_FN enum quarry_layout_result quarry_layout_fit_units(struct quarry_layout *l,
                                                               quarry_layout_sections sections, void *heap,
                                                               uint64_t most, uint32_t unit)
{
    uint64_t page_bytes = l->page_bytes;
    l->page_bytes = quarry_round_up(page_bytes, unit);
    enum quarry_layout_result result = quarry_layout_fit_most(l, sections, heap, most);
    if (result != QUARRY_LAYOUT_OK)
        return result;
    l->unit = unit;
    l->page_bytes = page_bytes;
    return QUARRY_LAYOUT_OK;
}
#endif

#endif
