/* SPDX-License-Identifier: Apache-2.0 */
/* Fibers: stacks with guards below them, and switches between them that sanitizers can follow.
 *
 * The switch itself is Boost.Context's (make_fcontext, jump_fcontext: 5 to 12 ns); ucontext was not
 * taken because each of its switches is a system call.  Knows nothing of lanes or warps. */
#ifndef QUARRY_CPU_FIBER_H
#define QUARRY_CPU_FIBER_H

#include <stddef.h>
#include <stdint.h>

struct fiber {
    void *context;   /* where it left off; set by simt_fiber_switch */
    void *stack_low; /* lowest usable address; NULL for a thread's own stack, until known */
    size_t stack_bytes;
    size_t guard_bytes; /* below stack_low, which nobody can touch; 0: none */
    void (*entry)(void);
    void *asan_fake_stack;
    void *tsan_fiber; /* lives as long as the stack: frames at equal addresses are one history */
};

/* Stacks of `bytes` bytes for `count` fibers, in one mapping, with a guard below each as long as the process
 * can afford the mappings.  They start unused.  With a sanitizer, whose redzones make frames several times
 * larger, stacks are larger, too.
 * Returns 0, or -1 without memory. */
int simt_fiber_stacks_create(struct fiber **fibers, uint32_t count, size_t bytes);
void simt_fiber_stacks_destroy(struct fiber *fibers, uint32_t count);

/* Makes `fiber` start in `entry` when it is next switched to; entry must never return.  `slot` spreads
 * the stack tops over cache sets. */
void simt_fiber_prepare(struct fiber *fiber, void (*entry)(void), uint32_t slot);

/* Is that an address in the fiber's guard? */
int simt_fiber_is_beyond(const struct fiber *fiber, const void *address);

/* A record for the calling thread's own stack. */
void simt_fiber_adopt_thread(struct fiber *thread);

/* Leaves `from` (the running fiber) for `to`; returns when something switches back to `from`.  With
 * `dying`, from's stack will not be returned to. */
void simt_fiber_switch(struct fiber *from, struct fiber *to, int dying);

/* ThreadSanitizer's happens-before through an address; no-ops without it. */
void simt_fiber_tsan_release(void *token);
void simt_fiber_tsan_acquire(void *token);
/* A release in the name of a fiber that will never run again. */
void simt_fiber_tsan_release_for(struct fiber *fiber, struct fiber *running, void *token);

#endif
