/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `quarry bench` share: bench.c runs it, bench_options.c reads its command line,
 * bench_output.c prints. */
#ifndef QUARRY_TOOL_BENCH_H
#define QUARRY_TOOL_BENCH_H

#include "lists.h"
#include "options.h"
#include "tool.h"

#include "workload.h"

#include <stdio.h>

struct bench {
    /* options; 0 or empty: not given */
    enum quarry_backend backend;
    struct list allocators; /* numbers */
    struct list threads;
    struct list sizes;
    uint64_t least[MAX_LIST]; /* 0, or of a range of sizes the lower end; sizes has the upper one */
    struct list free_shares;  /* thousandths of a percent */
    struct list lanes;        /* of each warp that work */
    uint32_t probe_lanes;
    double low_free; /* 0: fullness is proven */
    int steps;       /* count them */
    int at_once;     /* free each block at once */
    int fill;        /* fill heaps instead of timing */
    int debug;       /* heaps in debug mode */
    struct policy_options policies;
    uint64_t heap_bytes;
    uint64_t page_bytes;
    uint32_t word_bits;
    uint32_t runs;
    int quick;
    int csv_wanted;
    const char *csv_path; /* NULL: standard output, and no table */

    struct quarry_target target;
    struct quarry_device_info info;
    uint64_t heap_pages; /* 0: as many as heap_bytes hold */
    double fill_budget_s;
    uint32_t warmups;
    struct workload workload;
    struct workload_floor floors[MAX_LIST]; /* one for each of threads */
    FILE *table;                            /* NULL: none */
    FILE *csv;
    unsigned groups; /* allocator x size x lanes x free share */
    unsigned groups_done;
    int skipped; /* a cell was */
    int code;
};

/* What one pair of rows is about. */
struct group {
    const struct quarry_allocator_info *allocator;
    uint64_t bytes;      /* of a block, or the most */
    uint64_t least;      /* 0: all have `bytes` */
    uint64_t free_share; /* thousandths of a percent; TOOL_WHOLE: an empty heap */
    uint32_t lanes;
    struct quarry_heap_description heap;
    uint64_t slots; /* free before each kernel; UINT64_MAX: nobody counts them */
    struct workload_cell cells[MAX_LIST];
    enum { CELL_SKIPPED, CELL_DONE } states[MAX_LIST];
};

/* Parses the command line and resolves the target and every default.  Returns TOOL_OK, or an exit code with
 * the sentence printed. */
int bench_options(struct bench *bench, int argc, char **argv);

/* The parts of the table and the lines of the CSV; each prints nothing where it isn't wanted. */
void bench_print_header(const struct bench *bench);
void bench_print_floors(const struct bench *bench);
void bench_print_group(const struct bench *bench, const struct group *group);

#endif
