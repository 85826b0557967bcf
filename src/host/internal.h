/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of heaps share: the registry of allocators, debug mode's texts, and failing with a sentence.
 */
#ifndef QUARRY_HOST_INTERNAL_H
#define QUARRY_HOST_INTERNAL_H

#include "host/fail.h"
#include "quarry/device.h"
#include "quarry/quarry.h"

/* The index that quarry.h has for an allocator's number of handle.h. */
static inline int quarry_registry_index(uint32_t number)
{
    return (int)number - 1;
}

/* Number of the allocator of that name in *number, or ALLOCATOR with the known names in the detail. */
enum quarry_status quarry_registry_find(const char *name, uint32_t *number);

/* The QUARRY_CAN_... and QUARRY_HAS_... of an allocator. */
uint32_t quarry_registry_can(uint32_t number);

/* The values of all options of an allocator, in the order of its table.
 *   set      what the user gave, `count` of them: checked
 *   values   room for QUARRY_MAX_OPTIONS */
enum quarry_status quarry_registry_options(uint32_t number, const struct quarry_option *set, uint32_t count,
                                           uint64_t *values);

/* The other way round.  Returns how many there are. */
uint32_t quarry_registry_pairs(uint32_t number, const uint64_t *values, struct quarry_option *pairs);

/* What a heap in debug mode recorded, as quarry_heap_debug_report promises it. */
void quarry_debug_report(const struct quarry_debug *debug, char *memory, size_t bytes);

/* CORRUPT with a sentence about the records, LEAK with one about live blocks, CORRUPT with both in one; OK if there
 * is neither.
 *   leaks  of quarry_debug_leaks; "": none are to be told */
enum quarry_status quarry_debug_judge(const struct quarry_debug *debug, const char *leaks);

/* Writes how many blocks live, by a walk before, and names the first few, if there is memory for a list.
 *   text  receives it, QUARRY_DEBUG_LEAKS_BYTES; "" if nothing lives */
void quarry_debug_leaks(quarry_heap *heap, const struct quarry_debug *debug, char *text);
#define QUARRY_DEBUG_LEAKS_BYTES 2048u

/* Writes "64 bytes at 0x1230, allocated by thread 4 in launch 2, fill, tag queue". */
struct text;
void quarry_debug_add_block(struct text *text, const struct quarry_block *block);

/* From now on kernels compiled with QUARRY_TRACE log what they do with the heap, or, with NULL, no more.
 * COMBINATION if there is a log already. */
enum quarry_status quarry_heap_record(quarry_heap *heap, struct quarry_log *log);

/* What a heap is, as kernels are compiled for (quarry/fixed.h): made of the other fields of its handle, which do not
 * say whether it counts. */
static inline uint32_t quarry_fixed_code(const struct quarry_handle *handle, int statistics)
{
    return QUARRY_CODE(handle->allocator, handle->shrink, handle->distribution, handle->oom, statistics != 0,
                       handle->debug != NULL);
}

/* COMBINATION with a sentence if the heap of that code is none for which something was compiled.
 *   what, name   begin the sentence: "kernel ", "fill"
 *   fixed        what that was compiled for */
enum quarry_status quarry_fixed_judge(const char *what, const char *name, uint32_t fixed, uint32_t code);

/* The same of all handles in a kernel's argument.  It does not find one behind a pointer. */
enum quarry_status quarry_fixed_check(const struct simt_kernel *kernel, const void *argument);

/* quarry_launch, also of a kernel with a note: of a do-all, whose argument is more than its user's. */
enum quarry_status quarry_launch_noted(const struct simt_kernel *kernel, const struct quarry_target *target,
                                       struct quarry_grid grid, const void *argument);

/* Lays out a pool for handle->allocator: fills handle->as and handle->max_block, and the outputs of
 * *layout.  Touches no pool memory and sets no detail. */
enum quarry_layout_result quarry_registry_layout(struct quarry_handle *handle, struct quarry_layout *layout);

#endif
