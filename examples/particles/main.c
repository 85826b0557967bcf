/* SPDX-License-Identifier: Apache-2.0 */
/* A particle-in-cell program's use of memory: atoms, ions and electrons move through cells, become one
 * another, and lie in frames of 8192 bytes that kernels allocate and free in every step.  README.md says
 * more. */
#define APART /* the whole of struct simulation */
#include "particles.h"
#include "quarry/quarry.h"
#include "quarry/trace.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SIDE 1024u
#define MOST_ATOMS (1u << 28)
#define MOST_STEPS 1000000u

/* The same kernels, for each allocator. */
struct allocator {
    const char *name;
    uint64_t page_bytes;
    int counts; /* 0: can't say how many blocks there are, nor how many more fit */
    const struct simt_kernel *create, *move, *arrive, *discard, *count, *judge;
};

#define DECLARE(id)                                                                                          \
    SIMT_KERNEL_DECLARE(id##_create);                                                                        \
    SIMT_KERNEL_DECLARE(id##_move);                                                                          \
    SIMT_KERNEL_DECLARE(id##_arrive);                                                                        \
    SIMT_KERNEL_DECLARE(id##_discard);                                                                       \
    SIMT_KERNEL_DECLARE(id##_count);                                                                         \
    SIMT_KERNEL_DECLARE(id##_judge);
#define ALLOCATOR(id, name, page_bytes, counts)                                                              \
    {                                                                                                        \
        name, page_bytes, counts, &id##_create, &id##_move, &id##_arrive, &id##_discard, &id##_count,        \
            &id##_judge                                                                                      \
    }

DECLARE(ring)
DECLARE(scatter)
DECLARE(corw)
DECLARE(rw_malloc)
DECLARE(quarry)
DECLARE(cuda)
DECLARE(traced) /* corw's */
DECLARE(apart)  /* ring's */

static const struct allocator allocators[] = {
    ALLOCATOR(ring, "ring", FRAME_BYTES, 1),
    ALLOCATOR(scatter, "scatter", FRAME_BYTES * 32, 1), /* as in the thesis, section 5.2.1 */
    ALLOCATOR(corw, "corw", FRAME_BYTES, 1),
    ALLOCATOR(rw_malloc, "rw-malloc", FRAME_BYTES, 1),
    ALLOCATOR(quarry, "quarry", FRAME_BYTES * 32, 1),
    ALLOCATOR(cuda, "cuda", FRAME_BYTES, 0),
};
#define ALLOCATORS (sizeof allocators / sizeof *allocators)
static const struct allocator recorded = ALLOCATOR(traced, "", 0, 1);
static const struct allocator separate = ALLOCATOR(apart, "", 0, 1);

/* A run, and a line of what it prints. */
struct run {
    const struct allocator *allocator;
    const struct allocator *kernels; /* the allocator's, recorded or separate ones */
    const char *trace_path;          /* NULL: nothing is recorded */
    struct quarry_target target;
    quarry_heap *heap[LISTS];
    uint32_t heaps;           /* 1, or LISTS with --apart */
    uint64_t heap_bytes;      /* of all */
    struct simulation device; /* argument of the kernels */
    quarry_event *begin, *end;
    uint64_t energy;      /* at the beginning */
    uint64_t room[LISTS]; /* frames that each empty heap has room for; if it counts */
};

struct row {
    uint64_t population[SPECIES];
    uint64_t frames;
    uint64_t used_bytes;
    double microseconds;
};

static quarry_trace *trace; /* which leaves no file if the run fails */

__attribute__((format(printf, 2, 3), noreturn)) static void quit(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("particles: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    quarry_trace_cancel(trace);
    exit(status);
}

#define CHECK(call) ((call) == QUARRY_OK ? (void)0 : quit(1, "%s", quarry_error_detail()))

/* ---- options ---- */

static const char usage[] =
    "Usage: particles [OPTION...]\n"
    "Moves particles through cells, in frames that kernels allocate and free, and prints what each step did "
    "as CSV.\n"
    "\n"
    "  --allocator NAME  ring, scatter, corw (default), rw-malloc, quarry or cuda\n"
    "  --apart           a ring for each species, and one for the particles that leave their cells\n"
    "  --backend NAME    cuda or cpu (default: cuda if there is a GPU)\n"
    "  --atoms N         atoms at the beginning, 1 to 256M (default: 1M, cpu: 8K)\n"
    "  --cells N         the world has N x N cells, 3 to 1024 (default: 64, cpu: 4)\n"
    "  --steps N         1 to 1000000 (default: 100)\n"
    "  --heap BYTES      heap of all frames (default: enough); with --apart, of all rings in equal shares\n"
    "  --trace FILE      record mallocs and frees of corw there, for `quarry replay`; slower\n"
    "\n"
    "N and BYTES may end with K, M or G.  Exit status: 0; 1 if the run failed; 2 for a wrong option.\n";

static uint64_t parse_number(const char *option, const char *text, uint64_t least, uint64_t most)
{
    static const char suffixes[] = "KMG";
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    int shift = suffix ? 10 * (int)(suffix - suffixes + 1) : 0;
    end += suffix != NULL;
    if (*text < '0' || *text > '9' || *end || value > most >> shift || value << shift < least)
        quit(2, "--%s %s: give a number from %" PRIu64 " to %" PRIu64, option, text, least, most);
    return value << shift;
}

static const struct allocator *parse_allocator(const char *text)
{
    for (size_t i = 0; i < ALLOCATORS; i++)
        if (strcmp(text, allocators[i].name) == 0)
            return &allocators[i];
    quit(2, "--allocator %s: give ring, scatter, corw, rw-malloc, quarry or cuda", text);
}

static enum quarry_backend parse_backend(const char *text)
{
    if (strcmp(text, "cuda") != 0 && strcmp(text, "cpu") != 0)
        quit(2, "--backend %s: give cuda or cpu", text);
    return strcmp(text, "cuda") == 0 ? QUARRY_BACKEND_CUDA : QUARRY_BACKEND_CPU;
}

static void parse(int argc, char **argv, struct run *run)
{
    static const struct option options[] = {
        {"allocator", required_argument, NULL, 'a'},
        {"apart", no_argument, NULL, 'p'},
        {"backend", required_argument, NULL, 'b'},
        {"atoms", required_argument, NULL, 'n'},
        {"cells", required_argument, NULL, 'c'},
        {"steps", required_argument, NULL, 's'},
        {"heap", required_argument, NULL, 'm'},
        {"trace", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const char *word;
    int option;
    opterr = 0;
    run->heaps = 1;
    run->device.steps = 100;
    while (word = argv[optind], (option = getopt_long(argc, argv, "+:h", options, NULL)) != -1)
        switch (option) {
        case 'a':
            run->allocator = parse_allocator(optarg);
            break;
        case 'p':
            run->heaps = LISTS;
            break;
        case 'b':
            run->target.backend = parse_backend(optarg);
            break;
        case 'n':
            run->device.atoms = (uint32_t)parse_number("atoms", optarg, 1, MOST_ATOMS);
            break;
        case 'c':
            run->device.side = (uint32_t)parse_number("cells", optarg, 3, MOST_SIDE);
            break;
        case 's':
            run->device.steps = (uint32_t)parse_number("steps", optarg, 1, MOST_STEPS);
            break;
        case 'm':
            run->heap_bytes = parse_number("heap", optarg, 1, (uint64_t)1 << 50);
            break;
        case 't':
            run->trace_path = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        case ':':
            quit(2, "%s needs a value; --help shows the options", argv[optind - 1]);
        default:
            quit(2, "no option %s; --help shows the options", word);
        }
    if (optind < argc)
        quit(2, "no argument '%s' is wanted; --help shows the options", argv[optind]);
    int apart = run->heaps > 1;
    if (!run->allocator)
        run->allocator = parse_allocator(apart ? "ring" : "corw");
    run->kernels = run->trace_path ? &recorded : apart ? &separate : run->allocator;
    if (apart && (run->trace_path || run->allocator != parse_allocator("ring")))
        quit(2, "--apart gives each species a ring: leave out --trace and any other --allocator");
    if (run->trace_path && run->allocator != parse_allocator("corw"))
        quit(2, "--trace records corw, and what it records suits any: leave --allocator out");
    CHECK(quarry_target_resolve(&run->target));
    int on_cuda = run->target.backend == QUARRY_BACKEND_CUDA;
    if (!run->device.atoms)
        run->device.atoms = on_cuda ? 1u << 20 : 1u << 13;
    if (!run->device.side)
        run->device.side = on_cuda ? 64 : 4;
}

/* ---- a run ---- */

static const char *name_of(const struct run *run, uint32_t i)
{
    static const char *const rings[LISTS] = {"the ring of atoms", "the ring of ions", "the ring of electrons",
                                             "the ring of leaving particles"};
    return run->heaps == 1 ? "the heap" : rings[i];
}

/* How many more frames fit into heap number i. */
static uint64_t room(const struct run *run, uint32_t i)
{
    uint64_t frames = 0;
    if (run->allocator->counts)
        CHECK(quarry_heap_slots(run->heap[i], FRAME_BYTES, &frames));
    return frames;
}

/* Bytes of a heap for so many particles, and a frame that is not full in each of so many lists of a cell. */
static uint64_t bytes_for(const struct simulation *s, uint64_t particles, uint32_t lists)
{
    uint64_t frames = particles / FRAME_PARTICLES + (uint64_t)s->side * s->side * lists;
    return frames * FRAME_BYTES / 64 * 65 + ((uint64_t)1 << 20);
}

/* Heap number i for as many frames as there can be: those of all particles twice, as they are in a cell and
 * leave another, in the lists that a step takes apart and in those that it makes.  Apart: a species can have
 * as many particles as there were atoms, and all of all species can leave. */
static uint64_t enough(const struct run *run, uint32_t i)
{
    const struct simulation *s = &run->device;
    if (run->heaps == 1)
        return bytes_for(s, 4ull * s->atoms, SPECIES + LISTS);
    return i == LEAVING ? bytes_for(s, 2ull * s->atoms, 1) : bytes_for(s, s->atoms, 2);
}

static void *reserve(struct run *run, uint64_t bytes)
{
    void *memory;
    CHECK(quarry_memory_create(&run->target, QUARRY_POOL_DEVICE, bytes, &memory));
    CHECK(quarry_memory_fill(&run->target, memory, 0, bytes));
    return memory;
}

static void begin(struct run *run)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct simulation *s = &run->device;
    uint64_t given = run->heap_bytes;
    run->heap_bytes = 0;
    options.target = run->target;
    options.allocator = run->allocator->name;
    options.page_bytes = run->allocator->page_bytes;
    for (uint32_t i = 0; i < run->heaps; i++) {
        /* Equal shares, whose sum is what is given; no first one is 0, which would be a default. */
        options.pool_bytes = given ? (given + run->heaps - 1 - i) / run->heaps : enough(run, i);
        CHECK(quarry_heap_create(&run->heap[i], &options));
        run->room[i] = room(run, i);
        run->heap_bytes += options.pool_bytes;
        s->ring[i] = quarry_heap_handle(run->heap[i]);
    }
    s->heap = s->ring[0];
    s->list = reserve(run, sizeof *s->list * LISTS * s->side * s->side);
    s->tally = reserve(run, sizeof *s->tally);
    s->seen = reserve(run, sizeof *s->seen * 2 * s->atoms);
    CHECK(quarry_event_create(&run->target, &run->begin));
    CHECK(quarry_event_create(&run->target, &run->end));
    if (run->trace_path)
        CHECK(quarry_trace_begin(&trace, run->heap[0], run->trace_path, 0));
}

static void launch(struct run *run, const struct simt_kernel *kernel, uint64_t threads)
{
    CHECK(quarry_launch(kernel, &run->target, quarry_grid_for(threads), &run->device));
    if (trace)
        CHECK(quarry_trace_drain(trace));
}

/* Step 0 makes the atoms. */
static void advance(struct run *run)
{
    const struct allocator *kernels = run->kernels;
    uint64_t threads = (uint64_t)SIMT_LANES * run->device.side * run->device.side;
    CHECK(quarry_event_record(run->begin));
    if (run->device.step == 0) {
        launch(run, kernels->create, threads);
    } else {
        launch(run, kernels->move, threads);
        launch(run, kernels->arrive, threads);
        run->device.forget = LEAVING;
        launch(run, kernels->discard, threads);
    }
    CHECK(quarry_event_record(run->end));
}

/* Writes the trace if there is one, or drops it. */
static void end_trace(int keep)
{
    quarry_trace *ended = trace;
    trace = NULL;
    if (ended)
        CHECK(keep ? quarry_trace_end(ended, NULL) : quarry_trace_cancel(ended));
}

/* Frees every frame; then each heap must be as it was.
 *   keep  the trace */
static void finish(struct run *run, int keep)
{
    run->device.forget = 0;
    launch(run, run->kernels->discard, (uint64_t)SIMT_LANES * run->device.side * run->device.side);
    end_trace(keep);
    for (uint32_t i = 0; i < run->heaps; i++) {
        CHECK(quarry_heap_check(run->heap[i]));
        if (room(run, i) != run->room[i])
            quit(1, "%s is empty and has room for %" PRIu64 " frames, and had for %" PRIu64, name_of(run, i),
                 room(run, i), run->room[i]);
        CHECK(quarry_heap_destroy(run->heap[i]));
    }
    CHECK(quarry_memory_destroy(&run->target, QUARRY_POOL_DEVICE, run->device.list));
    CHECK(quarry_memory_destroy(&run->target, QUARRY_POOL_DEVICE, run->device.tally));
    CHECK(quarry_memory_destroy(&run->target, QUARRY_POOL_DEVICE, run->device.seen));
    CHECK(quarry_event_destroy(run->begin));
    CHECK(quarry_event_destroy(run->end));
}

/* Looks at every particle, and at each heap. */
static struct row inspect(struct run *run)
{
    struct simulation *s = &run->device;
    struct quarry_statistics statistics;
    struct tally tally;
    struct row row;
    CHECK(quarry_memory_fill(&run->target, s->tally, 0, sizeof tally));
    launch(run, run->kernels->count, (uint64_t)SIMT_LANES * s->side * s->side);
    launch(run, run->kernels->judge, 2ull * s->atoms);
    CHECK(quarry_memory_copy(&run->target, &tally, s->tally, sizeof tally));
    if (s->step == 0)
        run->energy = tally.energy;
    if (tally.wrong || tally.energy != run->energy)
        quit(1, "step %u: %" PRIu64 " particles or ids are wrong, and the energy is %" PRIu64 " of %" PRIu64,
             s->step, tally.wrong, tally.energy, run->energy);
    memcpy(row.population, tally.population, sizeof row.population);
    row.frames = tally.frames;
    row.used_bytes = 0;
    for (uint32_t i = 0; i < run->heaps; i++) {
        uint64_t frames = run->heaps == 1 ? tally.frames : tally.frames_of[i];
        CHECK(quarry_heap_statistics(run->heap[i], &statistics));
        if (run->allocator->counts &&
            (statistics.live_blocks != frames || room(run, i) + frames != run->room[i]))
            quit(1,
                 "step %u: %s has %" PRIu64 " frames, but %" PRIu64 " blocks, and %" PRIu64 " of %" PRIu64
                 " are free",
                 s->step, name_of(run, i), frames, statistics.live_blocks, room(run, i), run->room[i]);
        row.used_bytes += run->allocator->counts ? statistics.live_bytes : frames * FRAME_BYTES;
    }
    CHECK(quarry_event_elapsed(run->begin, run->end, &row.microseconds));
    return row;
}

/* Were there frames for all particles of the step? */
static int had_room(struct run *run)
{
    struct tally tally;
    CHECK(quarry_memory_copy(&run->target, &tally, run->device.tally, sizeof tally));
    return tally.lost == 0;
}

/* Ends the run after a step for which a heap had no room: the first that a malloc failed in. */
__attribute__((noreturn)) static void quit_full(struct run *run)
{
    uint32_t step = run->device.step, full = 0;
    uint64_t others = 0, left = 0; /* frames, after the step */
    for (uint32_t i = run->heaps; i-- > 0;) {
        struct quarry_statistics statistics;
        CHECK(quarry_heap_statistics(run->heap[i], &statistics));
        if (statistics.failed_mallocs)
            full = i;
    }
    for (uint32_t i = 0; i < run->heaps; i++) {
        others += i == full ? 0 : run->room[i];
        left += i == full ? 0 : room(run, i);
    }
    finish(run, 0);
    if (run->heaps == 1)
        quit(1, "step %u: the heap of %" PRIu64 " bytes is full; give it more by --heap", step,
             run->heap_bytes);
    quit(1,
         "step %u: %s is full with %" PRIu64 " frames, while %" PRIu64 " of the others' %" PRIu64
         " are free; give all more than %" PRIu64 " bytes by --heap, or leave out --apart",
         step, name_of(run, full), run->room[full], left, others, run->heap_bytes);
}

int main(int argc, char **argv)
{
    struct run run;
    memset(&run, 0, sizeof run);
    parse(argc, argv, &run);
    struct row *rows = calloc(run.device.steps + 1, sizeof *rows);
    if (!rows)
        quit(1, "no memory for %u steps", run.device.steps);
    begin(&run);
    for (uint32_t step = 0; step <= run.device.steps; step++) {
        run.device.step = step;
        advance(&run);
        if (!had_room(&run))
            quit_full(&run);
        rows[step] = inspect(&run);
    }
    finish(&run, 1);

    puts("allocator,backend,step,atoms,ions,electrons,frames,used_bytes,heap_bytes,microseconds");
    for (uint32_t step = 0; step <= run.device.steps; step++) {
        const struct row *row = &rows[step];
        printf("%s,%s,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.1f\n",
               run.allocator->name, run.target.backend == QUARRY_BACKEND_CUDA ? "cuda" : "cpu", step,
               row->population[ATOM], row->population[ION], row->population[ELECTRON], row->frames,
               row->used_bytes, run.heap_bytes, row->microseconds);
    }
    free(rows);
    if (fflush(stdout) != 0 || ferror(stdout))
        quit(1, "can't write to standard output");
}
