/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that drive the building blocks of quarry/core. */
#ifndef QUARRY_TESTS_CORE_KERNELS_H
#define QUARRY_TESTS_CORE_KERNELS_H

#include "quarry/alloc/runs.h"
#include "quarry/alloc/walk/bitmap.h"
#include "quarry/core/bits.h"
#include "quarry/core/pages.h"
#include "quarry/core/random.h"
#include "quarry/core/share.h"
#include "quarry/core/sweep.h"
#include "quarry/simt/kernel.h"

struct core_case {
    uint32_t *in;
    uint32_t *out;
    uint64_t *wide;
    struct quarry_sweep *sweep;
    struct quarry_pages pages;
    struct quarry_bitmap map; /* the words alone */
    uint32_t n;
    uint32_t turns;
};

#define CORE_DIVIDENDS (1u << 21)
#define CORE_BUCKETS 64u
#define CORE_PARTS 7u
#define CORE_SIZES 3u
#define CORE_PATIENCE 100u

SIMT_KERNEL_DECLARE(core_kth_set); /* out[t*33 + k] for word in[t], by either way, or ~0 */
SIMT_KERNEL_DECLARE(core_divide);  /* out[t]: wrong quotients by t + 1, t + 1 + n, ... */
SIMT_KERNEL_DECLARE(core_modulo);  /* out[t]: wrong remainders of in[] by in[t], whose inverse is wide[t] */
SIMT_KERNEL_DECLARE(core_mix);     /* out[t]: what quarry_mix_u32 mixes badly near in[t] */
SIMT_KERNEL_DECLARE(core_share);   /* one warp for each pair (has, needs) of in[] */
SIMT_KERNEL_DECLARE(core_page_index); /* out[t]: errors at the edges of page in[t] */
SIMT_KERNEL_DECLARE(core_is_worth);   /* out[t]: is word t of the map; + 2: is it at a malloc's first probe */
SIMT_KERNEL_DECLARE(core_random);     /* histogram of n draws a thread in out[0..63] */
SIMT_KERNEL_DECLARE(core_start);      /* out[w]: word at which warp w begins in a bitmap of n words */
SIMT_KERNEL_DECLARE(core_sweep);      /* out[0]: verdicts that missed what came before them; out[2]: reads */
SIMT_KERNEL_DECLARE(core_thief);      /* out[0]: parts that a leader has swept; out[1]: the page it got */

#endif
