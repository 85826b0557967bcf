/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry info`: what a heap is composed of, in words. */
#include "json.h"
#include "options.h"
#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_HEAP_BYTES (UINT64_C(64) << 20) /* it is not used */

struct info {
    struct method_options heap; /* the part that is about one */
    struct policy_options policies;
    enum quarry_pool pool;
    int debug;
    int json;
};

enum { OPTION_DEBUG = 256, OPTION_POOL, OPTION_JSON };

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct info *info = state->input;
    int word;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &info->heap;
        state->child_inputs[1] = &info->policies;
        return 0;
    case OPTION_JSON:
        info->json = 1;
        return 0;
    case OPTION_DEBUG:
        info->debug = 1;
        return 0;
    case OPTION_POOL:
        word = options_parse_word("pool", text); /* there is none for the caller's own */
        info->pool = word < (int)QUARRY_POOL_BUFFER ? (enum quarry_pool)word : QUARRY_POOL_MALLOC;
        return word < 0 ? TOOL_REFUSED : 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"json", OPTION_JSON, NULL, 0, "Write it as JSON", 0},
    {"debug", OPTION_DEBUG, NULL, 0, "A heap in debug mode", 0},
    {"pool", OPTION_POOL, "WHERE", 0,
     "Where its memory is reserved: device, stream, managed, pinned, or malloc, the toolkit's device heap "
     "(default: device)",
     0},
    {NULL, 0, NULL, 0, NULL, 0}};
static const struct argp_child children[] = {
    {&options_heap, 0, NULL, 0}, {&options_policies, 0, NULL, 0}, {NULL, 0, NULL, 0}};
const struct argp tool_info_argp = {
    options,
    parse,
    NULL,
    "Shows in words what a heap of these options (default: quarry, 64M) is composed of, one line for each "
    "policy, with every default filled in; and what lies where in its pool.",
    children,
    NULL,
    NULL};

/* What lies where in the heap's pool. */
static void print_map(const quarry_heap *heap)
{
    struct quarry_heap_section sections[QUARRY_HEAP_SECTIONS];
    struct quarry_heap_description about;
    uint32_t count = quarry_heap_map(heap, sections, QUARRY_HEAP_SECTIONS);
    if (count == 0 || quarry_heap_describe(heap, &about) != QUARRY_OK)
        return;
    printf("\n%14s %14s %8s  section\n", "offset", "bytes", "share");
    for (uint32_t i = 0; i < count; i++)
        printf("%14" PRIu64 " %14" PRIu64 " %6.2f %%  %s\n", sections[i].offset, sections[i].bytes,
               100 * (double)sections[i].bytes / (double)about.pool_bytes, sections[i].name);
}

static json_t *make_sections(const quarry_heap *heap)
{
    struct quarry_heap_section sections[QUARRY_HEAP_SECTIONS];
    const uint32_t count = quarry_heap_map(heap, sections, QUARRY_HEAP_SECTIONS);
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(array, json_pack("{s:s, s:I, s:I}", "name", sections[i].name, "offset",
                                               (json_int_t)sections[i].offset, "bytes",
                                               (json_int_t)sections[i].bytes));
    return array;
}

/* The members of struct quarry_heap_description, and "sections". */
static enum quarry_status print_json(const quarry_heap *heap)
{
    struct quarry_heap_description about;
    const enum quarry_status status = quarry_heap_describe(heap, &about);
    if (status != QUARRY_OK)
        return status;
    json_t *set = json_object();
    for (uint32_t i = 0; i < about.option_count; i++)
        json_object_set_new(set, about.options[i].name, json_integer((json_int_t)about.options[i].value));
    const unsigned pool = about.pool == QUARRY_POOL_MALLOC ? about.pool - 1 : about.pool;
    json_print(
        json_pack(
            "{s:s, s:s, s:i, s:s, s:I, s:I, s:I, s:I, s:s, s:f, s:b, s:b, s:I, s:s, s:s, s:I, s:o, s:o}",
            "allocator", about.allocator, "backend", options_words("backend")[about.target.backend], "device",
            about.target.device, "pool", options_words("pool")[pool], "pool_bytes",
            (json_int_t)about.pool_bytes, "page_bytes", (json_int_t)about.page_bytes, "pages",
            (json_int_t)about.pages, "max_block_bytes", (json_int_t)about.max_block_bytes, "full",
            about.full == QUARRY_FULL_INFERRED ? "inferred" : "proven", "low_free", about.low_free, "debug",
            about.debug, "statistics", about.statistics, "alignment", (json_int_t)about.alignment,
            "distribution", options_words("distribute")[about.distribution], "oom",
            options_words("oom")[about.oom], "oom_tries", (json_int_t)about.oom_tries, "options", set,
            "sections", make_sections(heap)),
        stdout);
    return QUARRY_OK;
}

static enum quarry_status print_text(const quarry_heap *heap)
{
    char text[QUARRY_INFO_TEXT_BYTES];
    const enum quarry_status status = quarry_heap_info(heap, text, sizeof text);
    if (status != QUARRY_OK)
        return status;
    fputs(text, stdout);
    print_map(heap);
    return QUARRY_OK;
}

static int print_info(const struct info *info, const struct quarry_target *target)
{
    struct quarry_heap_options create = QUARRY_HEAP_OPTIONS_INIT;
    quarry_heap *heap;
    create.target = *target;
    create.pool = info->pool;
    create.debug = info->debug;
    options_use_heap(&info->heap, &create);
    options_use_policies(&info->policies, &create);
    if (!create.pool_bytes)
        create.pool_bytes = DEFAULT_HEAP_BYTES;
    if (options_check_page(&create) != TOOL_OK)
        return TOOL_USAGE;
    enum quarry_status status = quarry_heap_draft(&heap, &create);
    if (status == QUARRY_OK)
        status = info->json ? print_json(heap) : print_text(heap);
    if (status != QUARRY_OK)
        return tool_error(tool_heap_code(status), "%s", quarry_error_detail());
    if (quarry_heap_destroy(heap) != QUARRY_OK)
        return tool_error(TOOL_FAILED, "%s", quarry_error_detail());
    return tool_flush();
}

int tool_info(int argc, char **argv)
{
    struct info info;
    struct quarry_target target;

    memset(&info, 0, sizeof info);
    int code = tool_options(&tool_info_argp, argc, argv, &info);
    if (code == TOOL_OK)
        code = tool_target(info.heap.backend, &target);
    return code == TOOL_OK ? print_info(&info, &target) : code;
}
