/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that take runs of chunks, and single ones, out of a store and give them back. */
#ifndef QUARRY_TESTS_WINDOWS_KERNELS_H
#define QUARRY_TESTS_WINDOWS_KERNELS_H

#include "quarry/core/chunk_runs.h"
#include "quarry/simt/kernel.h"

enum windows_count {
    WINDOWS_WRONG, /* chunks that two lanes had at once, or that there are not */
    WINDOWS_NULLS, /* proofs that there is none */
    WINDOWS_BEGUN, /* of windows_beside: takes */
    WINDOWS_DONE,  /* and those that are over */
    WINDOWS_COUNTS
};

/* Of windows_beside: what `holder` says; from WINDOWS_RETURNING on, who is giving it back. */
enum windows_state { WINDOWS_FREE, WINDOWS_HAD, WINDOWS_RETURNING };

struct windows_case {
    struct quarry_chunks store;
    uint32_t *holder; /* of chunk i: 0 or 1; atomic */
    uint32_t *visits; /* how often chunk i was had; no atomic */
    uint32_t *counts; /* WINDOWS_COUNTS */
    uint32_t lanes;   /* of each block that take part */
    uint32_t most;    /* chunks of a run: 2 to so many */
    uint32_t rounds;
    uint32_t singles; /* each other block takes one chunk in every so many-th round; 0: never */
    uint32_t thin;    /* only the first and the last chunk of a run have a holder: so runs move faster */
    uint32_t program; /* number of the random lengths */
};

SIMT_KERNEL_DECLARE(windows_start);
/* Each lane has at most one run, or one chunk: so a heap of as many windows as lanes is never full. */
SIMT_KERNEL_DECLARE(windows_rounds);
/* Lanes of a block together take 1 to `most` chunks each and give them back.  Counts NULLs of single chunks that are wrong
 * beyond doubt: so many chunks were free all the time, and nobody else was taking any. */
SIMT_KERNEL_DECLARE(windows_beside);

#endif
