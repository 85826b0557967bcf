/* SPDX-License-Identifier: Apache-2.0 */
/* Quarry: dynamic memory for massively parallel programs.  The host's side.
 *
 * A heap lives on one target (a backend and one of its devices) in one pool.  The host creates it and
 * passes its handle, by value, to kernels, which include quarry/device.h and call quarry_malloc() and
 * quarry_free().
 *
 *     quarry_heap *heap;
 *     struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
 *     options.pool_bytes = (uint64_t)1 << 30;
 *     if (quarry_heap_create(&heap, &options) != QUARRY_OK)
 *         puts(quarry_error_detail());
 *
 * What can fail returns a quarry_status; the functions that can't (version, texts, counts, the handle, a
 * grid) return their answer.  None exits, and none prints, but for a table that the environment variable
 * QUARRY_STATS asks for (quarry_heap_destroy).
 *
 * Threads.  Functions on different heaps may run at the same time in different threads; those on one heap
 * may not, and neither may they while a kernel uses that heap, unless the comment says otherwise.  What
 * names a target and no heap (targets, memory, launching) may be called by any thread at any time, on one
 * target too; a stream then decides the order.  One event belongs to one thread at a time.
 *
 * Targets are pointers to const structs that are read during the call only; NULL stands for one of all
 * zeros.  Any other pointer that is NULL gives ARGUMENT unless the comment allows it.  On the CPU backend
 * there are no streams: everything has happened when the call returns.
 *
 * Simple API first: status, heaps.  Then what portable programs need: targets, memory, launching,
 * timing. */
#ifndef QUARRY_QUARRY_H
#define QUARRY_QUARRY_H

#include "quarry/simt/kernel.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* what libquarry.so exports */

#define QUARRY_VERSION_MAJOR 0 /* of the headers; with another one programs may have to change */
#define QUARRY_VERSION_MINOR 1 /* before the first major version likewise */
#define QUARRY_VERSION_PATCH 0 /* with another one they need not */

/* Version of the headers as one number that grows, for the preprocessor: 10203 is 1.2.3. */
#define QUARRY_VERSION (QUARRY_VERSION_MAJOR * 10000 + QUARRY_VERSION_MINOR * 100 + QUARRY_VERSION_PATCH)

/* Version of the library that is linked, "0.1.0".  Any thread. */
const char *quarry_version(void);

/* ---- status ---- */

/* What became of a call. */
enum quarry_status {
    QUARRY_OK = 0,
    QUARRY_ERROR_ARGUMENT,    /* an argument or option is out of its range */
    QUARRY_ERROR_ALLOCATOR,   /* no allocator of that name */
    QUARRY_ERROR_COMBINATION, /* options that exclude one another */
    QUARRY_ERROR_POOL,        /* the pool is too small for what was asked of it */
    QUARRY_ERROR_MEMORY,      /* the host or the device has not enough memory */
    QUARRY_ERROR_BACKEND,     /* this library was built without that backend */
    QUARRY_ERROR_DEVICE,      /* no such device, or no usable GPU */
    QUARRY_ERROR_CUDA,        /* a CUDA call failed; the detail says which and why */
    QUARRY_ERROR_DEADLOCK,    /* a kernel on the CPU backend stood still; the detail says who waits where */
    QUARRY_ERROR_ASSERT,      /* a device assertion failed on the CPU backend */
    QUARRY_ERROR_CORRUPT,     /* a heap has a broken structure, or debug mode saw an error */
    QUARRY_ERROR_LEAK,        /* a heap in debug mode was destroyed with live blocks in it */
    QUARRY_ERROR_FILE,        /* a file can't be read or written, or is damaged; the detail says where */
    QUARRY_ERROR_RACE,        /* mode weak of the CPU backend: a kernel has a race; the detail says where */
    QUARRY_STATUS_COUNT
};

/* What a status means, in a few words; "unknown status" for any other number.  Any thread. */
const char *quarry_status_string(enum quarry_status status);

/* One clear sentence about the last failure in the calling thread ("" if none): what was wrong with
 * which value, and what to do.  Valid until the thread's next Quarry call. */
const char *quarry_error_detail(void);

/* ---- targets ---- */

/* Where kernels run. */
enum quarry_backend {
    QUARRY_BACKEND_AUTO = 0, /* CUDA if a usable GPU is there, else the CPU */
    QUARRY_BACKEND_CUDA,
    QUARRY_BACKEND_CPU
};

/* Where work happens.  All zero: the best backend, its first device, the default stream. */
struct quarry_target {
    enum quarry_backend backend;
    int device;               /* 0 .. quarry_device_count - 1 */
    void *stream;             /* CUDA: a cudaStream_t of that device, or NULL; CPU: NULL */
    uint64_t seed;            /* CPU: 0 fast mode on all cores; else deterministic mode with this seed */
    uint32_t workers;         /* CPU, fast mode: OS threads, at most 4096; 0: one for each core */
    uint32_t resident_blocks; /* CPU, deterministic mode: blocks interleaved at once, at most 4096; 0: 8 */

    /* CPU, deterministic mode.  0: any lane runs next, at random.  1 to 64: lanes run by priority, which
     * finds bugs that need this many events in one order (PCT). */
    uint32_t bug_depth;

    uint32_t stack_bytes; /* CPU: of each lane's stack, 16 KiB to 1 GiB; 0: 64 KiB */

    /* CPU, deterministic mode, in a library that was built with -DQUARRY_SANITIZE=weak.  1: mode weak.  A load
     * may read what is old, as far as the orders allow it, and a launch with a data race ends with RACE
     * (docs/design/weak-memory.md). */
    int weak;
};

/* Replaces QUARRY_BACKEND_AUTO by what it stands for here and checks the rest.
 * Returns ARGUMENT, BACKEND or DEVICE if such a target can't be used; then *target is unchanged. */
enum quarry_status quarry_target_resolve(struct quarry_target *target);

/* Number of devices of a backend: CUDA devices that this library's kernels run on (0 without a driver or
 * in a library without CUDA); the CPU is one device.  AUTO counts those of what it stands for. */
int quarry_device_count(enum quarry_backend backend);

/* What a device is and has. */
struct quarry_device_info {
    char name[128];
    uint64_t total_bytes;     /* CUDA: device memory; CPU: what the cgroup, or else the machine, allows */
    uint64_t available_bytes; /* free now */

    /* The pool of a heap that names no size.  CUDA: what is available, less a reserve.  CPU: at most a
     * quarter of total_bytes. */
    uint64_t heap_bytes;

    uint32_t multiprocessors; /* CPU: cores */
    uint32_t clock_khz;       /* 0: unknown */
    uint32_t capability;      /* CUDA: 10 * major + minor; CPU: 0 */
    char driver[64];          /* CUDA: "580.95.05, CUDA 13.0", as far as it is known; CPU: "" */
};

/* Fills *info for target's backend and device. */
enum quarry_status quarry_device_describe(const struct quarry_target *target,
                                          struct quarry_device_info *info);

/* ---- allocators ---- */

/* What an allocator is and can.  Each int is 0 or 1. */
struct quarry_allocator_info {
    const char *name;    /* for quarry_heap_options.allocator */
    const char *summary; /* one line */
    uint32_t options;    /* how many it has: quarry_allocator_option */
    uint32_t registers;  /* budget of a kernel that only mallocs, on a GPU */

    /* The largest value of the option `alignment` that it takes, bytes.  16: no block is aligned to more, and
     * quarry_aligned_alloc refuses more, unless the heap has QUARRY_DISTRIBUTION_WARP. */
    uint64_t max_alignment;

    /* NULL means that nothing which fits was free at some instant.  0: as its page says. */
    int proves_full;

    /* It obeys QUARRY_FULL_INFERRED.  0: that changes nothing, and a heap describes itself as PROVEN. */
    int infers_full;

    /* Space of freed blocks serves requests of any other size, too. */
    int reuses_space;

    /* A free may take effect later.  What the host asks of an idle heap is exact all the same. */
    int defers_frees;

    /* 0: its blocks are the platform's, and nobody counts them: no quarry_heap_slots, nothing known to
     * quarry_available_slots, no reset, no debug mode, no live blocks in statistics, no sizes. */
    int counts_slots;

    /* A block is a page.  Larger requests are refused.  So is a quarry_aligned_alloc that needs more than a page
     * because of its alignment.  0: smaller blocks may share a page.  Then larger ones may have several, up to
     * quarry_heap_description.max_block_bytes, unless page_parts is 1. */
    int whole_pages;

    /* An empty heap has room for `pages` blocks of page_bytes. */
    int holds_pages;

    /* A block is a page or shares one: larger requests are refused. */
    int page_parts;

    /* Blocks have 1, 2, 4, ... pages, or 1/2, 1/4, ... of one. */
    int sizes_double;
};

/* Allocators are numbered from 0, in the order of alloc/list.def. */
int quarry_allocator_count(void);
/* Returns ARGUMENT for an index out of range. */
enum quarry_status quarry_allocator_describe(int index, struct quarry_allocator_info *info);

/* An option that one allocator has and others don't. */
struct quarry_option_info {
    const char *name;
    uint64_t standard;    /* the value unless one is given; may lie outside of the range: see help */
    uint64_t least, most; /* range of values */
    const char *help;     /* one line: what it is, with its unit */
};

/* Option number `option`, from 0, of allocator number `index`.  Returns ARGUMENT for a number out of range, and
 * then *info is all zero.  Any thread, any time. */
enum quarry_status quarry_allocator_option(int index, uint32_t option, struct quarry_option_info *info);

/* A value for such an option.  docs/reference/options.md lists all. */
struct quarry_option {
    const char *name;
    uint64_t value;
};
#define QUARRY_MAX_HEAP_OPTIONS 16u /* of an allocator */

/* Writes "probes=1024 word_bits=32".
 *   text   receives it, ending with a 0 byte, cut if it is longer
 *   bytes  size of text; QUARRY_OPTIONS_TEXT_BYTES hold the options of any allocator; 0: text is left alone and
 *          may be NULL
 * Any thread, any time. */
void quarry_options_format(const struct quarry_option *options, uint32_t count, char *text, size_t bytes);
#define QUARRY_OPTIONS_TEXT_BYTES 512u /* for quarry_options_format */

/* ---- heaps ---- */

/* A heap, as the host sees it. */
typedef struct quarry_heap quarry_heap;
struct quarry_handle; /* quarry/device.h */
struct quarry_schema; /* quarry/schema.h */

/* Where a heap's memory comes from.  On the CPU backend all but BUFFER mean host memory. */
enum quarry_pool {
    QUARRY_POOL_DEVICE = 0, /* cudaMalloc */
    QUARRY_POOL_STREAM,     /* cudaMallocAsync on the target's stream */
    QUARRY_POOL_MANAGED,    /* cudaMallocManaged: host and kernels share the addresses */
    QUARRY_POOL_PINNED,     /* cudaHostAlloc, mapped: host memory that kernels reach over the bus */
    QUARRY_POOL_BUFFER,     /* the caller's: `buffer`, at least 16-byte aligned, reachable by the device */

    /* Device malloc in a kernel.  Its heap has cudaLimitMallocHeapSize bytes, which the program sets
     * before any kernel calls malloc.  The host can't copy from its blocks.  CPU: the C library's
     * malloc. */
    QUARRY_POOL_MALLOC
};

/* When a malloc returns NULL for want of space. */
enum quarry_full {
    /* At some instant during the call nothing that fits was free.  A heap fills to its last page, and
     * the last ones are slow to find. */
    QUARRY_FULL_PROVEN = 0,

    /* Enough random probes in vain let infer that less than `low_free` of the pages is free: with 99 %
     * confidence, if free pages lie at random.  There is no sweep, and some pages may stay unused
     * (docs/design/full-heap.md). */
    QUARRY_FULL_INFERRED
};

/* How the requests of a warp reach the allocator. */
enum quarry_distribution {
    QUARRY_DISTRIBUTION_NONE = 0, /* as they are */

    /* Lanes that ask together make one request, and each gets a piece of its block.  What does not fit
     * together into a page goes by itself.  A block is free again when its last piece is
     * (docs/reference/policies.md). */
    QUARRY_DISTRIBUTION_WARP
};

/* What a malloc does for want of space, with any allocator (docs/reference/policies.md). */
enum quarry_oom {
    QUARRY_OOM_NULL = 0, /* returns NULL */

    /* Tries `oom_tries` times more, with a short wait before each, and then returns NULL.  For heaps
     * from which others free meanwhile. */
    QUARRY_OOM_WAIT,

    /* Ends the kernel.  CPU: the launch returns ASSERT.  CUDA: the context is lost, and every call
     * returns CUDA but quarry_heap_check, which says what happened. */
    QUARRY_OOM_TRAP,

    /* Calls the QUARRY_OOM_HOOK that a kernel is compiled with.  It says whether to try again
     * (quarry/policy.h). */
    QUARRY_OOM_CALL
};

/* Options that every heap has.  Those of one allocator are pairs of name and value, in `set`, which are read
 * while the heap is created and not kept. */
struct quarry_heap_options {
    size_t struct_bytes; /* sizeof of this struct, set by the initialiser: it may grow at its end */
    struct quarry_target target;
    const char *allocator;           /* NULL: "quarry", which has blocks of any size */
    const struct quarry_option *set; /* options of the allocator, `set_count` of them; the rest: standard */
    uint32_t set_count;

    /* Not 0: every malloc and free is checked, and errors are recorded.  That is slower, and each page takes
     * QUARRY_DEBUG_PAGE_BYTES more of the pool (docs/guide/debugging.md). */
    int debug;

    enum quarry_pool pool;
    void *buffer; /* POOL_BUFFER only */

    /* The whole pool, metadata included.  0: what `pages` needs, or, without that, the device's
     * heap_bytes. */
    uint64_t pool_bytes;

    /* 16 to 1 MiB, a multiple of 16.  0: the allocator's default (quarry_heap_describe says it), or
     * `alignment` if that is more. */
    uint64_t page_bytes;

    uint64_t pages; /* 1 to 2^32 - 64; 0: as many as the pool holds */
    enum quarry_full full;
    double low_free; /* FULL_INFERRED: share of the pages, between 0 and 1; 0: 0.005 */

    /* Every block begins at a multiple of it.  A power of two from 16 to 1 MiB; page_bytes is a multiple of
     * it.  0: 16 (docs/reference/policies.md). */
    uint64_t alignment;

    enum quarry_distribution distribution;
    enum quarry_oom oom;
    uint32_t oom_tries; /* OOM_WAIT: 1 to 2^24; 0: 1000 */

    /* Not 0: every malloc and free is counted, for quarry_heap_totals, which costs some atomics each.  Kernels with
     * policies that are fixed when they are compiled (quarry/policy.h) can't count, and leave the heap alone. */
    int statistics;

    /* Types of objects.  The heap then has typed objects (quarry/object.h).  Its allocator is "objects": name that
     * one or none.  Its pages have the bytes that the schema says.  The schema stays the caller's, and must be there
     * as long as the heap.  Not with statistics, a policy or QUARRY_POOL_MALLOC.  With debug the objects are checked,
     * and blocks of malloc are not.  NULL: no typed objects. */
    const struct quarry_schema *schema;
};
/* The range of page_bytes.  core/layout.h has it, too; a compiler that sees both compares them. */
#define QUARRY_MIN_PAGE_BYTES 16u
#define QUARRY_MAX_PAGE_BYTES (1u << 20) /* the range's other end */
#define QUARRY_DEBUG_PAGE_BYTES 64u      /* by which each page of a heap in debug mode is larger */
#define QUARRY_MAX_ALIGNMENT (1u << 20)  /* of quarry_heap_options.alignment */

/* Options that are all defaults. */
/* clang-format off */
#define QUARRY_HEAP_OPTIONS_INIT                                                                             \
    { sizeof(struct quarry_heap_options), {QUARRY_BACKEND_AUTO, 0, SIMT_NULL, 0, 0, 0, 0, 0, 0}, SIMT_NULL,  \
      SIMT_NULL, 0, 0, QUARRY_POOL_DEVICE, SIMT_NULL, 0, 0, 0, QUARRY_FULL_PROVEN, 0, 0,                     \
      QUARRY_DISTRIBUTION_NONE, QUARRY_OOM_NULL, 0, 0, SIMT_NULL }
/* clang-format on */

/* Creates a heap.
 *   out      receives it; NULL after an error
 *   options  NULL: all defaults
 * On a stream the heap is usable by work that follows in that stream, by other streams after a
 * synchronisation.  Nothing is left behind after an error.
 *
 * Environment variables change the heaps of a program that is not compiled again.  They are read here, each time:
 *   QUARRY_DEBUG=1                  every heap is in debug mode, as with options->debug
 *   QUARRY_STATS=1                  every heap counts, as with options->statistics, and quarry_heap_destroy
 *                                   prints a table
 *   QUARRY_DEFAULT_ALLOCATOR=NAME   the allocator of heaps whose options name none and have no schema
 * QUARRY_DEBUG and QUARRY_STATS may also be 0 or empty, which says the same as no variable.  Any other value is
 * ARGUMENT.  If something is wrong with options that the environment changed, the detail names the variables. */
enum quarry_status quarry_heap_create(quarry_heap **out, const struct quarry_heap_options *options);

/* A heap without memory, to see what a heap of these options would be: quarry_heap_describe, quarry_heap_info and
 * quarry_heap_map say it, at once, however large the pool is.  Refuses the options that quarry_heap_create
 * refuses, with the same status.  Kernels get NULL from its handle; other functions of heaps refuse it with
 * COMBINATION, but for quarry_heap_destroy.
 *
 * Addresses are not known yet.  So with an alignment above 256, or QUARRY_POOL_MALLOC, the sections are as small
 * as they would be at the least suitable address: less than one alignment smaller.
 *   out, options  as above; a caller's buffer is not touched */
enum quarry_status quarry_heap_draft(quarry_heap **out, const struct quarry_heap_options *options);

/* Destroys it and gives its pool back (a caller's buffer is left alone).  Waits for the target's stream.
 * NULL is a no-op.
 *
 * In debug mode it first looks at all blocks.  Whatever it finds, the heap is then destroyed.  It returns
 *   CORRUPT  an error is recorded
 *   LEAK     no error is recorded, and blocks are live
 * With both statuses the detail says how many blocks are live, and names the first few.  If a malloc trapped it
 * does not look for damage, because the trap ended other mallocs half way.  It does not look for broken structures:
 * quarry_heap_check does.
 *
 * Returns COMBINATION where quarry_heap_statistics does; the heap is destroyed all the same.  A heap in a caller's
 * buffer is the exception: its memory is not read.
 *
 * If QUARRY_STATS was 1 in the environment when the heap was made, it prints quarry_heap_totals as a table on stderr.
 * In debug mode it then also prints what quarry_heap_debug_report says, and the first live blocks.
 *
 * For that table, and in debug mode (also by QUARRY_DEBUG=1), it reads the pool.  So a caller's buffer must still be
 * there. */
enum quarry_status quarry_heap_destroy(quarry_heap *heap);

/* Makes every block free, and every counter and debug mode's records 0: what lived is gone.  Ordered in the
 * target's stream.  COMBINATION while the heap is recorded (quarry/trace.h). */
enum quarry_status quarry_heap_reset(quarry_heap *heap);

/* The handle that kernels take; struct quarry_handle is in quarry/device.h.  NULL gives a handle of zeros: in
 * kernels its mallocs give NULL, and its frees do nothing.  Any thread, any time. */
struct quarry_handle quarry_heap_handle(const quarry_heap *heap);

/* For quarry_heap_describe. */
struct quarry_heap_description {
    const char *allocator;
    struct quarry_target target; /* resolved */
    enum quarry_pool pool;
    void *pool_base; /* address on the target */
    uint64_t pool_bytes;
    uint64_t page_bytes;
    uint64_t pages;
    uint64_t max_block_bytes; /* larger requests are refused */
    enum quarry_full full;    /* PROVEN also where the allocator proves it although INFERRED was asked for */
    double low_free;          /* 0 with FULL_PROVEN */
    int debug; /* 1: in debug mode; page_bytes and max_block_bytes are then what blocks have for the user */
    int statistics;     /* 1: it counts, for quarry_heap_totals */
    uint64_t alignment; /* bytes, of every block */
    enum quarry_distribution distribution;
    enum quarry_oom oom;
    uint32_t oom_tries;                                    /* 0: not OOM_WAIT */
    uint32_t option_count;                                 /* of the allocator's options */
    struct quarry_option options[QUARRY_MAX_HEAP_OPTIONS]; /* with the values that the heap took */
};
/* What the heap was made of, with every default filled in.  Any thread, any time. */
enum quarry_status quarry_heap_describe(const quarry_heap *heap, struct quarry_heap_description *description);

/* The same in words, for people: one line for each policy, and one for debug mode.  Any thread, any time.
 *   text   receives the lines, each with its line break, and a 0 byte; cut if they are longer
 *   bytes  size of text; QUARRY_INFO_TEXT_BYTES hold any; 0: text is left alone and may be NULL */
enum quarry_status quarry_heap_info(const quarry_heap *heap, char *text, size_t bytes);
#define QUARRY_INFO_TEXT_BYTES 1024u /* for quarry_heap_info */

/* A part of a heap's pool. */
struct quarry_heap_section {
    const char *name; /* "head" is the library's; the others: see the allocator's header */
    uint64_t offset;  /* bytes after quarry_heap_description.pool_base */
    uint64_t bytes;
};
/* What lies where in the heap's pool, in order; what is between sections and behind them is unused.  Any
 * thread, any time.
 *   sections   receives the first of them; may be NULL
 *   most       so many at most; QUARRY_HEAP_SECTIONS hold any
 * Returns how many the heap has; 0 if its blocks are the platform's. */
uint32_t quarry_heap_map(const quarry_heap *heap, struct quarry_heap_section *sections, uint32_t most);
#define QUARRY_HEAP_SECTIONS 16u /* for quarry_heap_map */

/* For quarry_heap_statistics. */
struct quarry_statistics {
    uint64_t live_blocks;        /* of the allocator: several pieces may lie in one */
    uint64_t live_bytes;         /* bytes that the live blocks occupy (page allocators: whole pages) */
    uint64_t capacity_bytes;     /* what live_bytes would be if the heap were full */
    uint64_t largest_free_bytes; /* largest request that would succeed now; 0: full */
    uint64_t failed_mallocs;     /* returned NULL for want of space, since creation or reset */
    uint64_t refused_mallocs;    /* returned NULL because the size is more than max_block_bytes */
    uint64_t last_failed_bytes;  /* size of the last of either; 0: none */
    double utilisation;          /* live_bytes / pool_bytes */
};
/* Counts the live blocks of an idle heap.  Bytes that debug mode adds to each block don't count.  Waits for
 * the target's stream.
 *
 * COMBINATION if a kernel that is compiled for other heaps (QUARRY_ALLOCATOR, QUARRY_OOM and so on) has called
 * malloc or free of this one since creation or reset.  Its mallocs gave NULL, and its frees did nothing; neither is
 * counted anywhere else.  The detail says what differs.  *statistics is filled all the same. */
enum quarry_status quarry_heap_statistics(quarry_heap *heap, struct quarry_statistics *statistics);

/* Requests of similar size. */
struct quarry_size_class {
    uint64_t most_bytes; /* of more than the class before it has, up to so many; the last class: UINT64_MAX */
    uint64_t mallocs;    /* of these sizes that returned a block */
    uint64_t failed;     /* that returned NULL for want of space */
};
#define QUARRY_SIZE_CLASSES 32u /* of struct quarry_totals */

/* What a heap has done since creation or reset.  Blocks are the allocator's, as in struct quarry_statistics, and so
 * are bytes: what blocks occupy, without what policies and debug mode add.  A block of quarry_aligned_alloc is larger
 * until it has given back what it does not need: peak_bytes sees that moment, total_bytes does not. */
struct quarry_totals {
    uint64_t live_blocks; /* now */
    uint64_t live_bytes;
    uint64_t peak_blocks; /* the most that lived at one time */
    uint64_t peak_bytes;
    uint64_t total_blocks; /* all that were ever allocated */
    uint64_t total_bytes;
    uint64_t refused_mallocs;                                 /* as in struct quarry_statistics */
    struct quarry_size_class size_class[QUARRY_SIZE_CLASSES]; /* of up to 16 bytes, 32, 64, and so on */
};
/* What an idle heap with options.statistics has counted.  COMBINATION if the heap was created without it.  Waits for
 * the target's stream. */
enum quarry_status quarry_heap_totals(quarry_heap *heap, struct quarry_totals *totals);

/* A live block. */
struct quarry_block {
    void *address;  /* on the target */
    uint64_t bytes; /* of it.  Debug mode: what was asked for; 0: unknown, for its header was overwritten */

    /* Only in debug mode. */
    uint32_t thread;    /* that allocated it: simt_thread() of its launch; QUARRY_NO_THREAD: unknown */
    uint32_t launch;    /* its number (quarry_launch); 0: unknown, or not by quarry_launch */
    const char *kernel; /* name of the launch's kernel; "": unknown.  While the kernel's library is loaded */
    const char *tag;    /* that the program gave it (quarry/tag.h), its last 63 characters; "": none */
};
#define QUARRY_NO_THREAD 0xffffffffu /* quarry_block.thread of a block whose thread is unknown */

/* Calls a function for each live block of an idle heap, in the order of their addresses.  Without debug mode blocks
 * are the allocator's: of a whole page where it has only pages, and with QUARRY_DISTRIBUTION_WARP one for several
 * pieces.  Objects of a schema are not visited: quarry_object_dump does that.
 *   visit  gets a block, which is there during the call, and `user`.  Returns 0 to go on, anything else to end.  May
 *          copy from the block, but call nothing else on the heap
 *   user   may be NULL
 * COMBINATION for an allocator whose blocks nobody finds (quarry_allocator_info.counts_slots is 0).  MEMORY if the
 * host or the target has no room for a list: 3 MiB, less for a small heap.  Waits for the target's stream. */
enum quarry_status quarry_heap_each(quarry_heap *heap,
                                    int (*visit)(const struct quarry_block *block, void *user), void *user);

/* How many more blocks of `bytes` bytes fit into an idle heap, each asked for by itself; 0 if bytes is 0 or
 * too large.  Waits for the target's stream. */
enum quarry_status quarry_heap_slots(quarry_heap *heap, uint64_t bytes, uint64_t *slots);

/* Walks an idle heap's structures.  Returns CORRUPT if they contradict one another; the detail says how
 * often.  It finds that memory of the allocator's own was written, or that a kernel ended in the middle of a
 * call.  It does not find a block that was freed twice, or written beyond its end into another block.
 *
 * In debug mode it finds those, too: it also returns CORRUPT if an error is recorded since creation or reset,
 * or if anything was written before or behind a live block or into a free one, which is then recorded.
 *
 * Returns POOL if mallocs of a heap with OOM_TRAP have trapped since creation or reset, also after a CUDA
 * context was lost for it; the detail says how many, and which size.  Returns COMBINATION as
 * quarry_heap_statistics does, if there is nothing worse to say.  Waits for the target's stream. */
enum quarry_status quarry_heap_check(quarry_heap *heap);

/* What an idle heap in debug mode has recorded since creation or reset, and how much lives, as lines of text;
 * "" if there is nothing to say.  docs/guide/debugging.md explains the lines.
 *   text   receives it, ending with a 0 byte, cut if it is longer
 *   bytes  size of text; QUARRY_DEBUG_TEXT_BYTES hold any report; 0: text is left alone and may be NULL
 * COMBINATION if the heap is not in debug mode.  Waits for the target's stream. */
enum quarry_status quarry_heap_debug_report(quarry_heap *heap, char *text, size_t bytes);
#define QUARRY_DEBUG_TEXT_BYTES 4096u /* for quarry_heap_debug_report */

/* ---- device malloc and new of a whole program: quarry/override.h ---- */

/* From now on malloc, free, new and delete in device code use this heap, on its device, in all sources that
 * include quarry/override.h.  Call it while no kernel runs on that device, again for each other device, and
 * again after loading a shared library with such sources.  Waits for the target's stream. COMBINATION if
 * there is no such source, one of them is compiled for other heaps (QUARRY_ALLOCATOR, QUARRY_OOM and so on),
 * or the heap is on the CPU backend; then nothing has changed. */
enum quarry_status quarry_override_set(const quarry_heap *heap);

/* Device malloc and new on the heap's device give NULL again, as before the first call; to be called before
 * the heap is destroyed. */
enum quarry_status quarry_override_clear(const quarry_heap *heap);

/* For override.h: a source, which links itself in. */
struct quarry_override_unit {
    struct quarry_override_unit *next;
    const void *symbol; /* its quarry_override_handle */
    uint64_t bytes;     /* of that */
    uint32_t fixed;     /* QUARRY_FIXED (quarry/fixed.h) */
};
/* Adds it to the list, before main or while a shared library is loaded.  Any thread. */
void quarry_override_link(struct quarry_override_unit *unit);
/* Takes it out of the list.  Any thread. */
void quarry_override_unlink(struct quarry_override_unit *unit);

/* ---- memory of a target, for programs that run unchanged on both backends ---- */

/* Memory that kernels on the target can use, 256-byte aligned, not initialised.
 *   pool   kind of memory; not BUFFER or MALLOC
 *   bytes  0 gives NULL
 *   out    receives the address; NULL after an error
 * Returns MEMORY if there is not so much, COMBINATION if the device has no such pool.
 * POOL_STREAM takes it in the order of the target's stream: usable by work that follows there.  The other
 * pools may be used at once. */
enum quarry_status quarry_memory_create(const struct quarry_target *target, enum quarry_pool pool,
                                        uint64_t bytes, void **out);

/* Gives it back.
 *   target, pool  those that quarry_memory_create got
 *   memory        what it returned; NULL is a no-op
 * Returns ARGUMENT (CPU) or CUDA for an address that is recognised as another; the memory is then untouched.
 * POOL_STREAM gives back in the order of the target's stream.  For the other pools the caller makes sure that
 * no kernel uses the memory any more: CUDA may wait for the whole device here, and need not. */
enum quarry_status quarry_memory_destroy(const struct quarry_target *target, enum quarry_pool pool,
                                         void *memory);

/* Copies between any two of host and target memory, in the target's stream, and waits for that stream.
 *   to, from  must not overlap; may be NULL if bytes is 0, which only waits */
enum quarry_status quarry_memory_copy(const struct quarry_target *target, void *to, const void *from,
                                      uint64_t bytes);

/* Sets every byte, in the target's stream; does not wait.
 *   memory  may be NULL if bytes is 0, which does nothing */
enum quarry_status quarry_memory_fill(const struct quarry_target *target, void *memory, int byte,
                                      uint64_t bytes);

/* ---- launching ---- */

/* How many threads a launch has, and in which blocks. */
struct quarry_grid {
    uint32_t blocks;  /* at least 1 */
    uint32_t threads; /* of a block, 1 to 1024 */

    /* Block-shared memory, for simt_shared().  CPU: at most 227 KiB, like the largest GPUs.  CUDA: what the
     * device allows a block that opts in (sm_75: 64 KiB). */
    uint32_t shared_bytes;
};

/* Runs a kernel (quarry/simt/kernel.h) on the target.
 *   kernel    ARGUMENT if it is a do-all (quarry/object.h): quarry_object_do runs it
 *   grid      ARGUMENT if it is out of range or has 2^32 threads or more
 *   argument  a struct of the kernel's type, copied before this returns
 * CUDA: queued in the target's stream, not waited for; what goes wrong in the kernel comes back from a later
 * call that waits.
 * CPU: has run when this returns.  DEADLOCK if nothing advanced any more, ASSERT if an assertion failed or a
 * lane ran beyond its stack; the detail says where.  Memory is then as the lanes left it: a heap that they were
 * using needs quarry_heap_reset.  MEMORY if there is none for the lanes' stacks; then no lane has run.  A lane
 * has target.stack_bytes of stack, and 64 KiB behind it belong to nobody: so an access there is found.  A function
 * with more than 64 KiB of variables may step over them, unless it is compiled with -fstack-clash-protection.  With
 * more than some 10 000 lanes at a time, some stacks have no such bytes behind them.  While a launch runs, it has a
 * handler for SIGSEGV, which leaves other faults to the handler that was there.
 * BACKEND if the kernel was not compiled for the target's backend.
 * COMBINATION if a handle in the argument is of a heap that the kernel is not compiled for (QUARRY_ALLOCATOR,
 * QUARRY_OOM and so on); nothing runs.  A handle that the argument only points to is not seen here.  Then
 * quarry_heap_statistics and quarry_heap_check of that heap tell it afterwards.
 *
 * Launches are numbered, from 1 on in each process.  Blocks of a heap in debug mode know the number of their launch.
 * It may be that of another, or 0, if launches run on the device at the same time, in several streams or threads; and
 * it is 0 if the program launches its kernels itself. */
enum quarry_status quarry_launch(const struct simt_kernel *kernel, const struct quarry_target *target,
                                 struct quarry_grid grid, const void *argument);

/* For quarry_kernel_describe. */
struct quarry_kernel_info {
    uint32_t registers;   /* of a thread; CPU: 0 */
    uint32_t local_bytes; /* of its stack and of spilled registers; CPU: 0 */
};

/* What the compiler made of a kernel for the target's device.  BACKEND as quarry_launch. */
enum quarry_status quarry_kernel_describe(const struct simt_kernel *kernel,
                                          const struct quarry_target *target,
                                          struct quarry_kernel_info *info);

/* A grid of at least `threads` threads in blocks of 256: 1024 for 1000.  A kernel that has work for fewer threads looks
 * at simt_thread(). */
struct quarry_grid quarry_grid_for(uint64_t threads);

/* Waits for everything queued in the target's stream, by whatever thread; reports what failed there. */
enum quarry_status quarry_target_wait(const struct quarry_target *target);

/* ---- timing ---- */

/* A point in a target's stream, and its time. */
typedef struct quarry_event quarry_event;
/* Makes an event of the target; *out is NULL after an error. */
enum quarry_status quarry_event_create(const struct quarry_target *target, quarry_event **out);

/* Never waits, also if the stream has not reached the event yet.  NULL is a no-op. */
enum quarry_status quarry_event_destroy(quarry_event *event);

/* The event takes the time at which the target's stream reaches this point (CPU: the time of the call); the
 * time that it had is forgotten.  Does not wait. */
enum quarry_status quarry_event_record(quarry_event *event);

/* Microseconds between two recorded events of one target.  Waits until the stream has reached both.
 * ARGUMENT if one was never recorded, or they are of different devices. */
enum quarry_status quarry_event_elapsed(quarry_event *begin, quarry_event *end, double *microseconds);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
