/* SPDX-License-Identifier: Apache-2.0 */
/* CUB, the CUDA toolkit's library of parallel primitives, for C.  Only in builds with CUDA. */
#ifndef QUARRY_TOOL_CUB_H
#define QUARRY_TOOL_CUB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Exclusive prefix sum in place: each value becomes the sum of those before it.  Queued in the stream.
 *   temporary  device memory of *bytes bytes; NULL: only sets *bytes to what it needs
 *   values     device memory
 *   stream     a cudaStream_t
 * Returns NULL, or what went wrong. */
const char *cub_scan_u64(void *temporary, size_t *bytes, uint64_t *values, uint64_t count, void *stream);

/* Sorts by bits shift up to shift + bits; words with the same bits keep their order.  Queued in the stream.
 *
 *   temporary  as above
 *   words      device memory of `count` words; with temporary memory then receives where the result is
 *   other      the same for as many; then receives the other of both
 *   bits       at least 1
 *
 * Returns NULL, or what went wrong. */
const char *cub_sort_u64(void *temporary, size_t *bytes, uint64_t **words, uint64_t **other, uint64_t count,
                         uint32_t shift, uint32_t bits, void *stream);

#ifdef __cplusplus
}
#endif

#endif
