/* SPDX-License-Identifier: Apache-2.0 */
/* Space in transit, announced: for a proof that a heap is full (core/sweep.h), where a malloc may hold space for a
 * moment that it then gives back, or that others can use.
 *
 *     counter   63        32 31         0
 *              |   begun    | in flight  |   flights that ever began, modulo 2^32; those under way
 *     There are QUARRY_FLIGHTS of them, each for some of the warps.
 *
 * A *flight* is a stretch of a lane's program.  All that takes space from the heap's structures lies in flights; what
 * gives space back may, and must where it took that space from the structures itself.
 *
 * A turn of a sweep has three passes.  First: for each counter wait until nobody is in flight, and read how many have
 * begun.  Second: read the heap's structures; nowhere may be space that fits.  Third: read each counter by a
 * read-modify-write that changes nothing (ADD of 0, release).  The sums of flights begun must be equal.  Then there
 * was no such space when the first pass ended.  For each flight that the first pass saw begun had ended, and its end,
 * a release that the first pass has acquired (what follows in a counter are read-modify-writes), happens-before the
 * second pass.  Any other flight is not in the sum of the third pass: it came later in its counter, so its beginning,
 * an acquire, synchronises with the third pass's ADD, it happens after the second pass, and nobody reads what is yet
 * to be written.  So from the end of the first pass to the end of the second space was only given back: what was seen
 * taken had been taken all the time, and nothing was in transit.  (2^32 flights of a counter during one turn aside.) */
#ifndef QUARRY_CORE_FLIGHTS_H
#define QUARRY_CORE_FLIGHTS_H

#include "quarry/core/sweep.h"
#include "quarry/simt/simt.h"

#ifndef QUARRY_FLIGHTS      /* tests have fewer, so that most of what a schedule decides is not about them */
#define QUARRY_FLIGHTS 256u /* counters */
#endif
#define QUARRY_FLIGHTS_BEGUN ((uint64_t)1 << 32)

/* Passes of a turn. */
enum quarry_flights_pass {
    QUARRY_FLIGHTS_LANDED,
    QUARRY_FLIGHTS_SPACE,
    QUARRY_FLIGHTS_BEGUN_SINCE,
    QUARRY_FLIGHTS_PASSES
};

/* A flight of the calling lane, or of others that it meets in a simt_sync before they take anything.  If it comes
 * after the third pass's ADD, its acquire synchronises with that. */
SIMT_FN void quarry_flights_begin(uint64_t *flights)
{
    (void)simt_add_u64(&flights[simt_thread() / SIMT_LANES % QUARRY_FLIGHTS], QUARRY_FLIGHTS_BEGUN + 1u,
                       acquire);
}

/* It is over, for the lanes that the caller has met since.  The release pairs with the first pass's load. */
SIMT_FN void quarry_flights_end(uint64_t *flights)
{
    (void)simt_sub_u64(&flights[simt_thread() / SIMT_LANES % QUARRY_FLIGHTS], 1u, release);
}

/* The caller's share of the flights begun in the counters of a sweep's part.
 *   pass   QUARRY_FLIGHTS_LANDED: waits until each was once without a flight; or QUARRY_FLIGHTS_BEGUN_SINCE
 * Scope: group, each lane its own counters. */
SIMT_FN uint64_t quarry_flights_begun(uint64_t *flights, uint32_t group, uint32_t part, uint32_t parts,
                                      uint32_t pass)
{
    struct quarry_sweep_items of = quarry_sweep_cut(QUARRY_FLIGHTS, part, parts);
    int land = pass == QUARRY_FLIGHTS_LANDED;
    uint64_t sum = 0;
    for (uint32_t i = of.first + simt_rank(group); i < of.end; i += simt_popc_u32(group)) {
        /* Full heap: the first pass waits until nobody is in flight; the third reads by an ADD of 0. */
        uint64_t seen = land ? simt_load_u64(&flights[i], acquire) : simt_add_u64(&flights[i], 0, release);
        while (land && (uint32_t)seen != 0) {
            simt_backoff();
            seen = simt_load_u64(&flights[i], acquire);
        }
        sum += seen / QUARRY_FLIGHTS_BEGUN;
    }
    return sum;
}

#endif
