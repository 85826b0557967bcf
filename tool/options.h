/* SPDX-License-Identifier: Apache-2.0 */
/* Options that commands share, as children of their argp parsers, and the values of options. */
#ifndef QUARRY_TOOL_OPTIONS_H
#define QUARRY_TOOL_OPTIONS_H

#include "lists.h"
#include "quarry/quarry.h"
#include "rows.h"

#include <argp.h>
#include <stdint.h>

#define OPTIONS_MIN_PAGE_BYTES 32u /* with --method: a head and a few entries behind it */

#define OPTIONS_MAX_RUNS 1000u
#define OPTIONS_MAX_SET 64u /* pairs of --set */

/* --delimiter and --header.  Input: a struct rows_options. */
extern const struct argp options_input;

/* --output and --stats.  Input: a struct result_options. */
extern const struct argp options_result;

/* --backend, --method, --runs; and --allocator, --set, --heap, --page, --prefill and --trace, which only the
 * paged method takes. Input: a struct method_options, all zero before. */
extern const struct argp options_method;

/* --backend, --allocator, --set, --heap and --page alone, of a heap that is not for a method; --backend,
 * --set and --heap alone. Input: the same. */
extern const struct argp options_heap;
extern const struct argp options_place;

/* --align, --distribute and --oom.  Input: a struct policy_options. */
extern const struct argp options_policies;

/* --set.  Input: a struct set_options. */
extern const struct argp options_set;

/* The words that an option takes, by their numbers, with NULL behind the last; NULL: it takes no words. */
const char *const *options_words(const char *option);

/* The number of a word of such an option, or -1 with the sentence printed. */
int options_parse_word(const char *option, const char *text);

/* --backend.  Returns 0, or TOOL_REFUSED with the sentence printed. */
int options_parse_backend(enum quarry_backend *backend, const char *text);

/* All 0: the library's defaults. */
struct policy_options {
    uint64_t alignment;
    enum quarry_distribution distribution;
    enum quarry_oom oom;
};

/* Sets them in the library's options. */
void options_use_policies(const struct policy_options *policies, struct quarry_heap_options *heap);

/* Options of allocators, of the one --set that a command line may have; no name is there twice. */
struct set_options {
    const char *text; /* as it was given; NULL: it was not */
    struct quarry_option pairs[OPTIONS_MAX_SET];
    uint32_t count;
};

/* The pairs are for those of the allocators that have them.  Returns TOOL_OK, or prints one sentence and
 * returns TOOL_USAGE: none has one, or one that has it does not take the value.
 *   allocators  their numbers */
int options_check_set(const struct set_options *set, const struct list *allocators);

/* Sets the pairs that the allocator heap->allocator has in the library's options, which point into `room`
 * then: room for QUARRY_MAX_HEAP_OPTIONS pairs. */
void options_use_set(const struct set_options *set, struct quarry_option *room,
                     struct quarry_heap_options *heap);

/* The number of an allocator, or -1 if there is none of that name. */
int options_find_allocator(const char *name, struct quarry_allocator_info *info);

struct result_options {
    const char *path; /* NULL: standard output */
    int stats;
};

struct method_options {
    int given; /* any of the options for a method */
    enum quarry_backend backend;
    int two_pass;          /* count, prefix sum, write.  0: pages from a heap, which the rest describes */
    const char *allocator; /* NULL: the library's default; groupby and join have one of their own */
    uint64_t heap_bytes;   /* 0: the command's default */
    uint64_t page_bytes;   /* to 1 MiB, a multiple of 16 */
    unsigned prefill;      /* percent of the heap's pages that others hold, 0 to 99 */
    unsigned runs;         /* 1 to OPTIONS_MAX_RUNS; all but the last are for the times */
    const char *trace;     /* file that mallocs and frees of all runs go to; NULL: none */
    struct set_options set;
};

/* Sets allocator, page, size and --set in the library's options, which point into *options then.  Whether the
 * allocator has those of --set is for the library to see. */
void options_use_heap(const struct method_options *options, struct quarry_heap_options *heap);

/* A page is for an allocator that has pages, or for lanes that share blocks of it.  Returns TOOL_OK, or prints one
 * sentence and returns TOOL_USAGE. */
int options_check_page(const struct quarry_heap_options *heap);

/* Decimal digits only.  Returns 0, or -1 if text is something else or does not fit. */
int tool_parse_number(const char *text, uint64_t *number);

/* A column's number, from 1, or name into *options.  Returns 0, or -1 if text is neither. */
int tool_parse_column(const char *text, struct rows_options *options);

/* For tests: a number of 1 to `most` from the environment, else `otherwise`. */
uint64_t tool_environment(const char *name, uint64_t most, uint64_t otherwise);

#endif
