/* SPDX-License-Identifier: Apache-2.0 */
/* Options that commands share, as children of their argp parsers, and the values of options. */
#ifndef QUARRY_TOOL_OPTIONS_H
#define QUARRY_TOOL_OPTIONS_H

#include "quarry/quarry.h"
#include "rows.h"

#include <argp.h>
#include <stdint.h>

#define OPTIONS_MIN_PAGE_BYTES 32u /* with --method: a head and a few entries behind it */

#define OPTIONS_MAX_RUNS 1000u

/* --delimiter and --header.  Input: a struct rows_options. */
extern const struct argp options_input;

/* --output and --stats.  Input: a struct result_options. */
extern const struct argp options_result;

/* --backend, --method, --runs; and --allocator, --heap, --page, --prefill and --trace, which only the paged
 * method takes. Input: a struct method_options, all zero before. */
extern const struct argp options_method;

/* --backend, --allocator, --heap and --page alone, of a heap that is not for a method; --backend and --heap
 * alone. Input: the same. */
extern const struct argp options_heap;
extern const struct argp options_place;

/* --align, --distribute, --oom and --set.  Input: a struct policy_options. */
extern const struct argp options_policies;

/* The words of --distribute and --oom, by the library's numbers; the last is NULL. */
extern const char *const options_distributions[];
extern const char *const options_ooms[];

/* All 0: the library's defaults. */
struct policy_options {
    uint64_t alignment;
    enum quarry_distribution distribution;
    enum quarry_oom oom;
    const char *set_text; /* as it was given; NULL: it was not */
    struct quarry_option set[QUARRY_MAX_HEAP_OPTIONS + 1u];
    uint32_t set_count;
};

/* Has the allocator of that name an option of that name? */
int options_has(const char *allocator, const char *option);

/* Sets them in the library's options, which hold pointers into *policies then. */
void options_use_policies(const struct policy_options *policies, struct quarry_heap_options *heap);

struct result_options {
    const char *path; /* NULL: standard output */
    int stats;
};

struct method_options {
    enum quarry_backend backend;
    int two_pass;          /* count, prefix sum, write; else pages from a heap, of which the rest is */
    const char *allocator; /* NULL: the library's default; groupby and join have one of their own */
    uint64_t heap_bytes;   /* 0: the command's default */
    uint64_t page_bytes;   /* to 1 MiB, a multiple of 16 */
    unsigned prefill;      /* percent of the heap's pages that others hold, 0 to 99 */
    unsigned runs;         /* 1 to OPTIONS_MAX_RUNS; all but the last are for the times */
    const char *trace;     /* file that mallocs and frees of all runs go to; NULL: none */
};

/* Sets allocator, page and size in the library's options. */
void options_use_heap(const struct method_options *options, struct quarry_heap_options *heap);

/* Decimal digits only.  Returns 0, or -1 if text is something else or does not fit. */
int tool_parse_number(const char *text, uint64_t *number);

/* A column's number, from 1, or name into *options.  Returns 0, or -1 if text is neither. */
int tool_parse_column(const char *text, struct rows_options *options);

/* For tests: a number of 1 to `most` from the environment, else `otherwise`. */
uint64_t tool_environment(const char *name, uint64_t most, uint64_t otherwise);

#endif
