/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that take units of a pool that grows by batches, and give them back. */
#ifndef QUARRY_TESTS_SEMAPHORE_KERNELS_H
#define QUARRY_TESTS_SEMAPHORE_KERNELS_H

#include "quarry/core/semaphore.h"
#include "quarry/simt/kernel.h"

struct semaphore_case {
    struct quarry_semaphore *semaphore;
    uint32_t *unit;    /* 1: may be taken; initial + batches * batch of them */
    uint32_t *holders; /* of each unit */
    uint32_t *made;    /* 1: batches that somebody began to make */
    uint32_t *counts;  /* SEMAPHORE_COUNTS */
    uint32_t initial;  /* units at the start */
    uint32_t batch;
    uint32_t batches; /* at most; further ones fail */
    uint32_t fails;   /* every so manieth of those fails, too; 0: none */
    uint32_t n;       /* units that a lane asks for at once */
    uint32_t rounds;
    uint32_t keep;  /* after its last round a lane keeps what it has */
    uint32_t tries; /* every so manieth round is a try, of semaphore_guards each begins with one; 0: none */
};

enum semaphore_count {
    SEMAPHORE_GOT,     /* units, in the last round */
    SEMAPHORE_REFUSED, /* in all rounds */
    SEMAPHORE_WRONG,   /* a unit with two holders, or none to be found */
    SEMAPHORE_COUNTS
};

SIMT_KERNEL_DECLARE(semaphore_start); /* one block */
SIMT_KERNEL_DECLARE(semaphore_rounds);
SIMT_KERNEL_DECLARE(semaphore_leaves); /* one thread: counts what a try took of what is reserved */
SIMT_KERNEL_DECLARE(
    semaphore_promises);               /* one thread: counts promises that are too large, and what is lost */
SIMT_KERNEL_DECLARE(semaphore_passes); /* two threads: counts balances that said too little */
SIMT_KERNEL_DECLARE(semaphore_guards); /* thread 0 asks for all units, and the others for one each */
SIMT_KERNEL_DECLARE(semaphore_tries);  /* the first thread signals n units, and all try for n */
SIMT_KERNEL_DECLARE(semaphore_lock);   /* one unit, taken by all: SEMAPHORE_GOT counts how often */
SIMT_KERNEL_DECLARE(semaphore_tries_of_sizes); /* one block: each thread tries for 1 to 3 units */
/* One thread: counts what is wrong when a batch is more than was promised. */
SIMT_KERNEL_DECLARE(semaphore_parts);

#endif
