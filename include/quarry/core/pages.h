/* SPDX-License-Identifier: Apache-2.0 */
/* Memory divided into pages of one size: number <-> address. */
#ifndef QUARRY_CORE_PAGES_H
#define QUARRY_CORE_PAGES_H

#include "quarry/simt/simt.h"

/* What a free asserts of its block, in builds with assertions.  The condition is no sentence for users. */
#define QUARRY_ASSERT_LIVE(condition) simt_assert((condition) && "a block that is freed is live")

#define QUARRY_PAGE_UNIT 16u /* page sizes are multiples of it */
#define QUARRY_NO_PAGE 0xffffffffu

struct quarry_pages {
    unsigned char *base;
    uint64_t page_bytes;
    uint64_t reciprocal; /* ceil(2^63 / (page_bytes / QUARRY_PAGE_UNIT)) */
    uint32_t count;      /* below QUARRY_NO_PAGE */
};

SIMT_FN void *quarry_page_address(const struct quarry_pages *p, uint32_t page)
{
    return p->base + (uint64_t)page * p->page_bytes;
}

/* Number of the page that holds any address, or QUARRY_NO_PAGE.
 *
 * Divides by multiplication.  With u = offset / 16, d = page_bytes / 16, m = ceil(2^63 / d) and
 * e = m d - 2^63 < d:  u m / 2^63 = u / d + u e / (2^63 d).  The floor is right as long as the second term
 * stays below 1/d, that is u e < 2^63; e < d <= 2^16, so it does in every pool below 2^51 bytes.  Beyond it
 * may be more, but never less; below the first page the offset is nearly 2^64, and u / d at least 2^43. */
SIMT_FN uint32_t quarry_page_index(const struct quarry_pages *p, const void *address)
{
    uint64_t units = ((uint64_t)(uintptr_t)address - (uint64_t)(uintptr_t)p->base) / QUARRY_PAGE_UNIT;
    uint64_t page = simt_mulhi_u64(units << 1, p->reciprocal);
    return page < p->count ? (uint32_t)page : QUARRY_NO_PAGE;
}

/* Pages that `bytes` bytes need, at least 1 of them. */
SIMT_FN uint32_t quarry_page_count(const struct quarry_pages *p, uint64_t bytes)
{
    return (uint32_t)simt_mulhi_u64((bytes - 1u) / QUARRY_PAGE_UNIT << 1, p->reciprocal) + 1u;
}

/* The order of a block of a power of two of pages that holds so many bytes, at least 1 of them: it has 2^order. */
SIMT_FN uint32_t quarry_page_order(const struct quarry_pages *p, uint64_t bytes)
{
    uint32_t pages = quarry_page_count(p, bytes);
    return pages == 1 ? 0 : 32u - simt_clz_u32(pages - 1u);
}

/* ---- what an address belongs to ---- */

enum quarry_place {
    QUARRY_PLACE_FOREIGN, /* to no block */
    QUARRY_PLACE_FREE,
    QUARRY_PLACE_LIVE
};

/* A block, live or free. */
struct quarry_span {
    unsigned char *begin;
    uint64_t bytes;
};

/* The same, and the page in *span; with QUARRY_NO_PAGE *span is untouched. */
SIMT_FN uint32_t quarry_page_find(const struct quarry_pages *p, const void *address, struct quarry_span *span)
{
    uint32_t page = quarry_page_index(p, address);
    if (page == QUARRY_NO_PAGE)
        return page;
    span->begin = (unsigned char *)quarry_page_address(p, page);
    span->bytes = p->page_bytes;
    return page;
}

#if SIMT_HAS_HOST
SIMT_HOST_FN struct quarry_pages quarry_pages_make(unsigned char *base, uint64_t page_bytes, uint32_t count)
{
    struct quarry_pages p;
    uint64_t divisor = page_bytes / QUARRY_PAGE_UNIT;
    p.base = base;
    p.page_bytes = page_bytes;
    p.reciprocal = (((uint64_t)1 << 63) + divisor - 1) / divisor;
    p.count = count;
    return p;
}
#endif

#endif
