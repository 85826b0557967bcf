/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a pool: memory on a target, for an owner who lays it out and runs kernels on it.
 *
 *     | lead | head | sections ...                     POOL_MALLOC: | lead | sections ...   and   | head |
 *
 *     lead       as many bytes as it takes for the sections to be aligned
 *     head       what the owner and its kernels share, of a size that the owner says; it ends where the
 *                sections begin.  The host must reach it, so in a POOL_MALLOC it has memory of its own
 *     sections   whatever the owner lays out there
 *
 * A pool knows nothing of what its owner keeps in it.  Its life: open, shape, default_bytes unless the size
 * is known, take, give.  Where the sections begin is known before there is memory, but for the address
 * itself: so an owner can lay out a pool, and find out whether it is large enough, before it takes any. */
#ifndef QUARRY_HOST_POOL_H
#define QUARRY_HOST_POOL_H

#include "host/backend.h"

#define NATURAL_ALIGNMENT 16u /* of any block, and of a caller's buffer */

struct pool {
    const struct backend_ops *ops;
    struct quarry_target target;
    enum quarry_pool kind;
    uint64_t bytes; /* of it, lead and head included; 0: not known yet */
    uint64_t head_bytes;
    uint64_t align;          /* of the sections */
    void *memory;            /* as the backend or the caller gave it; NULL: there is none yet */
    void *head_apart;        /* POOL_MALLOC: the head; else NULL */
    void *record;            /* in memory of the host's, which outlives a kernel that traps; NULL: none */
    struct quarry_grid grid; /* of kernels that walk over all of it */
};

/* Opens a pool on a target, which is resolved.  The rest of *pool is 0. */
enum quarry_status quarry_pool_open(struct pool *pool, const struct quarry_target *target);

/* Checks what kind of pool it is to be, and what belongs to one kind only.
 *   buffer       the caller's, of POOL_BUFFER; else NULL
 *   bytes        0: not known yet, but for a buffer
 *   head_bytes   a multiple of QUARRY_SECTION_ALIGN
 *   align        of the sections: a power of two, at least QUARRY_SECTION_ALIGN */
enum quarry_status quarry_pool_shape(struct pool *pool, enum quarry_pool kind, void *buffer, uint64_t bytes,
                                     uint64_t head_bytes, uint64_t align);

/* Makes the pool as large as the device suggests. */
enum quarry_status quarry_pool_default_bytes(struct pool *pool);

/* How large a pool must be whose sections have so many bytes, wherever its memory will lie. */
uint64_t quarry_pool_need(const struct pool *pool, uint64_t section_bytes);

/* Bytes that the sections have. */
uint64_t quarry_pool_room(const struct pool *pool);

/* Bytes of the pool in front of them; the most that there can be while there is no memory. */
uint64_t quarry_pool_before_sections(const struct pool *pool);

/* Where they begin.  While there is no memory: an address aligned like it, and not NULL, on which addresses
 * may not be computed. */
unsigned char *quarry_pool_sections(const struct pool *pool);

/* Where the head begins, of a pool that has memory. */
unsigned char *quarry_pool_head(const struct pool *pool);

/* Takes the pool's memory.
 *   bytes          of it: pool->bytes, or fewer
 *   record_bytes   0: no record
 * After a failure quarry_pool_fail gives back what it has taken. */
enum quarry_status quarry_pool_take(struct pool *pool, uint64_t bytes, uint64_t record_bytes);

/* Gives back what the pool has taken.  Of a pool that has taken nothing: does nothing. */
enum quarry_status quarry_pool_give(const struct pool *pool);

/* The same because of a failure: returns `status`, and its detail stays. */
enum quarry_status quarry_pool_fail(const struct pool *pool, enum quarry_status status);

/* In the order of the target's stream: a kernel in the pool's grid, a copy, zeros.  COMBINATION if there is no
 * memory, here and below. */
enum quarry_status quarry_pool_launch(const struct pool *pool, const struct simt_kernel *kernel,
                                      const void *argument);
enum quarry_status quarry_pool_copy(const struct pool *pool, void *to, const void *from, uint64_t bytes);
enum quarry_status quarry_pool_clear(const struct pool *pool, void *memory, uint64_t bytes);

/* Waits for all of them. */
enum quarry_status quarry_pool_wait(const struct pool *pool);

#endif
