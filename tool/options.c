/* SPDX-License-Identifier: Apache-2.0 */
/* Options that commands share; the contracts are in options.h. */
#include "options.h"

#include "lists.h"
#include "quarry/core/layout.h"
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_ALLOCATOR "corw" /* pages are of one size here */
#define DEFAULT_PAGE_BYTES 256u
/* Apart from the commands' own. */
enum {
    KEY_METHOD = 1024,
    KEY_PREFILL,
    KEY_RUNS,
    KEY_TRACE,
    KEY_SET,
    KEY_STATS,
    KEY_ALIGN,
    KEY_DISTRIBUTE,
    KEY_OOM
};

int tool_parse_number(const char *text, uint64_t *number)
{
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0')
        return -1;
    errno = 0;
    *number = strtoull(text, NULL, 10);
    return errno ? -1 : 0;
}

int tool_parse_column(const char *text, struct rows_options *options)
{
    options->column_name = NULL;
    if (tool_parse_number(text, &options->column_number) == 0 && options->column_number > 0)
        return 0;
    if (text[0] == '\0' || text[strspn(text, "0123456789")] == '\0')
        return -1;
    options->column_name = text;
    return 0;
}

uint64_t tool_environment(const char *name, uint64_t most, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t number;
    return text && tool_parse_number(text, &number) == 0 && number >= 1 && number <= most ? number
                                                                                          : otherwise;
}

/* Appends to names with commas between them; text that is full stays as it is. */
static void add_name(char *names, size_t bytes, const char *name)
{
    const size_t used = strlen(names);
    snprintf(names + used, bytes - used, "%s%s", used ? ", " : "", name);
}

/* ---- words ---- */

/* In the order of the enums that they stand for. */
static const struct {
    const char *option;
    const char *words[6];
} vocabularies[] = {
    {"backend", {"auto", "cuda", "cpu", NULL}},
    {"method", {"paged", "two-pass", NULL}},
    {"distribute", {"none", "warp", NULL}},
    {"oom", {"null", "wait", "trap", NULL}},
    {"pool", {"device", "stream", "managed", "pinned", "malloc", NULL}},
    {"distribution", {"uniform", "zipf", NULL}},
    {"objective", {"time", "memory", "product", NULL}},
};

const char *const *options_words(const char *option)
{
    for (size_t i = 0; i < sizeof vocabularies / sizeof *vocabularies; i++)
        if (strcmp(vocabularies[i].option, option) == 0)
            return vocabularies[i].words;
    return NULL;
}

int options_parse_word(const char *option, const char *text)
{
    const char *const *words = options_words(option);
    char all[256] = "";
    int count = 0;
    while (words[count] && strcmp(text, words[count]) != 0)
        count++;
    if (words[count])
        return count;
    for (int i = 0; i < count; i++) {
        const size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s",
                 i == 0          ? ""
                 : i < count - 1 ? ", "
                                 : " or ",
                 words[i]);
    }
    tool_refuse("--%s '%s': give %s", option, text, all);
    return -1;
}

int options_parse_backend(enum quarry_backend *backend, const char *text)
{
    const int word = options_parse_word("backend", text);
    *backend = (enum quarry_backend)word;
    return word < 0 ? TOOL_REFUSED : 0;
}

/* ---- files ---- */

static error_t parse_delimiter(struct rows_options *options, const char *text)
{
    if (strlen(text) == 1 && text[0] != '\n') {
        options->delimiter = (unsigned char)text[0];
    } else if (strcmp(text, "\\t") == 0) {
        options->delimiter = '\t';
    } else if (strcmp(text, "\\0") == 0) {
        options->delimiter = '\0';
    } else {
        return tool_refuse("--delimiter '%s': give one byte that is no line feed, or \\t, or \\0", text);
    }
    return 0;
}

static error_t parse_input(int key, char *text, struct argp_state *state)
{
    struct rows_options *options = (struct rows_options *)state->input;
    options->described |= key == 'd' || key == 'H';
    switch (key) {
    case 'd':
        return parse_delimiter(options, text);
    case 'H':
        options->header = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option input_list[] = {
    {"delimiter", 'd', "C", 0, "The byte between columns; \\t and \\0 are understood (default: tab)", 0},
    {"header", 'H', NULL, 0, "The first line names the columns and is no row", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

const struct argp options_input = {input_list, parse_input, NULL, NULL, NULL, NULL, NULL};

static error_t parse_result(int key, char *text, struct argp_state *state)
{
    struct result_options *options = (struct result_options *)state->input;
    switch (key) {
    case 'o':
        options->path = text;
        return 0;
    case KEY_STATS:
        options->stats = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option result_list[] = {
    {"output", 'o', "FILE", 0, "Write there, in one piece or not at all (default: standard output)", 1},
    {"stats", KEY_STATS, NULL, 0, "Print counts, heap use and times to standard error", 1},
    {NULL, 0, NULL, 0, NULL, 0}};

const struct argp options_result = {result_list, parse_result, NULL, NULL, NULL, NULL, NULL};

/* ---- options of allocators ---- */

static int is_there(const struct set_options *set, const char *name)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (strcmp(set->pairs[i].name, name) == 0)
            return 1;
    return 0;
}

static error_t parse_set(struct set_options *set, char *text)
{
    static char *names; /* the text cut up; here, so that a leak checker sees that it is in use */
    if (set->text)
        return tool_refuse("--set '%s': --set is there twice; give all pairs in one, such as "
                           "--set probes=64,word_bits=32",
                           text);
    char *rest = names = strdup(text);
    if (!rest)
        return ENOMEM;
    set->text = text;
    while (rest) {
        char *name = strsep(&rest, ",");
        char *value = strchr(name, '=');
        uint64_t number;
        if (value)
            *value++ = '\0';
        if (!value || !*name || tool_parse_bytes(value, &number) != 0)
            return tool_refuse(
                "--set '%s': give NAME=VALUE,..., such as probes=64; `quarry list --long` has them", text);
        if (is_there(set, name))
            return tool_refuse("--set '%s': %s is there twice", text, name);
        if (set->count == OPTIONS_MAX_SET)
            return tool_refuse("--set '%s': more than %u pairs", text, OPTIONS_MAX_SET);
        set->pairs[set->count++] = (struct quarry_option){name, number};
    }
    return 0;
}

/* Returns whether the allocator has it. */
static int find_option(int allocator, const char *name, struct quarry_option_info *option)
{
    struct quarry_allocator_info info;
    if (quarry_allocator_describe(allocator, &info) != QUARRY_OK)
        return 0;
    for (uint32_t i = 0; i < info.options; i++)
        if (quarry_allocator_option(allocator, i, option) == QUARRY_OK && strcmp(option->name, name) == 0)
            return 1;
    return 0;
}

static int refuse_name(const char *name, const struct list *allocators)
{
    struct set_options known = {0};
    struct quarry_allocator_info info = {0};
    char names[1024] = "";
    for (unsigned a = 0; a < allocators->count; a++) {
        quarry_allocator_describe((int)allocators->values[a], &info);
        for (uint32_t i = 0; i < info.options && known.count < OPTIONS_MAX_SET; i++) {
            struct quarry_option_info option;
            if (quarry_allocator_option((int)allocators->values[a], i, &option) != QUARRY_OK ||
                is_there(&known, option.name))
                continue;
            known.pairs[known.count++].name = option.name;
            add_name(names, sizeof names, option.name);
        }
    }
    const int one = allocators->count == 1;
    return tool_error(TOOL_USAGE, "--set: there is no option '%s': %s%s %s %s", name,
                      one ? "allocator " : "the allocators", one ? info.name : "", one ? "has" : "have",
                      *names ? names : "none");
}

/* Whether an allocator takes the values of those that it has, wherever its layout looks at them. */
static int check_values(const struct set_options *set, int allocator)
{
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct quarry_option room[QUARRY_MAX_HEAP_OPTIONS];
    struct quarry_allocator_info info;
    quarry_heap *heap;
    if (quarry_allocator_describe(allocator, &info) != QUARRY_OK)
        return TOOL_OK;
    options.target.backend = QUARRY_BACKEND_CPU;
    options.allocator = info.name;
    options.pages = 1;
    options_use_set(set, room, &options);
    const enum quarry_status status = quarry_heap_draft(&heap, &options);
    if (status == QUARRY_ERROR_ARGUMENT && options.set_count)
        return tool_error(TOOL_USAGE, "--set: %s", quarry_error_detail());
    quarry_heap_destroy(heap);
    return TOOL_OK;
}

/* The standard value may lie outside of the range. */
static int refuse_value(const struct quarry_option *pair, const struct quarry_option_info *option)
{
    char or_standard[32] = "";
    if (option->standard < option->least || option->standard > option->most)
        snprintf(or_standard, sizeof or_standard, ", or %" PRIu64, option->standard);
    return tool_error(TOOL_USAGE, "--set: %s is %" PRIu64 ", but may be %" PRIu64 " to %" PRIu64 "%s (%s)",
                      pair->name, pair->value, option->least, option->most, or_standard, option->help);
}

int options_check_set(const struct set_options *set, const struct list *allocators)
{
    for (uint32_t i = 0; i < set->count; i++) {
        const struct quarry_option *pair = &set->pairs[i];
        struct quarry_option_info option;
        int has = 0;
        for (unsigned a = 0; a < allocators->count; a++) {
            if (!find_option((int)allocators->values[a], pair->name, &option))
                continue;
            has = 1;
            if (pair->value != option.standard && (pair->value < option.least || pair->value > option.most))
                return refuse_value(pair, &option);
        }
        if (!has)
            return refuse_name(pair->name, allocators);
    }
    for (unsigned a = 0; a < allocators->count && set->count; a++)
        if (check_values(set, (int)allocators->values[a]) != TOOL_OK)
            return TOOL_USAGE;
    return TOOL_OK;
}

void options_use_set(const struct set_options *set, struct quarry_option *room,
                     struct quarry_heap_options *heap)
{
    struct quarry_allocator_info info;
    struct quarry_option_info option;
    const int number = options_find_allocator(heap->allocator, &info);
    heap->set = room;
    heap->set_count = 0;
    for (uint32_t i = 0; i < set->count && heap->set_count < QUARRY_MAX_HEAP_OPTIONS; i++)
        if (find_option(number, set->pairs[i].name, &option))
            room[heap->set_count++] = set->pairs[i];
}

static error_t parse_set_key(int key, char *text, struct argp_state *state)
{
    return key == KEY_SET ? parse_set((struct set_options *)state->input, text) : ARGP_ERR_UNKNOWN;
}

static const struct argp_option set_list[] = {
    {"set", KEY_SET, "NAME=VALUE,...", 0,
     "Options of allocators, for those that have them; `quarry list --long` names them", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

const struct argp options_set = {set_list, parse_set_key, NULL, NULL, NULL, NULL, NULL};

/* ---- methods ---- */

int options_find_allocator(const char *name, struct quarry_allocator_info *info)
{
    int number = 0;
    while (quarry_allocator_describe(number, info) == QUARRY_OK && strcmp(info->name, name) != 0)
        number++;
    return number < quarry_allocator_count() ? number : -1;
}

static error_t parse_allocator(struct method_options *options, const char *text)
{
    char names[1024] = "";
    struct quarry_allocator_info info;
    options->allocator = text;
    if (options_find_allocator(text, &info) >= 0)
        return 0;
    for (int i = 0; quarry_allocator_describe(i, &info) == QUARRY_OK; i++)
        add_name(names, sizeof names, info.name);
    return tool_refuse("--allocator '%s': there is none of that name; there are %s", text, names);
}

static error_t parse_size(const char *option, const char *text, uint64_t *bytes)
{
    if (tool_parse_bytes(text, bytes) == 0 && *bytes > 0)
        return 0;
    return tool_refuse("%s '%s': give a size such as 4096, 64K or 1.5G", option, text);
}

static error_t parse_page(struct method_options *options, const char *text, unsigned least)
{
    uint64_t *bytes = &options->page_bytes;
    error_t error = parse_size("--page", text, bytes);
    if (error)
        return error;
    if (*bytes >= least && *bytes <= (1u << 20) && *bytes % 16 == 0)
        return 0;
    return tool_refuse("--page '%s': give a multiple of 16 from %u to 1M", text, least);
}

static error_t parse_unsigned(unsigned *number, const char *option, const char *text, unsigned least,
                              unsigned most)
{
    uint64_t wide = 0;
    error_t error = tool_parse_range(&wide, option, text, least, most);
    *number = (unsigned)wide;
    return error;
}

static error_t finish_method(struct method_options *options)
{
    if (options->two_pass && (options->allocator || options->set.text || options->heap_bytes ||
                              options->page_bytes || options->prefill || options->trace))
        return tool_refuse("--allocator, --set, --heap, --page, --prefill and --trace are about the pages of "
                           "--method paged");
    if (!options->allocator)
        options->allocator = DEFAULT_ALLOCATOR;
    struct quarry_allocator_info info;
    const struct list own = {{(uint64_t)options_find_allocator(options->allocator, &info)}, 1};
    if (options_check_set(&options->set, &own) != TOOL_OK)
        return TOOL_REFUSED;
    if (!options->page_bytes)
        options->page_bytes = DEFAULT_PAGE_BYTES;
    if (!options->runs)
        options->runs = 1;
    return 0;
}

static error_t parse_heap(int key, char *text, struct argp_state *state)
{
    struct method_options *options = (struct method_options *)state->input;
    switch (key) {
    case 'b':
        return options_parse_backend(&options->backend, text);
    case 'a':
        return parse_allocator(options, text);
    case 'm':
        return parse_size("--heap", text, &options->heap_bytes);
    case 'p':
        return parse_page(options, text, QUARRY_MIN_PAGE_BYTES);
    case KEY_SET:
        return parse_set(&options->set, text);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_method(int key, char *text, struct argp_state *state)
{
    struct method_options *options = (struct method_options *)state->input;
    int word;
    options->given |= key > ARGP_KEY_ARG && key < ARGP_KEY_END;
    switch (key) {
    case 'p':
        return parse_page(options, text, OPTIONS_MIN_PAGE_BYTES);
    case KEY_METHOD:
        options->two_pass = word = options_parse_word("method", text);
        return word < 0 ? TOOL_REFUSED : 0;
    case KEY_PREFILL:
        return parse_unsigned(&options->prefill, "prefill", text, 0, 99);
    case KEY_RUNS:
        return parse_unsigned(&options->runs, "runs", text, 1, OPTIONS_MAX_RUNS);
    case KEY_TRACE:
        options->trace = text;
        return 0;
    case ARGP_KEY_END:
        return finish_method(options);
    default:
        return parse_heap(key, text, state);
    }
}

static const struct argp_option method_list[] = {
    {"backend", 'b', "NAME", 0, "auto, cuda or cpu (default: auto, a GPU if there is one)", 0},
    {"method", KEY_METHOD, "NAME", 0,
     "paged: write to pages from a heap; two-pass: count, prefix sum, write (default: paged)", 0},
    {"allocator", 'a', "NAME", 0, "Where pages come from; `quarry list` names them (default: corw)", 0},
    {"set", KEY_SET, "NAME=VALUE,...", 0, "Options of the allocator; `quarry list --long` names them", 0},
    {"heap", 'm', "SIZE", 0, "Size of the heap, such as 64M (default: by what the device has)", 0},
    {"page", 'p', "SIZE", 0, "Size of a page, a multiple of 16 from 32 to 1M (default: 256)", 0},
    {"prefill", KEY_PREFILL, "PERCENT", 0, "First take this share of the heap's pages, at random", 0},
    {"runs", KEY_RUNS, "N", 0, "Do it N times; --stats has medians (default: 1)", 0},
    {"trace", KEY_TRACE, "FILE", 0, "Record the pages' mallocs and frees there, for `quarry replay`; slower",
     0},
    {NULL, 0, NULL, 0, NULL, 0}};

/* Their defaults are the command's. */
static const struct argp_option heap_list[] = {
    {"allocator", 'a', "NAME", 0, "The allocator; `quarry list` names them", 0},
    {"page", 'p', "SIZE", 0, "Size of a page, a multiple of 16 to 1M", 0},
    {"backend", 'b', "NAME", 0, "auto, cuda or cpu (default: auto, a GPU if there is one)", 0},
    {"set", KEY_SET, "NAME=VALUE,...", 0, "Options of the allocator; `quarry list --long` names them", 0},
    {"heap", 'm', "SIZE", 0, "Size of the heap", 0},
    {NULL, 0, NULL, 0, NULL, 0}};

const struct argp options_heap = {heap_list, parse_heap, NULL, NULL, NULL, NULL, NULL};
const struct argp options_place = {heap_list + 2, parse_heap, NULL, NULL, NULL, NULL, NULL};
const struct argp options_method = {method_list, parse_method, NULL, NULL, NULL, NULL, NULL};

int options_check_page(const struct quarry_heap_options *heap)
{
    struct quarry_allocator_info info;
    if (!heap->page_bytes || !heap->allocator || heap->distribution == QUARRY_DISTRIBUTION_WARP ||
        options_find_allocator(heap->allocator, &info) < 0 || info.counts_slots)
        return TOOL_OK;
    return tool_error(TOOL_USAGE, "--page: allocator %s has no pages", info.name);
}

void options_use_heap(const struct method_options *options, struct quarry_heap_options *heap)
{
    heap->allocator = options->allocator;
    heap->pool_bytes = options->heap_bytes;
    heap->page_bytes = options->page_bytes;
    heap->set = options->set.pairs;
    heap->set_count = options->set.count;
}

/* ---- policies ---- */

static error_t parse_policies(int key, char *text, struct argp_state *state)
{
    struct policy_options *options = (struct policy_options *)state->input;
    uint64_t number;
    int word;
    switch (key) {
    case KEY_ALIGN:
        if (tool_parse_bytes(text, &number) || number < 16 || number > QUARRY_MAX_ALIGNMENT ||
            (number & (number - 1)))
            return tool_refuse("--align '%s': give a power of two from 16 to 1M", text);
        options->alignment = number;
        return 0;
    case KEY_DISTRIBUTE:
        options->distribution = (enum quarry_distribution)(word = options_parse_word("distribute", text));
        return word < 0 ? TOOL_REFUSED : 0;
    case KEY_OOM:
        options->oom = (enum quarry_oom)(word = options_parse_word("oom", text));
        return word < 0 ? TOOL_REFUSED : 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option policy_list[] = {
    {"align", KEY_ALIGN, "SIZE", 0,
     "What blocks begin at multiples of: a power of two from 16 to 1M (default: 16)", 0},
    {"distribute", KEY_DISTRIBUTE, "HOW", 0,
     "none, or warp: lanes that ask together share a page (default: none)", 0},
    {"oom", KEY_OOM, "WHAT", 0, "What a malloc does if the heap is full: null, wait or trap (default: null)",
     0},
    {NULL, 0, NULL, 0, NULL, 0}};

const struct argp options_policies = {policy_list, parse_policies, NULL, NULL, NULL, NULL, NULL};

void options_use_policies(const struct policy_options *policies, struct quarry_heap_options *heap)
{
    heap->alignment = policies->alignment;
    heap->distribution = policies->distribution;
    heap->oom = policies->oom;
}
