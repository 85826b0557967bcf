/* SPDX-License-Identifier: Apache-2.0 */
/* Small structures, each sound and with one bug planted: what the race finder must find. */
#ifndef QUARRY_TESTS_RACE_KERNELS_H
#define QUARRY_TESTS_RACE_KERNELS_H

#include "quarry/simt/kernel.h"
#include "quarry/simt/simt.h"

#define RACE_WORDS 64u
#define RACE_STACK_PAGES 12u /* of race_stack, with at most 4 threads */

struct race_case {
    uint32_t *words; /* RACE_WORDS, zeroed: the structure */
    uint32_t *owner; /* RACE_WORDS, zeroed: who holds a page, as its holder says */
    uint64_t *head;  /* 1, zeroed: of race_stack */
    uint32_t *wrong; /* 1, zeroed: broken promises */
    uint32_t *data;  /* 1, plain: of race_handover */
    uint32_t broken; /* 0: sound */
};

/* One block of at most 32 threads each. */
SIMT_KERNEL_DECLARE(race_count);
SIMT_KERNEL_DECLARE(race_bitmap);
SIMT_KERNEL_DECLARE(race_tickets);
SIMT_KERNEL_DECLARE(race_early_mask);
SIMT_KERNEL_DECLARE(race_locks);
SIMT_KERNEL_DECLARE(race_flags);
SIMT_KERNEL_DECLARE(race_stack);
SIMT_KERNEL_DECLARE(race_page_look);
SIMT_KERNEL_DECLARE(race_page_reset);
SIMT_KERNEL_DECLARE(race_page_last);

enum race_order { RACE_SOUND, RACE_NO_RELEASE, RACE_NO_ACQUIRE };
/* Two threads; broken is an enum race_order. */
SIMT_KERNEL_DECLARE(race_handover);

#endif
