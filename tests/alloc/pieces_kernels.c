/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/pieces_kernels.h"

SIMT_FN unsigned char pieces_byte(uint64_t i)
{
    return (unsigned char)(quarry_mix_u32(simt_thread() + 1) + i);
}

SIMT_KERNEL(pieces_take, struct pieces_case, a)
{
    struct quarry_random r;
    r.step = simt_thread() * 2 + 1;
    r.state = quarry_mix_u32(a.program ^ simt_thread());
    if (simt_thread() >= a.threads)
        return;
    struct pieces_own *own = &a.own[simt_thread()];
    own->bytes = a.program % 2 ? 1 + quarry_random_below(&r, a.most) : a.most;
    own->block = (unsigned char *)quarry_malloc(a.heap, own->bytes);
    own->usable = quarry_usable_size(a.heap, own->block);
}

SIMT_KERNEL(pieces_use, struct pieces_case, a)
{
    if (simt_thread() >= a.threads)
        return;
    const struct pieces_own *own = &a.own[simt_thread()];
    if (quarry_realloc(a.heap, own->block, own->usable) != own->block)
        simt_add_u32(a.moved, 1, relaxed);
    for (uint64_t i = 0; i < own->usable; i++)
        own->block[i] = pieces_byte(i);
}

SIMT_KERNEL(pieces_give, struct pieces_case, a)
{
    uint32_t torn = 0;
    if (simt_thread() >= a.threads)
        return;
    const struct pieces_own *own = &a.own[simt_thread()];
    for (uint64_t i = 0; i < own->usable; i++)
        torn += own->block[i] != pieces_byte(i);
    if (torn)
        simt_add_u32(a.torn, torn, relaxed);
    quarry_free(a.heap, own->block);
}
