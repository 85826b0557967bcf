/* SPDX-License-Identifier: Apache-2.0 */
/* The tests of `quarry bench`: one table, of which workload.c makes launches and the command its cells. */
#ifndef QUARRY_BENCH_TESTS_H
#define QUARRY_BENCH_TESTS_H

#include <stdint.h>

/* What a step of a run does.  pointers[] and others[] have a place for each thread. */
enum bench_action {
    ACTION_END, /* there is no step any more */
    ACTION_MALLOC,
    ACTION_FREE,
    ACTION_AT_ONCE,     /* malloc and free in one kernel */
    ACTION_RESET,       /* quarry_heap_reset */
    ACTION_DRAW,        /* blocks have other sizes from now on */
    ACTION_CLEAR,       /* pointers[] are NULL */
    ACTION_SHUFFLE,     /* others[] are pointers[] in another order */
    ACTION_FREE_OTHERS, /* frees others[] */
    ACTION_CHURN,
    ACTION_EXCHANGE,
    ACTION_PRODUCE,     /* malloc, and writes the block */
    ACTION_PREFIX_SUM,  /* sizes, their prefix sum, and a kernel that writes to places in one array, others[]
                         */
    ACTION_WRITE,       /* writes the blocks */
    ACTION_PACK,        /* others[] are places in one array */
    ACTION_WRITE_OTHERS /* writes there */
};

struct bench_step {
    enum bench_action action;
    const char *op; /* name of what is timed; NULL: nothing */
};

/* How a test runs; which decides what its results are, bench_measures[kind]. */
enum bench_kind {
    BENCH_TIMED, /* runs of all steps in order, after one that is verified */
    BENCH_WRITE, /* as BENCH_TIMED; what is timed writes blocks */
    BENCH_FILL,  /* each thread allocates until it gets NULL */
    BENCH_FRAG,  /* address ranges after rounds of freeing and allocating */
    BENCH_GROW,  /* the same and times, in rounds of which half of the blocks stay, until the heap is full */
    BENCH_INIT,  /* heaps are created; then as BENCH_TIMED */
    BENCH_REGISTERS /* nothing runs */
};

/* For which machine, or for how long, the axes of a test are. */
enum bench_scale { BENCH_QUICK, BENCH_CPU, BENCH_GPU, BENCH_FULL, BENCH_SCALES };

enum { BENCH_MAX_STEPS = 6, BENCH_MAX_OPS = 12 };

struct bench_test {
    const char *name;
    const char *what; /* a heading */
    struct bench_step steps[BENCH_MAX_STEPS];
    /* Axes as the options --threads, --size, --free and --lanes of the command take them. */
    const char *threads[BENCH_SCALES];
    const char *sizes[BENCH_SCALES];
    const char *free;
    const char *lanes;
    enum bench_kind kind;
    uint32_t rounds;
    uint32_t live;     /* blocks of a thread that may live at once */
    uint32_t warmups;  /* runs before those that are timed, at least */
    uint32_t heap_mib; /* at most: of a heap that is to be filled; 0: the command's */
    int exhausts; /* BENCH_TIMED: threads together ask for all bytes of the pages, and NULL is no fault */
    int not_by_default;
};

struct bench_measure {
    const char *name; /* as tool/bench/report.py knows it */
    const char *unit;
    int more_is_better;
};
extern const struct bench_measure bench_measures[];

extern const struct bench_test bench_tests[];
extern const unsigned bench_test_count;

/* The test of a name, or NULL. */
const struct bench_test *bench_test_find(const char *name);

#endif
