/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of `quarry` share. */
#ifndef QUARRY_TESTS_SLABS_COMMON_H
#define QUARRY_TESTS_SLABS_COMMON_H

#include "alloc/promises.h"
#include "alloc/slabs_kernels.h"

#define SEEDS 60u
#define CHUNK 1024u /* bytes: two words of 16-byte slots */

/* Standard options; one in three seeds has a schedule of few switches. */
void choose_schedule(uint64_t seed);

/* Runs a kernel in so many blocks of a warp on the heap that has begun.  It may count nothing that is wrong. */
void launch_case(const struct simt_kernel *kernel, struct slabs_case *a, uint32_t blocks, uint64_t seed);

/* Ends all trails of the heap that has begun, and is new: its cursors get chunks from now on. */
void end_trails(void);

/* Chunks of the heap that has begun, of that state. */
uint32_t chunks_that_are(enum quarry_slabs_state kind);

/* A heap of one chunk begins, with so many blocks of 16 bytes.
 *   trails   0: its trails have ended before */
void one_chunk(uint32_t blocks, int trails);

#endif
