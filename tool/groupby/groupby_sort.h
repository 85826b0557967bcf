/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the rows of a page by hash where they lie, all lanes of a warp together.  For groupby_kernels.c. */
#ifndef QUARRY_TOOL_GROUPBY_SORT_H
#define QUARRY_TOOL_GROUPBY_SORT_H

#include "groupby/groupby_kernels.h"

#define SORT_FEW (2 * SIMT_LANES) /* rows that sort_few can sort: two a lane */

/* Whether row a comes before row b: by hash, then by number. */
SIMT_FN int before(const struct groupby_job *job, uint32_t a, uint32_t b)
{
    uint64_t hash_a = job->hashes[a];
    uint64_t hash_b = job->hashes[b];
    return hash_a < hash_b || (hash_a == hash_b && a < b);
}

/* Sorts at most SORT_FEW rows: each lane counts what comes before its two rows, and that is their place.
 * More comparisons than a network, but all lanes read the same row at a time and meet only twice. */
SIMT_FN void sort_few(const struct groupby_job *job, uint32_t *rows, uint32_t count)
{
    uint32_t i = simt_lane();
    uint32_t low = i < count ? rows[i] : 0;
    uint32_t high = i + SIMT_LANES < count ? rows[i + SIMT_LANES] : low;
    uint32_t low_place = 0;
    uint32_t high_place = 0;
    for (uint32_t j = 0; j < count; j++) {
        uint32_t other = rows[j];
        low_place += (uint32_t)before(job, other, low);
        high_place += (uint32_t)before(job, other, high);
    }
    simt_sync(SIMT_ALL_LANES);
    if (i < count)
        rows[low_place] = low;
    if (i + SIMT_LANES < count)
        rows[high_place] = high;
    simt_sync(SIMT_ALL_LANES);
}

/* Sorts any number of rows: a bitonic network in the form in which every comparison puts the smaller row
 * lower, so that a count which is no power of two only means leaving out the comparisons that reach past
 * the end. */
SIMT_FN void sort_many(const struct groupby_job *job, uint32_t *rows, uint32_t count)
{
    for (uint32_t stage = 1; count > 1u << (stage - 1); stage++) {
        for (uint32_t step = stage; step > 0; step--) {
            uint32_t half = 1u << (step - 1);
            uint32_t pairs = (count + 2 * half - 1) / (2 * half) * half;
            for (uint32_t pair = simt_lane(); pair < pairs; pair += SIMT_LANES) {
                uint32_t offset = pair & (half - 1);
                uint32_t low = (pair - offset) * 2 + offset;
                uint32_t high = step == stage ? low - 2 * offset + 2 * half - 1 : low + half;
                if (high < count && before(job, rows[high], rows[low])) {
                    uint32_t row = rows[low];
                    rows[low] = rows[high];
                    rows[high] = row;
                }
            }
            simt_sync(SIMT_ALL_LANES);
        }
    }
}

/* All lanes of the warp call, with the same arguments.  What they did to the rows before is ordered by
 * the caller; afterwards every lane sees the sorted rows. */
SIMT_FN void sort_rows(const struct groupby_job *job, uint32_t *rows, uint32_t count)
{
    if (count <= SORT_FEW)
        sort_few(job, rows, count);
    else
        sort_many(job, rows, count);
}

#endif
