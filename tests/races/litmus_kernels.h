/* SPDX-License-Identifier: Apache-2.0 */
/* Small programs for the memory model: each thread of the launch runs a list of steps. */
#ifndef QUARRY_TESTS_LITMUS_KERNELS_H
#define QUARRY_TESTS_LITMUS_KERNELS_H

#include "quarry/simt/kernel.h"
#include "quarry/simt/simt.h"

#define LITMUS_THREADS 4u
#define LITMUS_STEPS 8u /* of a thread, and an end */

enum litmus_kind {
    LITMUS_END,
    LITMUS_LOAD, /* its value is part of the outcome; so are those that read-modify-writes read */
    LITMUS_STORE,
    LITMUS_ADD,
    LITMUS_EXCHANGE,
    LITMUS_TAKE,  /* exchanges until it reads 0, which is no part of the outcome: a lock */
    LITMUS_AWAIT, /* loads until it reads another value than 0, likewise */
    LITMUS_FENCE,
    LITMUS_SYNC,
    LITMUS_BALLOT,
    LITMUS_BARRIER,
    LITMUS_PLAIN_LOAD,
    LITMUS_PLAIN_STORE
};
enum litmus_order {
    LITMUS_RELAXED,
    LITMUS_ACQUIRE,
    LITMUS_RELEASE,
    LITMUS_ACQ_REL,
    LITMUS_FENCED,
    LITMUS_SEQ_CST
};

struct litmus_step {
    uint8_t kind, order, cell, part; /* part: 0 and 1 a half, 2 the cell, 4 .. 7 a byte of half 0 */
    uint32_t value;                  /* of a cell: in both halves */
};

struct litmus {
    uint64_t *cell;   /* 3, zeroed */
    uint64_t *result; /* LITMUS_THREADS * LITMUS_STEPS */
    struct litmus_step step[LITMUS_THREADS][LITMUS_STEPS + 1];
};

SIMT_KERNEL_DECLARE(litmus_run);

#endif
