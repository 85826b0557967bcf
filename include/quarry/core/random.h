/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers for probing: cheap, per lane, no shared state.
 *
 * A Weyl sequence through a 32-bit mixer.  Each lane has its own increment, so that two lanes that ever
 * land on one state part again: with a common increment they would probe the same pages for ever. */
#ifndef QUARRY_CORE_RANDOM_H
#define QUARRY_CORE_RANDOM_H

#include "quarry/simt/simt.h"

struct quarry_random {
    uint32_t state;
    uint32_t step; /* odd */
};

/* A bijection of 32 bits in which every input bit reaches every output bit. */
SIMT_FN uint32_t quarry_mix_u32(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}

/* Starts the calling lane's sequence.  The clock makes it a new one in each call. */
SIMT_FN struct quarry_random quarry_random_start(void)
{
    struct quarry_random r;
    r.step = simt_thread() * 2u + 1u;
    r.state = quarry_mix_u32(simt_thread() ^ (uint32_t)simt_clock() * 0x9e3779b9u);
    return r;
}

/* The next number of the lane's sequence, uniform in 0 .. 2^32 - 1. */
SIMT_FN uint32_t quarry_random_next(struct quarry_random *r)
{
    r->state += r->step;
    return quarry_mix_u32(r->state);
}

/* Uniform in 0 .. n-1; 0 if n is 0.  The bias of the multiplication is below n / 2^32. */
SIMT_FN uint32_t quarry_random_below(struct quarry_random *r, uint32_t n)
{
    return simt_mulhi_u32(quarry_random_next(r), n);
}

#endif
