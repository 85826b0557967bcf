/* SPDX-License-Identifier: Apache-2.0 */
/* Size classes of the pages that a chunk is divided into: powers of two, and the whole chunk.
 *
 *     class 0        1           ...   whole
 *     bytes least    2 * least   ...   all of the chunk
 *     pages n        n / 2       ...   1
 *
 * A size of which a chunk has only one page is no class of its own: such a page is the whole chunk.  So the last
 * power of two is at most half of a chunk.  Chunks of 8192 bytes and pages from 16 on make ten classes, as in
 * Ouroboros.  What a chunk has behind its last page is left unused.  Numbers after `whole` are those of blocks of 2
 * chunks, 3, ..., `most`. */
#ifndef QUARRY_CORE_CLASSES_H
#define QUARRY_CORE_CLASSES_H

#include "quarry/simt/simt.h"

struct quarry_classes {
    uint32_t chunk_bytes;
    uint32_t least_log; /* class 0 has pages of 2^least_log bytes */
    uint32_t whole;     /* number of the last class */
    uint32_t most;      /* chunks of the largest block: 1, or more */
};

/* The smallest class whose pages have so many bytes: 1 to chunk_bytes. */
SIMT_FN uint32_t quarry_class_of(const struct quarry_classes *c, uint64_t bytes)
{
    uint32_t more = (uint32_t)(bytes - 1u) >> c->least_log, class_ = more ? 32u - simt_clz_u32(more) : 0;
    return class_ < c->whole ? class_ : c->whole;
}

/* Bytes of a page. */
SIMT_FN uint32_t quarry_class_bytes(const struct quarry_classes *c, uint32_t class_)
{
    return class_ < c->whole ? 1u << (c->least_log + class_) : c->chunk_bytes;
}

/* Bytes of a block of a class; after `whole`: of a run of 2 chunks, 3, and so on. */
SIMT_FN uint32_t quarry_class_span(const struct quarry_classes *c, uint32_t class_)
{
    return class_ > c->whole ? (class_ - c->whole + 1u) * c->chunk_bytes : quarry_class_bytes(c, class_);
}

/* Pages of a chunk. */
SIMT_FN uint32_t quarry_class_pages(const struct quarry_classes *c, uint32_t class_)
{
    return class_ < c->whole ? c->chunk_bytes >> (c->least_log + class_) : 1u;
}

/* The page with byte `offset` of a chunk; behind the last page: a number that no page has. */
SIMT_FN uint32_t quarry_class_page(const struct quarry_classes *c, uint32_t class_, uint32_t offset)
{
    return class_ < c->whole ? offset >> (c->least_log + class_) : 0;
}

#if SIMT_HAS_HOST
/* Classes of chunks.
 *   chunk_bytes   a multiple of least
 *   least         a power of two */
SIMT_HOST_FN struct quarry_classes quarry_classes_make(uint32_t chunk_bytes, uint32_t least)
{
    struct quarry_classes c = {chunk_bytes, 0, 0, 1};
    while (1u << c.least_log < least)
        c.least_log++;
    while (chunk_bytes >> (c.least_log + c.whole) > 1)
        c.whole++;
    return c;
}

/* Pages of the smallest class in a chunk: the most that a chunk can have. */
SIMT_HOST_FN uint32_t quarry_classes_most_pages(const struct quarry_classes *c)
{
    return c->whole ? c->chunk_bytes >> c->least_log : 1u;
}
#endif

#endif
