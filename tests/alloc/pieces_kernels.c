/* SPDX-License-Identifier: Apache-2.0 */
#include "alloc/pieces_kernels.h"
#include "alloc/stamp.h"

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
    stamp_write(own->block, own->usable, simt_thread());
}

SIMT_KERNEL(pieces_give, struct pieces_case, a)
{
    if (simt_thread() >= a.threads)
        return;
    const struct pieces_own *own = &a.own[simt_thread()];
    if (!stamp_is_there(own->block, own->usable, simt_thread()))
        simt_add_u32(a.torn, 1, relaxed);
    quarry_free(a.heap, own->block);
}
