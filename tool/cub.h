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

#ifdef __cplusplus
}
#endif

#endif
