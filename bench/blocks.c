/* SPDX-License-Identifier: Apache-2.0 */
/* quarry-blocks: what the building blocks of core/ cost, beside floors and beside what was published.
 *
 *     figure5   I. Gelado, M. Garland, "Throughput-Oriented GPU Memory Allocation", PPoPP 2019, section 5.1: each
 *               thread gets one unit, none is there at the start, and a batch of 512 comes by one addition
 *     units     a semaphore that is never empty: one ask a thread or a warp; there are twice as many units as threads
 *     pairs     units taken and given back; read sections entered and left.  `rounds` of them
 *     figure6   section 5.2 there: each thread looks for its number in a list of which it removes it
 *
 * A variant that took longer than a limit is not run with more threads.  Each run begins with fresh memory,
 * and at the end of a measurement no unit may be lost or made.
 *
 * Standard output: CSV, one row for each measurement, when it is done.  Exit codes: 0 done, 1 failed or a
 * wrong count, 2 usage. */
#include "arguments.h"
#include "blocks_kernels.h"
#include "timing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_THREADS (1u << 20)
#define BATCH 512u /* units */
#define PAIR_ROUNDS 16u

enum { OK = ARGUMENTS_OK, FAILED = ARGUMENTS_FAILED, USAGE = ARGUMENTS_USAGE };

enum measure { FIGURE5, UNITS, PAIRS, FIGURE6, MEASURES };
static const char *const measure_names[MEASURES] = {"figure5", "units", "pairs", "figure6"};

/* What must be so after a run. */
enum check {
    NOTHING,
    TAKEN,       /* of the semaphore each thread has one unit */
    TAKEN_PAPER, /* of the paper's semaphore, with C, E and R */
    TAKEN_WORD,  /* of the counting one */
    GIVEN,       /* all units are there */
    NO_READER,
    ALL_REMOVED
};

static const struct variant {
    const char *name;
    const struct simt_kernel *kernel;
    enum measure measure;
    enum check check;
    uint32_t stock; /* units at the start, times threads */
} variants[] = {
    {"bulk", &blocks_bulk, FIGURE5, TAKEN, 0},
    {"bulk, once a warp", &blocks_bulk_warp, FIGURE5, TAKEN, 0},
    {"paper's bulk", &blocks_paper, FIGURE5, TAKEN_PAPER, 0},
    {"paper's bulk, once a warp", &blocks_paper_warp, FIGURE5, TAKEN_PAPER, 0},
    {"counting", &blocks_counting, FIGURE5, TAKEN_WORD, 0},
    {"one counter", &blocks_bump, FIGURE5, NOTHING, 0},
    {"one counter, once a warp", &blocks_bump_warp, FIGURE5, NOTHING, 0},
    {"one counter", &blocks_bump, UNITS, NOTHING, 0},
    {"one counter, once a warp", &blocks_bump_warp, UNITS, NOTHING, 0},
    {"ask", &blocks_ask, UNITS, TAKEN, 2},
    {"ask, once a warp", &blocks_ask_warp, UNITS, TAKEN, 2},
    {"ask relaxed, once a warp", &blocks_ask_relaxed_warp, UNITS, TAKEN, 2},
    {"try, once a warp", &blocks_try_warp, UNITS, TAKEN, 2},
    {"one counter, once a warp", &blocks_pair_bump_warp, PAIRS, NOTHING, 0},
    {"ask and signal, once a warp", &blocks_pair_warp, PAIRS, GIVEN, 2},
    {"read section, once a warp", &blocks_section_warp, PAIRS, NO_READER, 0},
    {"classical", &blocks_remove_classical, FIGURE6, ALL_REMOVED, 0},
    {"delegating", &blocks_remove_delegating, FIGURE6, ALL_REMOVED, 0},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

struct options {
    struct quarry_target target;
    unsigned measures; /* a bit for each */
    uint32_t threads[ARGUMENTS_MAX_LIST];
    uint32_t counts; /* of threads; 0: as the measure has it */
    uint32_t ratios[ARGUMENTS_MAX_LIST];
    uint32_t ratio_count;
    uint32_t runs;
    uint32_t limit_ms;
};

struct bench {
    const struct options *options;
    struct quarry_device_info device;
    struct timing timing;
    struct blocks_case memory; /* its pointers */
};

static int fail_library(void)
{
    return arguments_fail(FAILED, "%s", quarry_error_detail());
}

/* ---- one measurement ---- */

/* Compares the memory after a run with what it must be.  Returns 0 if it is wrong. */
static enum quarry_status check(const struct bench *bench, const struct variant *variant,
                                const struct blocks_case *a, int *right)
{
    const struct quarry_target *target = &bench->options->target;
    struct blocks_word words[BLOCKS_WORDS];
    struct quarry_srcu srcu;
    struct quarry_semaphore semaphore;
    uint64_t units = a->units, there;
    enum quarry_status status = quarry_memory_copy(target, words, a->words, sizeof words);
    if (status == QUARRY_OK)
        status = quarry_memory_copy(target, &srcu, a->srcu, sizeof srcu);
    if (status == QUARRY_OK)
        status = quarry_memory_copy(target, &semaphore, a->semaphore, sizeof semaphore);
    if (status != QUARRY_OK)
        return status;
    *right = quarry_semaphore_is_idle(&semaphore);
    there = (uint64_t)quarry_semaphore_there(semaphore.units);
    units += words[BLOCKS_MADE].word;
    switch (variant->check) {
    case TAKEN:
        *right &= there == units - a->threads;
        break;
    case TAKEN_PAPER:
        *right &= words[BLOCKS_UNITS].word == (units - a->threads) * BLOCKS_PAPER_C;
        break;
    case TAKEN_WORD:
        *right &= words[BLOCKS_UNITS].word == units - a->threads;
        break;
    case GIVEN:
        *right &= there == units;
        break;
    case NO_READER:
        *right &= srcu.readers == 0;
        break;
    case ALL_REMOVED:
        *right &= words[BLOCKS_REMOVED].word == a->element_count &&
                  words[BLOCKS_CALLBACKS].word == a->element_count && srcu.queue == 0 && srcu.waiting == 0;
        break;
    case NOTHING:
        break;
    }
    return QUARRY_OK;
}

static int print_row(const struct bench *bench, const struct variant *variant, const struct blocks_case *a,
                     const struct statistics *time)
{
    const char *backend = bench->options->target.backend == QUARRY_BACKEND_CUDA ? "cuda" : "cpu";
    printf("\"%s\",%s,%s,\"%s\",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%.3f,%.3f,%.3f,%" PRIu32
           ",%d\n",
           bench->device.name, backend, measure_names[variant->measure], variant->name, a->threads,
           a->element_count, a->batch, a->rounds, time->median, time->q1, time->q3, time->n, time->stable);
    return fflush(stdout) || ferror(stdout) ? arguments_fail(FAILED, "can't write to standard output") : OK;
}

/* Measures one variant with so many threads.  *over: it took longer than the limit. */
static int measure(struct bench *bench, const struct variant *variant, uint32_t threads, uint32_t elements,
                   int *over)
{
    struct blocks_case a = bench->memory;
    struct statistics times[2];
    int right = 0;
    a.threads = threads;
    a.element_count = elements;
    a.units = variant->stock * threads;
    a.batch = BATCH;
    a.rounds = variant->measure == PAIRS ? PAIR_ROUNDS : 1;
    const struct timing_step steps[] = {
        {.kernel = &blocks_start, .grid = quarry_grid_for(threads), .untimed = 1, .argument = &a},
        {.kernel = variant->kernel, .grid = quarry_grid_for(threads), .argument = &a},
    };
    if (timing_run(&bench->timing, steps, 2, times) != QUARRY_OK ||
        check(bench, variant, &a, &right) != QUARRY_OK)
        return fail_library();
    if (!right)
        return arguments_fail(FAILED, "%s, %s, %" PRIu32 " threads: wrong counts after a run",
                              measure_names[variant->measure], variant->name, threads);
    *over |= times[1].median > 1000.0 * bench->options->limit_ms;
    return print_row(bench, variant, &a, &times[1]);
}

/* ---- all of them ---- */

/* Powers of two from `least`, times `step`, to `most`. */
static uint32_t powers(uint32_t least, uint32_t most, uint32_t step, uint32_t *list)
{
    uint32_t count = 0;
    for (uint32_t n = least; n <= most; n *= step)
        list[count++] = n;
    return count;
}

static uint32_t default_threads(const struct options *options, enum measure m, uint32_t *list)
{
    int cuda = options->target.backend == QUARRY_BACKEND_CUDA;
    if (options->counts) {
        memcpy(list, options->threads, options->counts * sizeof *list);
        return options->counts;
    }
    if (m == FIGURE5)
        return powers(32, cuda ? MAX_THREADS : 4096, 2, list);
    if (m == FIGURE6)
        return powers(64, cuda ? 65536 : 1024, 4, list);
    list[0] = 32;
    list[1] = cuda ? 131072 : 1024;
    list[2] = cuda ? MAX_THREADS : 4096;
    return 3;
}

/* Variants in turn for each number of threads, so that what changes meanwhile changes for all. */
static int measure_all(struct bench *bench)
{
    const struct options *options = bench->options;
    int code = OK;
    printf("device,backend,measure,variant,threads,elements,batch,rounds,median_us,q1_us,q3_us,runs,"
           "stable\n");
    for (uint32_t m = 0; m < MEASURES && code == OK; m++) {
        uint32_t threads[ARGUMENTS_MAX_LIST], counts = default_threads(options, (enum measure)m, threads);
        if (!(options->measures >> m & 1u))
            continue;
        for (uint32_t r = 0; r < (m == FIGURE6 ? options->ratio_count : 1u); r++) {
            int over[VARIANTS] = {0};
            for (uint32_t i = 0; i < counts; i++) {
                uint32_t elements = m == FIGURE6 ? threads[i] / options->ratios[r] : 0;
                for (uint32_t v = 0; v < VARIANTS && code == OK; v++)
                    if (variants[v].measure == (enum measure)m && !over[v] && (m != FIGURE6 || elements))
                        code = measure(bench, &variants[v], threads[i], elements, &over[v]);
            }
        }
    }
    return code;
}

static enum quarry_status create(const struct options *options, uint64_t bytes, void **out)
{
    return quarry_memory_create(&options->target, QUARRY_POOL_DEVICE, bytes, out);
}

static int run(const struct options *options)
{
    struct bench bench;
    memset(&bench, 0, sizeof bench);
    bench.options = options;
    const struct timing_rule rule = {1, options->runs < 5 ? options->runs : 5, options->runs, 2.0};
    if (quarry_device_describe(&options->target, &bench.device) != QUARRY_OK ||
        timing_open(&bench.timing, &options->target, &rule) != QUARRY_OK)
        return fail_library();
    void *memory[7] = {0};
    const uint64_t bytes[7] = {sizeof(struct quarry_semaphore), BLOCKS_WORDS * sizeof(struct blocks_word),
                               sizeof(struct quarry_srcu),      sizeof(struct quarry_mutex),
                               sizeof(struct quarry_link),      MAX_THREADS * sizeof(struct blocks_element),
                               MAX_THREADS * sizeof(uint32_t)};
    enum quarry_status status = QUARRY_OK;
    for (int i = 0; i < 7 && status == QUARRY_OK; i++)
        status = create(options, bytes[i], &memory[i]);
    bench.memory.semaphore = memory[0];
    bench.memory.words = memory[1];
    bench.memory.srcu = memory[2];
    bench.memory.mutex = memory[3];
    bench.memory.list = memory[4];
    bench.memory.elements = memory[5];
    bench.memory.out = memory[6];
    int code = status == QUARRY_OK ? measure_all(&bench) : fail_library();
    for (int i = 0; i < 7; i++)
        quarry_memory_destroy(&options->target, QUARRY_POOL_DEVICE, memory[i]);
    timing_close(&bench.timing);
    return code;
}

/* ---- options ---- */

static const char help[] =
    "Usage: quarry-blocks [OPTION...]\n"
    "\n"
    "What the building blocks cost, as CSV: semaphores (figure 5 of Gelado and Garland, PPoPP 2019; one that "
    "is\n"
    "never empty), read sections, and barriers that delegate (figure 6 there).\n"
    "\n"
    "  --backend NAME     auto, cuda or cpu (auto)\n"
    "  --measures A,B     of figure5, units, pairs and figure6 (all)\n"
    "  --threads A,B      1 to 1048576 (those of each measure)\n"
    "  --ratios A,B       figure6: readers for a writer, 1 to 1048576 (1,4,16,64,256)\n"
    "  --runs N           of each measurement at most, 1 to 1000 (25)\n"
    "  --limit MS         a variant that took longer is not run with more threads, 1 to 100000 (100)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 done, 1 failed, 2 usage.\n";

enum { BACKEND = 1, CHOSEN, THREADS, RATIOS, RUNS, LIMIT };

static int parse_lists(int key, const char *text, struct options *options)
{
    const char *name = key == THREADS ? "threads" : "ratios";
    uint32_t *list = key == THREADS ? options->threads : options->ratios;
    uint32_t count = arguments_list(text, MAX_THREADS, list);
    *(key == THREADS ? &options->counts : &options->ratio_count) = count;
    return count ? OK
                 : arguments_fail(USAGE, "--%s '%s': give up to %u numbers from 1 to %u, with commas", name,
                                  text, ARGUMENTS_MAX_LIST, MAX_THREADS);
}

/* Fills *options, which has the defaults. */
static int parse_option(int key, const char *text, void *to)
{
    struct options *options = to;
    switch (key) {
    case BACKEND:
        return arguments_backend(text, &options->target.backend);
    case CHOSEN:
        options->measures = arguments_names(text, measure_names, MEASURES);
        return options->measures
                   ? OK
                   : arguments_fail(USAGE, "--measures '%s': give some of figure5,units,pairs,figure6", text);
    case THREADS:
    case RATIOS:
        return parse_lists(key, text, options);
    case RUNS:
        options->runs = arguments_number(text, 1, 1000);
        return options->runs ? OK : arguments_fail(USAGE, "--runs '%s': give a number from 1 to 1000", text);
    default:
        options->limit_ms = arguments_number(text, 1, 100000);
        return options->limit_ms
                   ? OK
                   : arguments_fail(USAGE, "--limit '%s': give milliseconds, from 1 to 100000", text);
    }
}

static const struct option option_list[] = {
    {"backend", required_argument, NULL, BACKEND}, {"measures", required_argument, NULL, CHOSEN},
    {"threads", required_argument, NULL, THREADS}, {"ratios", required_argument, NULL, RATIOS},
    {"runs", required_argument, NULL, RUNS},       {"limit", required_argument, NULL, LIMIT},
    {"help", no_argument, NULL, ARGUMENTS_HELP},   {NULL, 0, NULL, 0}};

int main(int argc, char **argv)
{
    struct options options;
    memset(&options, 0, sizeof options);
    options.measures = (1u << MEASURES) - 1u;
    options.ratio_count = powers(1, 256, 4, options.ratios);
    options.runs = 25;
    options.limit_ms = 100;
    int code = arguments_parse(argc, argv, option_list, help, parse_option, &options);
    if (code >= 0)
        return code;
    if (quarry_target_resolve(&options.target) != QUARRY_OK)
        return fail_library();
    return run(&options);
}
