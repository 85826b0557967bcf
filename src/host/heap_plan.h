/* SPDX-License-Identifier: Apache-2.0 */
/* A heap before it has memory: its options, and what goes where in its pool. */
#ifndef QUARRY_HOST_HEAP_PLAN_H
#define QUARRY_HOST_HEAP_PLAN_H

#include "device/heap_kernels.h"
#include "host/backend.h"

#define NATURAL_ALIGNMENT 16u /* of any block, and of a caller's buffer */

/* ---- heap_options.c ---- */

/* Fills *full from the caller's struct (NULL: all defaults), which may be an older, shorter or a newer,
 * longer one, and with the defaults that don't depend on the device. */
enum quarry_status quarry_heap_options_read(const struct quarry_heap_options *options,
                                            struct quarry_heap_options *full);

/* Checks whatever no layout looks at. */
enum quarry_status quarry_heap_options_check(const struct quarry_heap_options *options);

/* Fails for its word_bits. */
enum quarry_status quarry_heap_fail_word_bits(const struct quarry_heap_options *options);

/* ---- heap_layout.c ---- */

/* Bytes of a block that are not the user's, if it has one piece. */
uint64_t quarry_heap_block_overhead(const struct quarry_heap_options *options);

/* Where the head has its parts, in bytes from the heap's header on. */
uint64_t quarry_heap_policy_offset(void);
uint64_t quarry_heap_debug_offset(void);

/* Bytes of the head, from the header to the allocator's sections; room for policies that may turn out to be
 * none, too. */
uint64_t quarry_heap_head_bytes(const struct quarry_heap_options *options);

/* Lays out the pool, and so checks every option that a layout looks at.  Touches no pool memory.
 *   options  pool_bytes is completed; anything else is complete
 *   memory   of the pool; NULL: there is none yet, and *layout has its sizes, but no address that counts
 *   handle   of handle->allocator; receives what the layout decides
 *   layout   base: the allocator's sections; the head lies right before them, with POOL_MALLOC elsewhere */
enum quarry_status quarry_heap_plan(const struct backend_ops *ops, struct quarry_heap_options *options,
                                    void *memory, struct quarry_handle *handle, struct quarry_layout *layout);

#endif
