/* SPDX-License-Identifier: Apache-2.0 */
/* Random draws, the same for kernels and for the sequential programs beside them. */
#ifndef DRAW_H
#define DRAW_H

#include "quarry/device.h"

/* 32 bits, for each seed, number of a thing, and turn. */
SIMT_FN uint32_t draw(uint32_t seed, uint32_t number, uint32_t turn)
{
    uint32_t x = number * 2654435761u + seed * 40503u + turn * 2246822507u;
    x = (x ^ x >> 16) * 2246822519u;
    x = (x ^ x >> 13) * 3266489917u;
    return x ^ x >> 16;
}

#endif
