/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `quarry bench` share:
 *
 *   bench.c           runs it
 *   bench_options.c   its command line
 *   bench_plan.c      cells of the tests' axes
 *   bench_worker.c    processes that measure them, and their watchdog
 *   bench_cell.c      one cell, in such a process
 *   bench_columns.c   what CSV and JSON have of a cell
 *   bench_output.c    tables, CSV and JSON
 *   bench_compare.c   --compare */
#ifndef QUARRY_TOOL_BENCH_H
#define QUARRY_TOOL_BENCH_H

#include "lists.h"
#include "options.h"
#include "tool.h"

#include "work.h"
#include "workload.h"

#include <stdio.h>

#define BENCH_MOST_THREADS (UINT64_C(1) << 30) /* of a cell */

/* Sizes of blocks, or ranges of them. */
struct sizes {
    struct list bytes;        /* or the most */
    uint64_t least[MAX_LIST]; /* 0: one size */
    int octaves[MAX_LIST];    /* of a range: every power of two as often */
};

struct axes {
    struct list threads;
    struct sizes sizes;
    struct list free_shares; /* thousandths of a percent */
    struct list lanes;       /* of each warp that work */
};

enum cell_status { CELL_SKIPPED, CELL_OK, CELL_FAILED, CELL_ERROR, CELL_HUNG, CELL_CRASHED };

struct cell_result {
    enum cell_status status;
    int fatal;       /* CELL_ERROR: no other cell can do better */
    char fault[320]; /* why not CELL_OK, one clause; may be empty if CELL_SKIPPED */
    struct quarry_heap_description heap;
    uint64_t slots; /* free before each kernel; UINT64_MAX: nobody counts them */
    struct workload_cell measured;
};

/* One test, allocator and point of the axes. */
struct cell {
    const struct bench_test *test;
    struct quarry_allocator_info allocator;
    unsigned number; /* of the allocator */
    uint64_t bytes;
    uint64_t least; /* 0: all have `bytes` */
    int octaves;
    uint64_t free_share; /* thousandths of a percent; TOOL_WHOLE: an empty heap */
    uint32_t lanes;
    uint32_t threads;
    /* of its heap */
    uint64_t heap_bytes;
    uint64_t page_bytes; /* 0: the allocator's default */
    struct cell_result result;
};

struct bench {
    /* options; 0 or empty: not given */
    enum quarry_backend backend;
    int full;               /* all tests, and more of their axes */
    struct list allocators; /* numbers */
    struct list tests;      /* in bench_tests */
    struct axes axes;       /* those that were given stand for the tests' own */
    int steps;              /* count them */
    double low_free;        /* 0: fullness is proven */
    int debug;              /* heaps in debug mode */
    struct policy_options policies;
    struct set_options set;
    uint64_t heap_bytes;
    uint64_t page_bytes;
    uint32_t runs;
    int quick;
    double watchdog_s;
    const char *csv;    /* file, "" for standard output, NULL: none */
    const char *json;   /* the same */
    const char *report; /* folder; NULL: none */
    char *command;      /* that runs, as a shell takes it */
    int compare;
    int measures; /* there are options that --compare does not take */
    unsigned argument_count;
    double tolerance; /* of --compare, a share; negative: not given */
    const char *arguments[2];

    int heap_given;
    int shows_rates; /* of the CPU backend itself: with all allocators, and a table */
    struct quarry_target target;
    struct quarry_device_info info;
    uint64_t heap_pages; /* 0: as many as heap_bytes hold */
    double fill_budget_s;
    struct timing_rule rule;

    struct cell *cells; /* in the order of the output */
    unsigned cell_count;
    int code;
    int signal;      /* that ended the measuring; 0: none did */
    unsigned *order; /* in which they are measured: heaps and what fills them serve many */
    struct list floor_threads;
    struct workload_floor floors[MAX_LIST];
    double clock_mhz;
    double rates[3]; /* CPU: lanes launched, pages allocated and freed, million a second; 0: not measured */
};

/* Parses the command line.  Returns TOOL_OK, or an exit code with the sentence printed. */
int bench_options(struct bench *bench, int argc, char **argv);

/* Sizes and ranges "16,4-8K,4~8K"; text is cut up.  Returns 0, or TOOL_REFUSED with the sentence printed. */
int bench_parse_sizes(struct sizes *sizes, char *text);

/* Resolves every default by bench->target and bench->info, and makes the cells.  Returns TOOL_OK, or an exit
 * code with the sentence printed. */
int bench_plan(struct bench *bench);

/* What one process of cells keeps from one to the next. */
struct cell_state {
    struct workload workload;
    quarry_heap *heap;
    const struct cell *of;     /* the cell that the heap was made for; NULL: there is none */
    const struct cell *filled; /* the cell whose free share it has; NULL: unknown */
    uint64_t slots;
};

/* Measures one cell into its result; *state is all zero but for the workload before the first one. */
void bench_run_cell(const struct bench *bench, struct cell_state *state, struct cell *cell);
void bench_close_cells(struct cell_state *state);

/* Launches of lanes with nothing to do, and pages of rw, million a second. */
enum quarry_status bench_measure_rates(const struct bench *bench, struct workload *workload, double *rates);

/* Options of a cell's heap. */
void bench_heap_options(const struct bench *bench, const struct cell *cell,
                        struct quarry_heap_options *create);

/* Learns the target and its device; measures floors and all cells.  Each in a process of its own, or several,
 * so that this one never uses the device.  SIGINT, SIGTERM and SIGHUP, unless ignored, end the measuring:
 * then bench->signal is set, a sentence says how many cells are missing, and bench->cells are the others.
 * Return TOOL_OK, or an exit code with the sentence printed. */
int bench_find_target(struct bench *bench);
int bench_measure(struct bench *bench);

/* What CSV and JSON have of one result: an operation of a cell. */
enum value_kind { VALUE_NONE, VALUE_NUMBER, VALUE_REAL, VALUE_TEXT };
struct value {
    enum value_kind kind;
    uint64_t number;
    double real;
    const char *text; /* in double quotes if the column's are */
};
struct column {
    const char *name;
    int quoted;
    const char *format; /* of a real number, for printf */
    void (*get)(const struct bench *bench, const struct cell *cell, const struct workload_op *op,
                struct value *value);
};
extern const struct column bench_columns[];
extern const unsigned bench_column_count;

/* The op's rows of a cell that has none, because it was not verified: the table has a name for what there
 * would be. */
unsigned bench_op_count(const struct cell *cell);
void bench_op(const struct cell *cell, unsigned index, struct workload_op *op);

const struct workload_floor *bench_floor(const struct bench *bench, const struct cell *cell);

/* Whether a table is printed: not if standard output has the CSV or the JSON. */
int bench_has_table(const struct bench *bench);

/* Fails now, before anything is measured, if a file or the report could not be written.  Returns an exit
 * code. */
int bench_check_outputs(const struct bench *bench);

/* Writes CSV, JSON and report to their files, each whatever becomes of the others, and last to standard
 * output, whose reader may be gone, the table, CSV or JSON.  Returns TOOL_OK or TOOL_FAILED. */
int bench_write_outputs(const struct bench *bench);

extern const char *const bench_status_words[]; /* by enum cell_status */

/* Prints the ratios of the results in two CSV files.
 *   tolerance  a share; negative: the default
 * Returns TOOL_OK; TOOL_FAILED if B is worse beyond the tolerance, or, with the sentence printed, for bad
 * files. */
int bench_compare(const char *a, const char *b, double tolerance);

#endif
