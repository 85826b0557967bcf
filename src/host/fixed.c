/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are compiled for some heaps, compared with the heap that they get: quarry/fixed.h has the codes. */
#include "host/internal.h"
#include "host/text.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define ALIGNMENT_BITS QUARRY_CODE_DISTRIBUTION

/* `bits` bits of a code, from bit `from` on. */
static uint32_t part(uint32_t code, uint32_t from, uint32_t bits)
{
    return code >> from & ((1u << bits) - 1u);
}

/* Adds what a code says where the bits of `differs` are set. */
static void say(struct text *text, uint32_t code, uint32_t differs)
{
    static const char *const distributions[] = {"none", "warp", "2", "3"};
    static const char *const ooms[] = {"null", "wait", "trap", "hook"};
    struct quarry_allocator_info info = {0};
    const char *more = "";
    if (differs & QUARRY_CODE_ALLOCATOR_MASK) {
        quarry_allocator_describe(quarry_registry_index(part(code, QUARRY_CODE_ALLOCATOR, 8)), &info);
        text_add(text, "allocator %s", info.name ? info.name : "unknown");
        more = " and ";
    }
    if (part(differs, 0, ALIGNMENT_BITS)) {
        text_add(text, "%salignment %" PRIu32, more, 16 * part(code, 0, ALIGNMENT_BITS));
        more = " and ";
    }
    if (part(differs, QUARRY_CODE_DISTRIBUTION, 2)) {
        text_add(text, "%sdistribution %s", more, distributions[part(code, QUARRY_CODE_DISTRIBUTION, 2)]);
        more = " and ";
    }
    if (part(differs, QUARRY_CODE_OOM, 2)) {
        text_add(text, "%soom %s", more, ooms[part(code, QUARRY_CODE_OOM, 2)]);
        more = " and ";
    }
    if (part(differs, QUARRY_CODE_STATISTICS, 1)) {
        text_add(text, "%s%s", more, part(code, QUARRY_CODE_STATISTICS, 1) ? "statistics" : "no statistics");
        more = " and ";
    }
    if (part(differs, QUARRY_CODE_DEBUG, 1))
        text_add(text, "%s%s", more, part(code, QUARRY_CODE_DEBUG, 1) ? "debug mode" : "no debug mode");
}

enum quarry_status quarry_fixed_judge(const char *what, const char *name, uint32_t fixed, uint32_t code)
{
    char wanted[256] = "", found[256] = "";
    struct text left = {wanted, sizeof wanted}, right = {found, sizeof found};
    const uint32_t differs = (fixed ^ code) & QUARRY_CODE_MASK(fixed);
    if (differs == 0)
        return QUARRY_OK;
    say(&left, fixed, differs);
    say(&right, code, differs);
    return quarry_fail(QUARRY_ERROR_COMBINATION, "%s%s was compiled for %s, the heap has %s", what, name,
                       wanted, found);
}

/* Does a handle begin here?  Its code says once more what other fields say, so that nothing else looks like
 * one.  The bytes need not be aligned. */
static int find_code(const unsigned char *bytes, uint32_t *code)
{
    struct quarry_handle handle;
    memcpy(code, bytes + offsetof(struct quarry_handle, code), sizeof *code);
    if (*code < 1u << QUARRY_CODE_ALLOCATOR) /* most words */
        return 0;
    memcpy(&handle, bytes, sizeof handle);
    return handle.counters && handle.allocator <= QUARRY_ALLOCATOR_NUMBERS && handle.shrink >= 16 &&
           *code == quarry_fixed_code(&handle, part(*code, QUARRY_CODE_STATISTICS, 1));
}

enum quarry_status quarry_fixed_check(const struct simt_kernel *kernel, const void *argument)
{
    const unsigned char *bytes = argument;
    enum quarry_status status = QUARRY_OK;
    uint32_t code;
    if (QUARRY_CODE_MASK(kernel->fixed) == 0)
        return QUARRY_OK;
    for (size_t at = 0; at + sizeof(struct quarry_handle) <= kernel->argument_bytes && status == QUARRY_OK;
         at += _Alignof(struct quarry_handle))
        if (find_code(bytes + at, &code))
            status = quarry_fixed_judge("kernel ", kernel->name, kernel->fixed, code);
    return status;
}
