/* SPDX-License-Identifier: Apache-2.0 */
/* Mode weak of the executor: what lanes may read of each other's atomics, and races of their plain accesses.
 * docs/design/weak-memory.md says the model.
 *
 * Device code is compiled with -fsanitize=thread, which puts a call before each access and in the place of each
 * atomic.  weak_entry.c has what it calls, in the place of the sanitizer's runtime.  weak.c is the model:
 * clocks, and the latest stores of each word.  weak_launch.c has the memory of a launch, weak_races.c who
 * accessed what without an atomic, weak_blocks.c what was never written or was freed, and weak_place.c says in
 * which line a call stands.
 *
 * All of a launch happens in one thread, so nothing here is locked. */
#ifndef QUARRY_CPU_WEAK_H
#define QUARRY_CPU_WEAK_H

#include "cpu/executor_run.h"

/* Is this library one whose device code makes those calls? */
#ifdef SIMT_CPU_WEAK
#define SIMT_WEAK_BUILD 1
#else
#define SIMT_WEAK_BUILD 0
#endif

#define WEAK_MOST_LANES 1024u /* resident at once: a clock has a number for each */

struct weak;
struct weak_lane;

#if SIMT_WEAK_BUILD
/* Prepares a launch with places for so many lanes at once.  Returns NULL without memory. */
struct weak *simt_weak_begin(struct worker *w, uint32_t lanes, uint64_t seed);
void simt_weak_end(struct weak *weak);

/* A lane begins in place `index` of 0 .. lanes - 1.  Who ended there before is taken to have come before it. */
void simt_weak_start(struct weak *weak, uint32_t index, struct lane *lane);

/* Lanes meet: what each did before happens-before what any does from now on.  The first of `count` calls adds
 * a lane and the last orders them all: for (each lane) simt_weak_meet(lane); simt_weak_part(weak); */
void simt_weak_meet(const struct lane *lane);
void simt_weak_part(struct weak *weak);

/* Memory that the host takes for kernels, and gives back; and bytes of it that the host has written. */
void simt_weak_region(const void *memory, uint64_t bytes);
void simt_weak_region_end(const void *memory);
void simt_weak_written(const void *memory, uint64_t bytes);

/* The lane backs off: what others have stored becomes visible to it in the end. */
void simt_weak_wait(const struct lane *lane);

/* What was done to this memory so far is of no concern to who gets it now. */
void simt_weak_forget(struct weak *weak, const void *memory, uint64_t bytes);
#else
static inline struct weak *simt_weak_begin(struct worker *w, uint32_t lanes, uint64_t seed)
{
    (void)w, (void)lanes, (void)seed;
    return NULL;
}
static inline void simt_weak_end(struct weak *weak)
{
    (void)weak;
}
static inline void simt_weak_start(struct weak *weak, uint32_t index, struct lane *lane)
{
    (void)weak, (void)index, (void)lane;
}
static inline void simt_weak_meet(const struct lane *lane)
{
    (void)lane;
}
static inline void simt_weak_part(struct weak *weak)
{
    (void)weak;
}
static inline void simt_weak_region(const void *memory, uint64_t bytes)
{
    (void)memory, (void)bytes;
}
static inline void simt_weak_region_end(const void *memory)
{
    (void)memory;
}
static inline void simt_weak_written(const void *memory, uint64_t bytes)
{
    (void)memory, (void)bytes;
}
static inline void simt_weak_wait(const struct lane *lane)
{
    (void)lane;
}
static inline void simt_weak_forget(struct weak *weak, const void *memory, uint64_t bytes)
{
    (void)weak, (void)memory, (void)bytes;
}
#endif

#endif
