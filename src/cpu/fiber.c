/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/fiber.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Boost.Context's C entry points.  `data` travels with the jump: here the record of the fiber that
 * jumped, so that the fiber that arrives can store where the other left off. */
struct transfer {
    void *context;
    void *data;
};
extern struct transfer jump_fcontext(void *to, void *data);
extern void *make_fcontext(void *stack_top, size_t bytes, void (*entry)(struct transfer));

/* The sanitizers' runtimes define these; without one they are NULL. */
extern void __sanitizer_start_switch_fiber(void **fake_stack, const void *bottom, size_t size)
    __attribute__((weak));
extern void __sanitizer_finish_switch_fiber(void *fake_stack, const void **old_bottom, size_t *old_size)
    __attribute__((weak));
extern void __asan_handle_no_return(void) __attribute__((weak));
extern void __asan_unpoison_memory_region(const volatile void *memory, size_t bytes) __attribute__((weak));
extern void *__tsan_get_current_fiber(void) __attribute__((weak));
extern void *__tsan_create_fiber(unsigned flags) __attribute__((weak));
extern void __tsan_destroy_fiber(void *fiber) __attribute__((weak));
extern void __tsan_switch_to_fiber(void *fiber, unsigned flags) __attribute__((weak));
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

/* Redzones make frames several times larger. */
#define SANITIZED_FACTOR 4u
/* A frame that begins this far beyond the stack is seen all the same. */
#define GUARD_BYTES ((size_t)64 << 10)
#define MAX_GUARDS 12000u
#define TSAN_NO_SYNC 1u /* a switch orders nothing: with 0 every race between lanes would be hidden */

/* The fiber that the switch under way leads to. */
static __thread struct fiber *arriving;

/* A guard splits a mapping in two, and a process may have 65 530: stacks past MAX_GUARDS go without. */
static uint32_t guards; /* atomic */

/* Returns how many of `wanted` guards there may be. */
static uint32_t guards_take(uint32_t wanted)
{
    uint32_t before = __atomic_fetch_add(&guards, wanted, __ATOMIC_RELAXED);
    uint32_t left = before < MAX_GUARDS ? MAX_GUARDS - before : 0;
    uint32_t taken = wanted < left ? wanted : left;
    __atomic_fetch_sub(&guards, wanted - taken, __ATOMIC_RELAXED);
    return taken;
}

static void guards_give(uint32_t taken)
{
    __atomic_fetch_sub(&guards, taken, __ATOMIC_RELAXED);
}

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

/* The mapping: guard, stack, guard, stack, ..., and behind them the stacks that go without.  It is made as one
 * guard, so that a system that promises no more memory than it has counts the stacks only. */
int simt_fiber_stacks_create(struct fiber **fibers, uint32_t count, size_t bytes)
{
    const int sanitized = __sanitizer_start_switch_fiber || __tsan_create_fiber;
    const size_t each = whole_pages(sanitized ? SANITIZED_FACTOR * bytes : bytes);
    const size_t guard = whole_pages(GUARD_BYTES);
    struct fiber *made = calloc(count, sizeof *made);
    if (!made)
        return -1;
    const uint32_t guarded = guards_take(count);
    const size_t all = each * count + guard * guarded;
    unsigned char *memory = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        guards_give(guarded);
        free(made);
        return -1;
    }
    int failed = 0;
    for (uint32_t i = 0; i < count; i++) {
        made[i].guard_bytes = i < guarded ? guard : 0;
        made[i].stack_low = memory + each * i + guard * (i < guarded ? i + 1 : guarded);
        made[i].stack_bytes = each;
        if (i < guarded)
            failed |= mprotect(made[i].stack_low, each, PROT_READ | PROT_WRITE);
    }
    if (guarded < count)
        failed |= mprotect(made[guarded].stack_low, each * (count - guarded), PROT_READ | PROT_WRITE);
    /* What lanes that were abandoned left at the same addresses. */
    if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(memory, all);
    for (uint32_t i = 0; i < count && __tsan_create_fiber; i++)
        made[i].tsan_fiber = __tsan_create_fiber(0);
    if (failed) {
        simt_fiber_stacks_destroy(made, count);
        return -1;
    }
    *fibers = made;
    return 0;
}

void simt_fiber_stacks_destroy(struct fiber *fibers, uint32_t count)
{
    size_t all = 0;
    uint32_t guarded = 0;
    if (!fibers)
        return;
    for (uint32_t i = 0; i < count; i++) {
        all += fibers[i].guard_bytes + fibers[i].stack_bytes;
        guarded += fibers[i].guard_bytes != 0;
        if (fibers[i].tsan_fiber)
            __tsan_destroy_fiber(fibers[i].tsan_fiber);
    }
    guards_give(guarded);
    munmap((unsigned char *)fibers[0].stack_low - fibers[0].guard_bytes, all);
    free(fibers);
}

int simt_fiber_is_beyond(const struct fiber *fiber, const void *address)
{
    return (uintptr_t)fiber->stack_low - (uintptr_t)address - 1 < fiber->guard_bytes;
}

static void finish_switch(struct transfer t)
{
    struct fiber *from = t.data;
    struct fiber *to = arriving;
    from->context = t.context;
    if (__sanitizer_finish_switch_fiber) {
        const void *bottom;
        size_t size;
        __sanitizer_finish_switch_fiber(to->asan_fake_stack, &bottom, &size);
        if (!from->stack_low) { /* a thread's own stack, left for the first time */
            from->stack_low = (void *)(uintptr_t)bottom;
            from->stack_bytes = size;
        }
    }
}

static void trampoline(struct transfer t)
{
    finish_switch(t);
    arriving->entry();
    abort(); /* an entry never returns */
}

void simt_fiber_prepare(struct fiber *fiber, void (*entry)(void), uint32_t slot)
{
    /* Stacks are page-aligned, so without an offset the hot ends of all share a few cache sets. */
    size_t spread = (size_t)(slot % 16) * 256;
    unsigned char *top = (unsigned char *)fiber->stack_low + fiber->stack_bytes - spread;
    fiber->entry = entry;
    fiber->asan_fake_stack = NULL;
    fiber->context = make_fcontext(top, fiber->stack_bytes - spread, trampoline);
}

void simt_fiber_adopt_thread(struct fiber *thread)
{
    *thread = (struct fiber){0};
    if (__tsan_get_current_fiber)
        thread->tsan_fiber = __tsan_get_current_fiber();
}

void simt_fiber_switch(struct fiber *from, struct fiber *to, int dying)
{
    arriving = to;
    /* Frames that never return would leave their redzones to the stack's next fiber. */
    if (dying && __asan_handle_no_return)
        __asan_handle_no_return();
    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(dying ? NULL : &from->asan_fake_stack, to->stack_low, to->stack_bytes);
    if (__tsan_switch_to_fiber)
        __tsan_switch_to_fiber(to->tsan_fiber, TSAN_NO_SYNC);
    finish_switch(jump_fcontext(to->context, from));
}

void simt_fiber_tsan_release(void *token)
{
    if (__tsan_release)
        __tsan_release(token);
}

void simt_fiber_tsan_acquire(void *token)
{
    if (__tsan_acquire)
        __tsan_acquire(token);
}

void simt_fiber_tsan_release_for(struct fiber *fiber, struct fiber *running, void *token)
{
    if (!__tsan_switch_to_fiber)
        return;
    __tsan_switch_to_fiber(fiber->tsan_fiber, TSAN_NO_SYNC);
    __tsan_release(token);
    __tsan_switch_to_fiber(running->tsan_fiber, TSAN_NO_SYNC);
}
