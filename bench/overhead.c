/* SPDX-License-Identifier: Apache-2.0 */
/* quarry-overhead: what Quarry's interface costs around an allocator, in clock cycles of a call.
 *
 * The synthetic benchmark of C. Eckert, "Enhancements of the massively parallel memory allocator ScatterAlloc
 * and its adaption to the general interface mallocMC", TU Dresden 2014, section 5.1.  In each step the host
 * draws a number, by which a kernel in which every worker allocates one block is launched with a probability
 * of 75 %, and one in which every worker frees it.  A worker holds one block at most: kernels that had
 * nothing to do are not launched.  The first steps, a quarter as many as are counted, warm up.
 *
 *     bare       scatter's own malloc and free; pages keep their cell size, as in the thesis
 *     direct     the same heap behind quarry_malloc, its policies fixed when the kernel is compiled
 *     composed   alignment 128, distribution by warp, a function called for want of space, likewise; a warp's
 *                blocks have different sizes, so pages that are freed lose theirs
 *     cuda       the CUDA toolkit's malloc
 *
 * Standard output: CSV, one row for each run, when all are done.  Exit codes: 0 done, 1 failed or a heap that
 * had fewer slots after a run than before, 2 usage; then there are no rows. */
#include "arguments.h"
#include "overhead_kernels.h"

#include "quarry/quarry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS (1u << 20)
#define MAX_BYTES 4096u
#define DEFAULT_HEAP_MIB 256u
#define OCCUPIED 16640u /* threads that the thesis's GPU held at once */

enum { OK = ARGUMENTS_OK, FAILED = ARGUMENTS_FAILED, USAGE = ARGUMENTS_USAGE };

#define CONTESTANT(name)                                                                                     \
    SIMT_KERNEL_DECLARE(overhead_##name##_malloc);                                                           \
    SIMT_KERNEL_DECLARE(overhead_##name##_free)
CONTESTANT(bare);
CONTESTANT(direct);
CONTESTANT(composed);
CONTESTANT(cuda);

static const struct contestant {
    const char *name;
    const struct simt_kernel *kernels[2]; /* malloc, free */
    const char *allocator;
    int keep_pages;
    uint64_t alignment;
    enum quarry_distribution distribution;
    enum quarry_oom oom;
} contestants[] = {
    {"bare",
     {&overhead_bare_malloc, &overhead_bare_free},
     "scatter",
     1,
     0,
     QUARRY_DISTRIBUTION_NONE,
     QUARRY_OOM_NULL},
    {"direct",
     {&overhead_direct_malloc, &overhead_direct_free},
     "scatter",
     1,
     0,
     QUARRY_DISTRIBUTION_NONE,
     QUARRY_OOM_NULL},
    {"composed",
     {&overhead_composed_malloc, &overhead_composed_free},
     "scatter",
     0,
     128,
     QUARRY_DISTRIBUTION_WARP,
     QUARRY_OOM_CALL},
    {"cuda",
     {&overhead_cuda_malloc, &overhead_cuda_free},
     "cuda",
     0,
     0,
     QUARRY_DISTRIBUTION_NONE,
     QUARRY_OOM_NULL},
};
enum { CONTESTANTS = sizeof contestants / sizeof *contestants };

/* Section 5.1.1. */
static const uint32_t thesis_bytes[] = {16, 32, 64, 128};
static const uint32_t thesis_threads[] = {
    2,    4,    6,    8,    12,   16,   20,   24,   28,   32,   40,   48,    56,    64,    80,
    96,   128,  160,  192,  224,  256,  320,  384,  448,  512,  640,  768,   896,   1024,  1280,
    1536, 1792, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336, 16384};

struct options {
    struct quarry_target target;
    unsigned chosen; /* contestants, a bit for each */
    uint32_t bytes[ARGUMENTS_MAX_LIST];
    uint32_t sizes;
    uint32_t *threads; /* how many workers */
    uint32_t counts;
    uint32_t every; /* not 0: that many, twice that many, ... */
    uint32_t runs;
    uint32_t steps;
    uint64_t heap_bytes;
};

struct row {
    const struct contestant *contestant;
    uint32_t bytes;
    uint32_t threads;
    uint32_t run;
    struct overhead_tally tally;
    uint64_t slots[2]; /* before and after */
    int counted;       /* are there slots? */
};

struct bench {
    const struct options *options;
    quarry_heap *heaps[CONTESTANTS];
    void *blocks;
    void *tally;
};

static int fail_library(void)
{
    return arguments_fail(FAILED, "%s", quarry_error_detail());
}

/* ---- runs ---- */

/* Launches a contestant's malloc (0) or free (1). */
static enum quarry_status launch(const struct bench *bench, uint32_t c, int which,
                                 const struct overhead_case *argument)
{
    return quarry_launch(contestants[c].kernels[which], &bench->options->target,
                         quarry_grid_for(argument->threads), argument);
}

/* So many steps.  *held: whether the workers hold blocks. */
static enum quarry_status take_steps(const struct bench *bench, uint32_t c,
                                     const struct overhead_case *argument, uint32_t steps, unsigned *seed,
                                     int *held)
{
    enum quarry_status status = QUARRY_OK;
    for (uint32_t step = 0; step < steps && status == QUARRY_OK; step++) {
        int number = rand_r(seed);
        if (number % 4 && !*held) {
            status = launch(bench, c, 0, argument);
            *held = 1;
        }
        if (number / 4 % 4 && *held && status == QUARRY_OK) {
            status = launch(bench, c, 1, argument);
            *held = 0;
        }
    }
    return status;
}

static enum quarry_status count_slots(const struct bench *bench, uint32_t c, const struct row *row,
                                      uint64_t *slots)
{
    return row->counted ? quarry_heap_slots(bench->heaps[c], row->bytes, slots) : QUARRY_OK;
}

static enum quarry_status run(const struct bench *bench, uint32_t c, struct row *row)
{
    const struct quarry_target *target = &bench->options->target;
    const uint32_t steps = bench->options->steps;
    struct overhead_case argument;
    unsigned seed = row->run;
    int held = 0;
    memset(&argument, 0, sizeof argument);
    argument.heap = quarry_heap_handle(bench->heaps[c]);
    argument.blocks = bench->blocks;
    argument.tally = bench->tally;
    argument.bytes = row->bytes;
    argument.threads = row->threads;
    enum quarry_status status = row->counted ? quarry_heap_reset(bench->heaps[c]) : QUARRY_OK;
    if (status == QUARRY_OK)
        status = count_slots(bench, c, row, &row->slots[0]);
    if (status == QUARRY_OK)
        status = take_steps(bench, c, &argument, steps / 4, &seed, &held);
    if (status == QUARRY_OK)
        status = quarry_memory_fill(target, bench->tally, 0, sizeof row->tally);
    if (status == QUARRY_OK)
        status = take_steps(bench, c, &argument, steps, &seed, &held);
    if (status == QUARRY_OK)
        status = quarry_memory_copy(target, &row->tally, bench->tally, sizeof row->tally);
    if (status == QUARRY_OK && held)
        status = launch(bench, c, 1, &argument);
    if (status == QUARRY_OK)
        status = count_slots(bench, c, row, &row->slots[1]);
    return status;
}

/* Runs of all contestants in turn, so that what changes meanwhile changes for all. */
static int run_all(const struct bench *bench, struct row *row)
{
    const struct options *options = bench->options;
    for (uint32_t size = 0; size < options->sizes; size++)
        for (uint32_t count = 0; count < options->counts; count++)
            for (uint32_t i = 0; i < options->runs; i++)
                for (uint32_t c = 0; c < CONTESTANTS; c++) {
                    if (!bench->heaps[c])
                        continue;
                    row->contestant = &contestants[c];
                    row->bytes = options->bytes[size];
                    row->threads = options->threads[count];
                    row->run = i + 1;
                    row->counted = strcmp(contestants[c].allocator, "cuda") != 0;
                    if (run(bench, c, row) != QUARRY_OK)
                        return fail_library();
                    if (row->tally.nulls)
                        return arguments_fail(FAILED,
                                              "%s, %" PRIu32 " workers, %" PRIu32 " bytes: %" PRIu64
                                              " mallocs found no room; give a larger --heap",
                                              contestants[c].name, row->threads, row->bytes,
                                              row->tally.nulls);
                    if (row->slots[0] != row->slots[1])
                        return arguments_fail(FAILED,
                                              "%s, %" PRIu32 " workers, %" PRIu32 " bytes: %" PRIu64
                                              " slots before and %" PRIu64 " after everything was freed",
                                              contestants[c].name, row->threads, row->bytes, row->slots[0],
                                              row->slots[1]);
                    row++;
                }
    return OK;
}

/* ---- output ---- */

static void print_mean(const struct overhead_tally *tally, int which)
{
    if (tally->calls[which])
        printf(",%.2f", (double)tally->cycles[which] / (double)tally->calls[which]);
    else
        putchar(',');
}

static int print_rows(const struct options *options, const struct row *rows, size_t count)
{
    struct quarry_device_info device;
    const char *backend = options->target.backend == QUARRY_BACKEND_CUDA ? "cuda" : "cpu";
    if (quarry_device_describe(&options->target, &device) != QUARRY_OK)
        return fail_library();
    puts("device,backend,contestant,bytes,threads,run,malloc_cycles,free_cycles,mallocs,frees,slots_before,"
         "slots_after");
    for (const struct row *row = rows; row < rows + count; row++) {
        printf("\"%s\",%s,%s,%" PRIu32 ",%" PRIu32 ",%" PRIu32, device.name, backend, row->contestant->name,
               row->bytes, row->threads, row->run);
        print_mean(&row->tally, 0);
        print_mean(&row->tally, 1);
        printf(",%" PRIu64 ",%" PRIu64, row->tally.calls[0], row->tally.calls[1]);
        if (row->counted)
            printf(",%" PRIu64 ",%" PRIu64 "\n", row->slots[0], row->slots[1]);
        else
            puts(",,");
    }
    return fflush(stdout) || ferror(stdout) ? arguments_fail(FAILED, "can't write to standard output") : OK;
}

/* ---- set-up ---- */

static enum quarry_status create_heap(const struct options *options, uint32_t c, quarry_heap **heap)
{
    struct quarry_heap_options chosen = QUARRY_HEAP_OPTIONS_INIT;
    chosen.target = options->target;
    chosen.allocator = contestants[c].allocator;
    chosen.pool_bytes = options->heap_bytes;
    const struct quarry_option keep = {"keep_pages", 1};
    chosen.set = &keep;
    chosen.set_count = contestants[c].keep_pages != 0;
    chosen.alignment = contestants[c].alignment;
    chosen.distribution = contestants[c].distribution;
    chosen.oom = contestants[c].oom;
    return quarry_heap_create(heap, &chosen);
}

static int measure(const struct options *options, struct row *rows)
{
    struct bench bench;
    uint32_t most = 0;
    enum quarry_status status = QUARRY_OK;
    memset(&bench, 0, sizeof bench);
    bench.options = options;
    for (uint32_t i = 0; i < options->counts; i++)
        most = options->threads[i] > most ? options->threads[i] : most;
    /* From the last on: the toolkit's heap has to be there before any kernel runs
     * (docs/reference/alloc/cuda.md). */
    for (uint32_t c = CONTESTANTS; c-- > 0 && status == QUARRY_OK;)
        if (options->chosen >> c & 1u)
            status = create_heap(options, c, &bench.heaps[c]);
    if (status == QUARRY_OK)
        status =
            quarry_memory_create(&options->target, QUARRY_POOL_DEVICE, sizeof(void *) * most, &bench.blocks);
    if (status == QUARRY_OK)
        status = quarry_memory_create(&options->target, QUARRY_POOL_DEVICE, sizeof(struct overhead_tally),
                                      &bench.tally);
    int code = status == QUARRY_OK ? run_all(&bench, rows) : fail_library();
    quarry_memory_destroy(&options->target, QUARRY_POOL_DEVICE, bench.blocks);
    quarry_memory_destroy(&options->target, QUARRY_POOL_DEVICE, bench.tally);
    for (uint32_t c = 0; c < CONTESTANTS; c++)
        quarry_heap_destroy(bench.heaps[c]);
    return code;
}

/* ---- options ---- */

static const char help[] =
    "Usage: quarry-overhead [OPTION...]\n"
    "\n"
    "Clock cycles of a malloc and of a free: of scatter by itself, behind Quarry's interface, composed with\n"
    "policies, and of the CUDA toolkit's, as CSV (Eckert, mallocMC, section 5.1).\n"
    "\n"
    "  --backend NAME       auto, cuda or cpu (auto)\n"
    "  --contestants A,B    of bare, direct, composed and cuda (all)\n"
    "  --bytes A,B          sizes of a block, 1 to 4096 (16,32,64,128)\n"
    "  --workers A,B        threads, 1 to 1048576 (the 45 numbers from 2 to 16384 of section 5.1.1)\n"
    "  --every N            instead: N, 2 N, ... up to 16640, as in appendix B\n"
    "  --runs N             of each combination, 1 to 1000 (5)\n"
    "  --steps N            counted steps of a run, 4 to 100000 (60)\n"
    "  --heap MIB           size of each heap, 1 to 65536 (256)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 usage.\n";

/* Returns the bits of the contestants, or 0 if there is one of no such name. */
static unsigned parse_contestants(const char *text)
{
    const char *names[CONTESTANTS];
    for (uint32_t c = 0; c < CONTESTANTS; c++)
        names[c] = contestants[c].name;
    return arguments_names(text, names, CONTESTANTS);
}

enum { BACKEND = 1, CHOSEN, BYTES, WORKERS, EVERY, RUNS, STEPS, HEAP };

/* Fills *options, which has the defaults.  threads has room for ARGUMENTS_MAX_LIST. */
static int parse_option(int key, const char *text, void *to)
{
    struct options *options = to;
    switch (key) {
    case BACKEND:
        return arguments_backend(text, &options->target.backend);
    case CHOSEN:
        options->chosen = parse_contestants(text);
        return options->chosen
                   ? OK
                   : arguments_fail(USAGE, "--contestants '%s': give some of bare,direct,composed,cuda",
                                    text);
    case BYTES:
        options->sizes = arguments_list(text, MAX_BYTES, options->bytes);
        return options->sizes
                   ? OK
                   : arguments_fail(USAGE, "--bytes '%s': give up to %u numbers from 1 to %u, with commas",
                                    text, ARGUMENTS_MAX_LIST, MAX_BYTES);
    case WORKERS:
        options->counts = arguments_list(text, MAX_THREADS, options->threads);
        return options->counts
                   ? OK
                   : arguments_fail(USAGE, "--workers '%s': give up to %u numbers from 1 to %u, with commas",
                                    text, ARGUMENTS_MAX_LIST, MAX_THREADS);
    case EVERY:
        options->every = arguments_number(text, 1, OCCUPIED);
        return options->every
                   ? OK
                   : arguments_fail(USAGE, "--every '%s': give a number from 1 to %u", text, OCCUPIED);
    case RUNS:
        options->runs = arguments_number(text, 1, 1000);
        return options->runs ? OK : arguments_fail(USAGE, "--runs '%s': give a number from 1 to 1000", text);
    case STEPS:
        options->steps = arguments_number(text, 4, 100000);
        return options->steps ? OK
                              : arguments_fail(USAGE, "--steps '%s': give a number from 4 to 100000", text);
    case HEAP:
        options->heap_bytes = (uint64_t)arguments_number(text, 1, 65536) << 20;
        return options->heap_bytes ? OK
                                   : arguments_fail(USAGE, "--heap '%s': give MiB, from 1 to 65536", text);
    default:
        return OK;
    }
}

static const struct option option_list[] = {
    {"backend", required_argument, NULL, BACKEND}, {"contestants", required_argument, NULL, CHOSEN},
    {"bytes", required_argument, NULL, BYTES},     {"workers", required_argument, NULL, WORKERS},
    {"every", required_argument, NULL, EVERY},     {"runs", required_argument, NULL, RUNS},
    {"steps", required_argument, NULL, STEPS},     {"heap", required_argument, NULL, HEAP},
    {"help", no_argument, NULL, ARGUMENTS_HELP},   {NULL, 0, NULL, 0}};

int main(int argc, char **argv)
{
    static uint32_t threads[OCCUPIED];
    struct options options;
    memset(&options, 0, sizeof options);
    memcpy(options.bytes, thesis_bytes, sizeof thesis_bytes);
    memcpy(threads, thesis_threads, sizeof thesis_threads);
    options.sizes = sizeof thesis_bytes / sizeof *thesis_bytes;
    options.threads = threads;
    options.counts = sizeof thesis_threads / sizeof *thesis_threads;
    options.chosen = (1u << CONTESTANTS) - 1u;
    options.runs = 5;
    options.steps = 60;
    options.heap_bytes = (uint64_t)DEFAULT_HEAP_MIB << 20;
    int code = arguments_parse(argc, argv, option_list, help, parse_option, &options);
    if (code >= 0)
        return code;
    if (options.every) {
        options.counts = OCCUPIED / options.every;
        for (uint32_t i = 0; i < options.counts; i++)
            threads[i] = (i + 1) * options.every;
    }
    if (quarry_target_resolve(&options.target) != QUARRY_OK)
        return fail_library();

    const size_t combinations = (size_t)options.sizes * options.counts * options.runs;
    struct row *rows = calloc(combinations * CONTESTANTS, sizeof *rows);
    if (!rows)
        return arguments_fail(FAILED, "no host memory for %zu rows", combinations * CONTESTANTS);
    code = measure(&options, rows);
    if (code == OK)
        code = print_rows(&options, rows, combinations * simt_popc_u32(options.chosen));
    free(rows);
    return code;
}
