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

#define STACK_BYTES ((size_t)64 << 10)
#define STACK_BYTES_SANITIZED ((size_t)256 << 10) /* redzones make frames several times larger */
#define MAX_GUARDS 12000u
#define TSAN_NO_SYNC 1u /* a switch orders nothing: with 0 every race between lanes would be hidden */

/* The fiber that the switch under way leads to. */
static __thread struct fiber *arriving;

static size_t stack_bytes(void)
{
    return __sanitizer_start_switch_fiber || __tsan_create_fiber ? STACK_BYTES_SANITIZED : STACK_BYTES;
}

/* A guard page splits a mapping in two, and a process may have 65 530: stacks past MAX_GUARDS go without. */
static uint32_t guards; /* atomic */

static int guard_take(void)
{
    if (__atomic_fetch_add(&guards, 1, __ATOMIC_RELAXED) < MAX_GUARDS)
        return 1;
    __atomic_fetch_sub(&guards, 1, __ATOMIC_RELAXED);
    return 0;
}

int simt_fiber_stacks_create(struct fiber **fibers, uint32_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t each = stack_bytes() + page;
    struct fiber *made = calloc(count, sizeof *made);
    if (!made)
        return -1;
    unsigned char *memory =
        mmap(NULL, each * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        free(made);
        return -1;
    }
    /* What lanes that were abandoned left at the same addresses. */
    if (__asan_unpoison_memory_region)
        __asan_unpoison_memory_region(memory, each * count);
    for (uint32_t i = 0; i < count; i++) {
        unsigned char *guard = memory + each * i;
        made[i].guarded = guard_take();
        if (made[i].guarded)
            (void)mprotect(guard, page, PROT_NONE);
        made[i].stack_low = guard + page;
        made[i].stack_bytes = each - page;
        if (__tsan_create_fiber)
            made[i].tsan_fiber = __tsan_create_fiber(0);
    }
    *fibers = made;
    return 0;
}

void simt_fiber_stacks_destroy(struct fiber *fibers, uint32_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!fibers)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (fibers[i].guarded)
            __atomic_fetch_sub(&guards, 1, __ATOMIC_RELAXED);
        if (fibers[i].tsan_fiber)
            __tsan_destroy_fiber(fibers[i].tsan_fiber);
    }
    munmap((unsigned char *)fibers[0].stack_low - page, (fibers[0].stack_bytes + page) * count);
    free(fibers);
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
