/* SPDX-License-Identifier: Apache-2.0 */
/* Launches have numbers, so that a heap in debug mode can say which of them a block comes from.
 *
 * Each device on which such a heap lives has one word.  quarry_launch writes the launch's number there before the
 * kernel, and 0 behind it, both in the order of the target's stream.  The word is the device's and not a heap's:
 * what is queued in another stream may write it at any time, also when that heap is gone. */
#ifndef QUARRY_HOST_LAUNCHES_H
#define QUARRY_HOST_LAUNCHES_H

#include "host/backend.h"

/* A heap in debug mode is made on a target, which is resolved.
 *   word  receives where its kernels find the number: until quarry_launches_leave */
enum quarry_status quarry_launches_enter(const struct quarry_target *target, const struct backend_ops *ops,
                                         const uint32_t **word);

/* It is gone, and no kernel uses it. */
void quarry_launches_leave(const struct quarry_target *target, const struct backend_ops *ops);

/* Launches, and gives the launch its number: 1 for the process's first. */
enum quarry_status quarry_launches_run(const struct backend_ops *ops, const struct simt_kernel *kernel,
                                       const struct quarry_target *target, struct quarry_grid grid,
                                       const void *argument);

/* The name of the kernel of a launch; "": it is not known.  Launches since the oldest of the heaps in debug mode
 * that are there now are known. */
const char *quarry_launches_kernel(uint32_t number);

#endif
