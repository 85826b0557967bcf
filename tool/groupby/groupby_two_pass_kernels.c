/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the two-pass group-by.  Compiled for the CPU and for CUDA; groupby_two_pass_kernels.h has
 * the method.
 *
 * Lanes of a warp whose rows go to one child add to its count, or draw its places, with one atomic, as those
 * of the paged group-by draw tickets. */
#include "groupby/groupby_two_pass_kernels.h"

#include "groupby/groupby_device.h"

SIMT_FN uint32_t row_at(const struct two_pass_job *job, uint64_t i)
{
    return job->from ? job->from[i] : (uint32_t)i;
}

SIMT_FN uint64_t child_of(const struct two_pass_job *job, uint32_t row)
{
    uint32_t digit = job->integers[row] >> job->shift & ((1u << GROUPBY_PASS_BITS) - 1u);
    return ((uint64_t)job->bucket_of_row[row] << GROUPBY_PASS_BITS) + digit;
}

/* Adds the caller's row to its child.  All lanes of mask call.  Returns the child's entry before, plus what
 * lower lanes of mask added. */
SIMT_FN uint64_t draw_place(const struct two_pass_job *job, uint32_t mask, uint64_t child)
{
    uint32_t peers = simt_match_u64(mask, child);
    uint64_t place = 0;
    if (simt_rank(peers) == 0)
        place = simt_add_u64(&job->places[child], simt_popc_u32(peers), relaxed);
    return simt_shuffle_u64(peers, place, simt_ctz_u32(peers)) + simt_rank(peers);
}

SIMT_KERNEL(two_pass_count, struct two_pass_job, a)
{
    uint32_t lane = simt_lane();
    for (uint64_t i = simt_thread() - lane; i < a.rows; i += simt_threads())
        if (i + lane < a.rows)
            draw_place(&a, first_lanes(a.rows - i), child_of(&a, row_at(&a, i + lane)));
}

SIMT_KERNEL(two_pass_number, struct two_pass_job, a)
{
    for (uint64_t child = simt_thread(); child <= a.children; child += simt_threads())
        a.numbers[child] = child < a.children && a.places[child] != 0;
}

SIMT_KERNEL(two_pass_write, struct two_pass_job, a)
{
    uint32_t lane = simt_lane();
    for (uint64_t i = simt_thread() - lane; i < a.rows; i += simt_threads()) {
        if (i + lane >= a.rows)
            continue;
        uint32_t row = row_at(&a, i + lane);
        uint64_t child = child_of(&a, row);
        a.to[draw_place(&a, first_lanes(a.rows - i), child)] = row;
        a.bucket_of_row[row] = (uint32_t)a.numbers[child];
    }
}

SIMT_KERNEL(two_pass_groups, struct two_pass_job, a)
{
    for (uint64_t child = simt_thread(); child < a.children; child += simt_threads()) {
        uint64_t group = a.numbers[child];
        if (a.numbers[child + 1] == group)
            continue;
        uint64_t begin = child ? a.places[child - 1] : 0;
        a.group_rows[group] = a.to[begin];
        a.group_counts[group] = (uint32_t)(a.places[child] - begin);
    }
}
