/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry list`: what this build offers on this machine. */
#include "tool.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>

static void list_allocators(void)
{
    puts("allocators");
    for (int i = 0; i < quarry_allocator_count(); i++) {
        struct quarry_allocator_info info;
        char largest[32];
        if (quarry_allocator_describe(i, &info) != QUARRY_OK)
            continue;
        printf("  %-9s %s\n", info.name, info.summary);
        if (!info.counts_slots)
            printf("  %-9s blocks outside the heap's pool, not counted\n", "");
        else
            printf("  %-9s %s; aligned to 16 bytes, by option to %s%s\n", "",
                   info.whole_pages ? "blocks are pages" : "blocks smaller and larger than a page",
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

const struct argp tool_list_argp = {
    NULL, NULL, NULL, "Shows the allocators, backends and devices of this build.", NULL, NULL, NULL};

int tool_list(int argc, char **argv)
{
    int code = tool_options(&tool_list_argp, argc, argv, NULL);
    if (code != TOOL_OK)
        return code;

    list_allocators();
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
