/* SPDX-License-Identifier: Apache-2.0 */
#include "tests.h"

#include <stddef.h>
#include <string.h>

#define PAIR                                                                                                 \
    {                                                                                                        \
        {ACTION_MALLOC, "malloc"}, {ACTION_FREE, "free"},                                                    \
    }
/* Axes for a quick look, the CPU, a GPU, and all that a GPU can show. */
#define USUAL_THREADS                                                                                        \
    {                                                                                                        \
        "256,4K", "1K,16K", "1K,128K,1M", "1,32,1K,16K,64K,128K,256K,512K,1M"                                \
    }
#define USUAL_SIZES                                                                                          \
    {                                                                                                        \
        "16,1K", "16,256,4K", "16,64,256,1K,4K,8K", "16,32,64,128,256,512,1K,2K,4K,8K,64K"                   \
    }
#define MANY_THREADS                                                                                         \
    {                                                                                                        \
        "4K", "16K", "128K", "1K,128K,1M"                                                                    \
    }
#define FEW_SIZES                                                                                            \
    {                                                                                                        \
        "16,1K", "16,1K", "16,1K", "16,64,256,1K,4K"                                                         \
    }
#define RANGES(least) least "-64," least "-1K," least "-8K," least "~8K"
#define ANY_SIZES                                                                                            \
    {                                                                                                        \
        "4-1K", RANGES("4"), RANGES("4"), RANGES("4")                                                        \
    }
#define POWERS "1,2,4,8,16,32,64,128,256,512,1K,2K,4K,8K,16K,32K,64K,128K,256K,512K,1M"

/* Axes that a test has one point of: one thread, a size that no one looks at. */
#define ONE(value)                                                                                           \
    {                                                                                                        \
        value, value, value, value                                                                           \
    }

const struct bench_measure bench_measures[] = {
    [BENCH_TIMED] = {"time", "us", 0},        [BENCH_WRITE] = {"bandwidth", "GB/s", 1},
    [BENCH_FILL] = {"utilisation", "", 1},    [BENCH_FRAG] = {"range", "B", 0},
    [BENCH_GROW] = {"range", "B", 0},         [BENCH_INIT] = {"time", "us", 0},
    [BENCH_REGISTERS] = {"registers", "", 0},
};

const struct bench_test bench_tests[] = {
    {.name = "alloc",
     .what = "every thread allocates one block",
     .steps = {{ACTION_MALLOC, "malloc"}, {ACTION_FREE, NULL}},
     .threads = USUAL_THREADS,
     .sizes = USUAL_SIZES},
    {.name = "free",
     .what = "every thread frees one block",
     .steps = {{ACTION_MALLOC, NULL}, {ACTION_FREE, "free"}},
     .threads = USUAL_THREADS,
     .sizes = USUAL_SIZES},
    {.name = "at-once",
     .what = "every thread allocates a block and frees it at once",
     .steps = {{ACTION_AT_ONCE, "malloc+free"}},
     .threads = USUAL_THREADS,
     .sizes = USUAL_SIZES,
     .not_by_default = 1},
    {.name = "used",
     .what = "a heap of which a tenth is free, at random places",
     .steps = PAIR,
     .threads = MANY_THREADS,
     .sizes = {"256", "256", "256", "16,256,1K"},
     .free = "10"},
    {.name = "warp",
     .what = "one lane of each warp allocates, and frees",
     .steps = PAIR,
     .threads = MANY_THREADS,
     .sizes = FEW_SIZES,
     .lanes = "1"},
    {.name = "mixed",
     .what = "sizes drawn from a range: uniform (-), or every power of two as often (~)",
     .steps = PAIR,
     .threads = MANY_THREADS,
     .sizes = ANY_SIZES},
    {.name = "changing",
     .what = "sizes drawn from a range, each time anew, after 64 rounds of that",
     .steps = {{ACTION_DRAW, NULL}, {ACTION_MALLOC, "malloc"}, {ACTION_FREE, "free"}},
     .threads = MANY_THREADS,
     .sizes = ANY_SIZES,
     .warmups = 64,
     .not_by_default = 1},
    {.name = "scaling",
     .what = "more and more threads",
     .steps = PAIR,
     .threads = {"1,32,1K", "1,8,64,512,4K,32K", POWERS, POWERS},
     .sizes = {"256", "256", "256", "16,256,4K"}},
    {.name = "first-vs-warm",
     .what = "mallocs in a heap that was just reset, and once more after frees",
     .steps = {{ACTION_RESET, NULL},
               {ACTION_MALLOC, "first"},
               {ACTION_FREE, NULL},
               {ACTION_MALLOC, "warm"},
               {ACTION_FREE, NULL}},
     .threads = MANY_THREADS,
     .sizes = FEW_SIZES},
    {.name = "shuffled",
     .what = "every thread frees the block of a thread far away",
     .steps = {{ACTION_MALLOC, NULL}, {ACTION_SHUFFLE, NULL}, {ACTION_FREE_OTHERS, "free"}},
     .threads = MANY_THREADS,
     .sizes = FEW_SIZES},
    {.name = "churn",
     .what = "every thread allocates and writes, keeps 4 blocks and frees the oldest, 16 times",
     .steps = {{ACTION_CHURN, "churn"}},
     .threads = MANY_THREADS,
     .sizes = {"256", "16,4-1K", "16,4-1K", "16,64,256,1K,4-1K"},
     .rounds = 16,
     .live = 4},
    {.name = "producer-consumer",
     .what = "every thread allocates, puts blocks where others find them, and frees what it finds, 16 times",
     .steps = {{ACTION_CLEAR, NULL}, {ACTION_EXCHANGE, "exchange"}, {ACTION_FREE, NULL}},
     .threads = MANY_THREADS,
     .sizes = {"256", "16,4-1K", "16,4-1K", "16,64,256,1K,4-1K"},
     .rounds = 16,
     .live = 2},
    {.name = "frag",
     .what = "address range of the blocks, after rounds in which half are freed and allocated again",
     .kind = BENCH_FRAG,
     .steps = {{ACTION_MALLOC, "range"}},
     .threads = {"4K", "10000", "100000", "100000"},
     .sizes = {"256", "16,256,4-1K", "16,256,1K,4-1K", "16,64,256,1K,4K,4-1K,4-8K"}},
    {.name = "growth",
     .what = "each round every thread allocates a block, and half are freed, until the heap is full: address "
             "range",
     .kind = BENCH_GROW,
     .steps = {{ACTION_MALLOC, "malloc"}},
     .threads = {"1K", "1K", "100000", "100000"},
     .sizes = ONE("16"),
     .heap_mib = 256,
     .not_by_default = 1},
    {.name = "fill",
     .what = "every thread allocates until it gets NULL",
     .kind = BENCH_FILL,
     .steps = {{ACTION_MALLOC, "fill"}},
     .threads = {"1K", "1K", "16K", "16K,1M"},
     .sizes = {"1050", "16,256,1000,1K,1050,4-1K", "16,64,256,1000,1K,1050,4K,4-1K",
               "16,32,64,100,128,256,512,1000,1K,1050,2K,4K,8K,4-64,4-1K,4-8K"},
     .heap_mib = 256},
    {.name = "exhaust",
     .what = "one malloc a thread: together they ask for all bytes of the heap",
     .steps = {{ACTION_MALLOC, "malloc"}, {ACTION_FREE, NULL}},
     .threads = ONE("1"),
     .sizes = {"16,2K", "16,256,2K,64K", "16,64,256,1K,2K,4K,64K,512K",
               "16,32,64,128,256,512,1K,2K,4K,8K,16K,32K,64K,128K,256K,512K"},
     .heap_mib = 16,
     .exhausts = 1,
     .not_by_default = 1},
    {.name = "oom",
     .what = "mallocs that fail in a full heap",
     .steps = {{ACTION_MALLOC, "malloc"}},
     .threads = {"256", "1K,16K", "1K,128K", "1,1K,128K,1M"},
     .sizes = ONE("256"),
     .free = "0",
     .heap_mib = 256},
    {.name = "init",
     .what = "making a heap, and making all of it free",
     .kind = BENCH_INIT,
     .steps = {{ACTION_RESET, "reset"}},
     .threads = ONE("1"),
     .sizes = ONE("256")},
    {.name = "registers",
     .what = "registers of a thread, and bytes of its stack and of spilled registers",
     .kind = BENCH_REGISTERS,
     .steps = {{ACTION_MALLOC, "malloc"}, {ACTION_FREE, "free"}},
     .threads = ONE("1"),
     .sizes = ONE("256")},
    {.name = "workload",
     .what = "every thread writes as many bytes as it draws: to a block, or, counted before, to one array",
     .kind = BENCH_WRITE,
     .steps = {{ACTION_PRODUCE, "malloc+write"}, {ACTION_PREFIX_SUM, "prefix-sum"}, {ACTION_FREE, NULL}},
     .threads = {"4K", "1K,16K", "16K,128K", "1K,16K,128K,1M"},
     .sizes = {"4-64", "4-64,4-1K", "4-64,4-1K", RANGES("4")}},
    {.name = "write",
     .what = "every thread writes to its block, or to its place in one array",
     .kind = BENCH_WRITE,
     .steps = {{ACTION_MALLOC, NULL},
               {ACTION_WRITE, "write"},
               {ACTION_PACK, NULL},
               {ACTION_WRITE_OTHERS, "packed"},
               {ACTION_FREE, NULL}},
     .threads = MANY_THREADS,
     .sizes = FEW_SIZES},
};
const unsigned bench_test_count = sizeof bench_tests / sizeof *bench_tests;

const struct bench_test *bench_test_find(const char *name)
{
    for (unsigned i = 0; i < bench_test_count; i++) {
        if (strcmp(bench_tests[i].name, name) == 0)
            return &bench_tests[i];
    }
    return NULL;
}
