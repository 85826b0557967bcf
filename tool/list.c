/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry list`: what this build offers on this machine. */
#include "json.h"
#include "tool.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>

/* A line each; with `details` what each can, and its options. */
static void list_allocators(int details)
{
    puts("allocators");
    for (int i = 0; i < quarry_allocator_count(); i++) {
        struct quarry_allocator_info info;
        char largest[32];
        if (quarry_allocator_describe(i, &info) != QUARRY_OK)
            continue;
        printf("  %-9s %s\n", info.name, info.summary);
        if (!details)
            continue;
        if (!info.counts_slots)
            printf("  %-9s blocks outside the heap's pool, not counted\n", "");
        else
            printf("  %-9s %s; aligned to 16 bytes, by option to %s%s\n", "",
                   info.whole_pages    ? "blocks are pages"
                   : info.page_parts   ? "blocks are pages and parts of pages"
                   : info.sizes_double ? "blocks of 1, 2, 4, ... pages"
                                       : "blocks smaller and larger than a page",
                   tool_format_bytes(info.max_alignment, largest),
                   info.holds_pages ? "" : "; room for fewer blocks than pages");
        if (info.counts_slots)
            printf("  %-9s %s%s%s%s\n", "",
                   info.proves_full ? "NULL proves that the heap is full" : "NULL proves nothing",
                   info.infers_full ? ", or infers it" : "",
                   info.reuses_space ? "; freed space serves any size" : "; freed space keeps its size",
                   info.defers_frees ? "; a free may take effect later" : "");
        printf("  %-9s at most %" PRIu32 " registers in a kernel that mallocs, on a GPU\n", "",
               info.registers);
        for (uint32_t k = 0; k < info.options; k++) {
            struct quarry_option_info option;
            if (quarry_allocator_option(i, k, &option) == QUARRY_OK)
                printf("  %-9s --set %s=%" PRIu64 ": %s\n", "", option.name, option.standard, option.help);
        }
    }
}

static void list_backend(enum quarry_backend backend, const char *name)
{
    struct quarry_target target = {.backend = backend};
    enum quarry_status status = quarry_target_resolve(&target);
    if (status == QUARRY_ERROR_BACKEND)
        printf("  %-9s not built in\n", name);
    else if (status != QUARRY_OK)
        printf("  %-9s built in, unusable here: %s\n", name,
               *quarry_error_detail() ? quarry_error_detail() : quarry_status_string(status));
    else
        printf("  %-9s built in\n", name);
}

/* Returns the exit code: a device that can't be described is a failure, none at all is not. */
static int list_devices(enum quarry_backend backend, const char *name)
{
    for (int i = 0; i < quarry_device_count(backend); i++) {
        struct quarry_target target = {.backend = backend, .device = i};
        struct quarry_device_info info;
        char total[32], available[32];
        if (quarry_device_describe(&target, &info) != QUARRY_OK)
            return tool_error(TOOL_FAILED, "%s:%d: %s", name, i, quarry_error_detail());
        printf("  %s:%-*d %s, %u %s", name, backend == QUARRY_BACKEND_CUDA ? 3 : 4, i, info.name,
               info.multiprocessors, backend == QUARRY_BACKEND_CUDA ? "multiprocessors" : "cores");
        if (info.clock_khz)
            printf(", %u MHz", info.clock_khz / 1000);
        printf(", %s memory, %s free\n", tool_format_bytes(info.total_bytes, total),
               tool_format_bytes(info.available_bytes, available));
    }
    return TOOL_OK;
}

/* ---- JSON ---- */

static json_t *make_option(int allocator, uint32_t index)
{
    struct quarry_option_info option;
    if (quarry_allocator_option(allocator, index, &option) != QUARRY_OK)
        return NULL;
    return json_pack("{s:s, s:I, s:I, s:I, s:s}", "name", option.name, "standard",
                     (json_int_t)option.standard, "least", (json_int_t)option.least, "most",
                     (json_int_t)option.most, "help", option.help);
}

static json_t *make_allocator(int number)
{
    struct quarry_allocator_info info;
    json_t *options = json_array();
    if (quarry_allocator_describe(number, &info) != QUARRY_OK)
        return NULL;
    for (uint32_t k = 0; k < info.options; k++)
        json_array_append_new(options, make_option(number, k));
    return json_pack("{s:s, s:s, s:o, s:I, s:I, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b}", "name",
                     info.name, "summary", info.summary, "options", options, "max_alignment",
                     (json_int_t)info.max_alignment, "registers", (json_int_t)info.registers, "proves_full",
                     info.proves_full, "infers_full", info.infers_full, "reuses_space", info.reuses_space,
                     "defers_frees", info.defers_frees, "counts_slots", info.counts_slots, "whole_pages",
                     info.whole_pages, "holds_pages", info.holds_pages, "page_parts", info.page_parts,
                     "sizes_double", info.sizes_double);
}

/* "problem" says why the backend can't be used; it is null where it can. */
static json_t *make_backend(enum quarry_backend backend, const char *name)
{
    struct quarry_target target = {.backend = backend};
    const enum quarry_status status = quarry_target_resolve(&target);
    const char *detail = quarry_error_detail();
    return json_pack("{s:s, s:b, s:s?}", "name", name, "built_in", status != QUARRY_ERROR_BACKEND, "problem",
                     status == QUARRY_OK ? NULL
                     : *detail           ? detail
                                         : quarry_status_string(status));
}

/* Appends a backend's devices.  Returns the exit code. */
static int add_devices(json_t *devices, enum quarry_backend backend, const char *name)
{
    for (int i = 0; i < quarry_device_count(backend); i++) {
        struct quarry_target target = {.backend = backend, .device = i};
        struct quarry_device_info info;
        if (quarry_device_describe(&target, &info) != QUARRY_OK)
            return tool_error(TOOL_FAILED, "%s:%d: %s", name, i, quarry_error_detail());
        json_array_append_new(
            devices,
            json_pack("{s:s, s:i, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "backend", name, "device", i,
                      "name", info.name, "multiprocessors", (json_int_t)info.multiprocessors, "clock_khz",
                      (json_int_t)info.clock_khz, "capability", (json_int_t)info.capability, "total_bytes",
                      (json_int_t)info.total_bytes, "available_bytes", (json_int_t)info.available_bytes,
                      "heap_bytes", (json_int_t)info.heap_bytes, "driver", info.driver));
    }
    return TOOL_OK;
}

static int list_json(void)
{
    json_t *allocators = json_array(), *devices = json_array();
    for (int i = 0; i < quarry_allocator_count(); i++)
        json_array_append_new(allocators, make_allocator(i));
    int code = add_devices(devices, QUARRY_BACKEND_CUDA, "cuda");
    if (code == TOOL_OK)
        code = add_devices(devices, QUARRY_BACKEND_CPU, "cpu");
    json_t *whole = json_pack("{s:s, s:o, s:[o, o], s:o}", "version", quarry_version(), "allocators",
                              allocators, "backends", make_backend(QUARRY_BACKEND_CUDA, "cuda"),
                              make_backend(QUARRY_BACKEND_CPU, "cpu"), "devices", devices);
    if (code != TOOL_OK) {
        json_decref(whole);
        return code;
    }
    json_print(whole, stdout);
    return tool_flush();
}

/* ---- the command ---- */

enum { OPTION_JSON = 256, OPTION_LONG };

struct choice {
    int json, details;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct choice *choice = (struct choice *)state->input;
    (void)text;
    switch (key) {
    case OPTION_JSON:
        choice->json = 1;
        return 0;
    case OPTION_LONG:
        choice->details = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"json", OPTION_JSON, NULL, 0, "Write all there is, as JSON", 0},
    {"long", OPTION_LONG, NULL, 0, "Also what each allocator can, and its options", 0},
    {NULL, 0, NULL, 0, NULL, 0}};
const struct argp tool_list_argp = {
    options, parse, NULL, "Shows the allocators, backends and devices of this build.", NULL, NULL, NULL};

int tool_list(int argc, char **argv)
{
    struct choice choice = {0, 0};
    int code = tool_options(&tool_list_argp, argc, argv, &choice);
    if (code != TOOL_OK)
        return code;
    if (choice.json && choice.details)
        return tool_error(TOOL_USAGE, "--json writes all there is: leave out --long");
    if (choice.json)
        return list_json();

    list_allocators(choice.details);
    puts("backends");
    list_backend(QUARRY_BACKEND_CUDA, "cuda");
    list_backend(QUARRY_BACKEND_CPU, "cpu");
    puts("devices");
    code = list_devices(QUARRY_BACKEND_CUDA, "cuda");
    if (code == TOOL_OK)
        code = list_devices(QUARRY_BACKEND_CPU, "cpu");
    if (tool_flush() != TOOL_OK)
        code = TOOL_FAILED;
    return code;
}
