/* SPDX-License-Identifier: Apache-2.0 */
/* A heap before it has memory: its options, and what goes where in its pool.  heap_layout.c calls
 * heap_options.c, which calls neither that nor heap.c. */
#ifndef QUARRY_HOST_HEAP_PLAN_H
#define QUARRY_HOST_HEAP_PLAN_H

#include "device/heap_kernels.h"
#include "host/pool.h"

/* ---- heap_options.c ---- */

/* What the environment says of heaps. */
struct heap_environment {
    int prints;     /* QUARRY_STATS */
    char says[256]; /* the variables that changed an option, with their values; "": none */
};

/* Fills *full from the caller's struct (NULL: all defaults), which may be an older, shorter or a newer,
 * longer one, from the environment, and with the defaults that don't depend on the device. */
enum quarry_status quarry_heap_options_read(const struct quarry_heap_options *options,
                                            struct quarry_heap_options *full,
                                            struct heap_environment *environment);

/* Checks whatever neither a layout nor a pool looks at. */
enum quarry_status quarry_heap_options_check(const struct quarry_heap_options *options, uint32_t allocator);

/* Is debug mode asked for, of blocks?  With a schema it is one of typed objects. */
static inline int quarry_heap_debugs_blocks(const struct quarry_heap_options *options)
{
    return options->debug && !options->schema;
}

/* Bytes of a block that are not the user's, if it has one piece. */
uint64_t quarry_heap_block_overhead(const struct quarry_heap_options *options);

/* ---- objects_debug.c ---- */

/* Where objects of a type have their fields, those of its bases too.  Returns how many there are.
 *   fields   NULL: only counts */
uint32_t quarry_objects_fields_of(const struct quarry_schema *schema, uint32_t number,
                                  struct quarry_objects_field *fields);

/* ---- heap_layout.c ---- */

/* Where the head has its parts, in bytes from the heap's header on. */
uint64_t quarry_heap_policy_offset(void);
uint64_t quarry_heap_debug_offset(void);
uint64_t quarry_heap_tally_offset(const struct quarry_heap_options *options);

/* Bytes of the head, from the header to the allocator's sections; room for policies that may turn out to be
 * none, too. */
uint64_t quarry_heap_head_bytes(const struct quarry_heap_options *options);

/* What the sections are aligned to.  Pages of more than 256 bytes begin at multiples of what divides their
 * size, up to 4096: then a block of that alignment needs no more than its page. */
uint64_t quarry_heap_section_align(const struct quarry_heap_options *options);

/* Lays out the pool, and so checks every option that a layout looks at.  Touches no pool memory.
 *   pool     shaped; bytes are completed; while it has no memory *layout has its sizes, but no address that
 *            counts
 *   handle   of handle->allocator; receives what the layout decides
 *   layout   base: the allocator's sections */
enum quarry_status quarry_heap_plan(struct pool *pool, const struct quarry_heap_options *options,
                                    struct quarry_handle *handle, struct quarry_layout *layout);

#endif
