/* SPDX-License-Identifier: Apache-2.0 */
#define QUARRY_TAGS 1
#include "tag_kernels.h"

/* Known by line: TAG_FIRST_LINE is that of the first call. */
SIMT_KERNEL(tag_places, struct tag_case, a)
{
    struct quarry_context context = quarry_context_start();
    unsigned char *block = (unsigned char *)SIMT_NULL;
    const uint32_t i = simt_thread();
    if (i >= TAG_CALLS)
        return;
    block = i != TAG_REALLOC ? block : (unsigned char *)quarry_malloc_with(a.heap, &context, 1);
    block = i != TAG_MALLOC ? block : (unsigned char *)quarry_malloc(a.heap, a.bytes);
    block = i != TAG_MALLOC_WITH ? block : (unsigned char *)quarry_malloc_with(a.heap, &context, a.bytes);
    block = i != TAG_CALLOC ? block : (unsigned char *)quarry_calloc(a.heap, a.bytes, 1);
    block = i != TAG_ALIGNED ? block : (unsigned char *)quarry_aligned_alloc(a.heap, 16, a.bytes);
    block = i != TAG_REALLOC ? block : (unsigned char *)quarry_realloc(a.heap, block, a.bytes);
    a.block[i] = block;
}

SIMT_FN unsigned char *tag_malloc(const struct tag_case *a, const char *tag)
{
    return (unsigned char *)quarry_tag(a->heap, (quarry_malloc)(a->heap, a->bytes), tag);
}

SIMT_KERNEL(tag_given, struct tag_case, a)
{
    unsigned char *block = (unsigned char *)SIMT_NULL;
    switch (simt_thread()) {
    case TAG_WORD:
        block = tag_malloc(&a, "queue");
        break;
    case TAG_LONG: /* 70 characters */
        block = tag_malloc(&a, "0123456789012345678901234567890123456789012345678901234567890123456789");
        break;
    case TAG_HERE:
        block = tag_malloc(&a, QUARRY_HERE); /* on line TAG_HERE_LINE */
        break;
    case TAG_CHANGED:
        block = tag_malloc(&a, "first");
        quarry_tag(a.heap, block, "second");
        break;
    case TAG_NONE:
        block = tag_malloc(&a, "some");
        quarry_tag(a.heap, block, (const char *)SIMT_NULL);
        break;
    default:
        quarry_tag(a.heap, SIMT_NULL, "of no block");
        return;
    }
    a.block[simt_thread()] = block;
}
