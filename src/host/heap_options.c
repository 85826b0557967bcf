/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a heap: their defaults, and whatever is wrong with one of them, or with two together, before a
 * layout looks at the rest. */
#include "host/heap_plan.h"
#include "host/internal.h"
#include "host/text.h"
#include "quarry/schema.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_ALLOCATOR "quarry"
#define DEFAULT_TYPED_ALLOCATOR "objects"
#define DEFAULT_LOW_FREE 0.005
#define DEFAULT_OOM_TRIES 1000u
#define MAX_OOM_TRIES (1u << 24)
#define MAX_OPTIONS_BYTES 4096u /* an options struct said to be larger is one that nobody initialised */

SIMT_STATIC_ASSERT((int)QUARRY_DISTRIBUTION_WARP == (int)QUARRY_DISTRIBUTION_NUMBER_warp &&
                       (int)QUARRY_OOM_WAIT == (int)QUARRY_OOM_NUMBER_wait &&
                       (int)QUARRY_OOM_TRAP == (int)QUARRY_OOM_NUMBER_trap &&
                       (int)QUARRY_OOM_CALL == (int)QUARRY_OOM_NUMBER_hook,
                   "host and device speak of the same");

/* Adds a variable to those that changed an option. */
static void say(struct text *says, int first, const char *name, const char *value)
{
    text_add(says, "%s%s=%.64s", first ? "" : ", ", name, value);
}

/* Reads a variable that is 1, or else 0 or not there. */
static enum quarry_status read_switch(const char *name, int *on)
{
    const char *value = getenv(name);
    *on = value && strcmp(value, "1") == 0;
    if (*on || !value || !*value || strcmp(value, "0") == 0)
        return QUARRY_OK;
    return quarry_fail(QUARRY_ERROR_ARGUMENT,
                       "the environment variable %s is \"%.64s\": it must be 1, or 0 for nothing", name,
                       value);
}

static enum quarry_status read_environment(struct quarry_heap_options *full,
                                           struct heap_environment *environment)
{
    struct text says = {environment->says, sizeof environment->says};
    const char *allocator = getenv("QUARRY_DEFAULT_ALLOCATOR");
    int debug = 0;
    environment->says[0] = 0;
    enum quarry_status status = read_switch("QUARRY_DEBUG", &debug);
    if (status == QUARRY_OK)
        status = read_switch("QUARRY_STATS", &environment->prints);
    if (status != QUARRY_OK)
        return status;
    if (debug && !full->debug)
        say(&says, !*environment->says, "QUARRY_DEBUG", "1");
    if (environment->prints && !full->statistics)
        say(&says, !*environment->says, "QUARRY_STATS", "1");
    if (!full->allocator && !full->schema && allocator && *allocator) {
        say(&says, !*environment->says, "QUARRY_DEFAULT_ALLOCATOR", allocator);
        full->allocator = allocator;
    }
    full->debug = full->debug || debug;
    full->statistics = full->statistics || environment->prints;
    return QUARRY_OK;
}

enum quarry_status quarry_heap_options_read(const struct quarry_heap_options *options,
                                            struct quarry_heap_options *full,
                                            struct heap_environment *environment)
{
    const struct quarry_heap_options initial = QUARRY_HEAP_OPTIONS_INIT;
    size_t given = options ? options->struct_bytes : sizeof initial;
    *full = initial;
    if (given < sizeof options->struct_bytes || given > MAX_OPTIONS_BYTES)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "options.struct_bytes is %zu: initialise options with QUARRY_HEAP_OPTIONS_INIT",
                           given);
    /* Every default is 0, so a short struct's missing tail keeps the initialiser's. */
    if (options)
        memcpy(full, options, given < sizeof *full ? given : sizeof *full);
    for (size_t i = sizeof *full; i < given; i++)
        if (((const unsigned char *)options)[i] != 0)
            return quarry_fail(QUARRY_ERROR_ARGUMENT,
                               "options has %zu bytes and sets some after the %zu that this library knows: "
                               "the program was compiled for a newer one",
                               given, sizeof *full);
    full->struct_bytes = sizeof *full;
    enum quarry_status status = read_environment(full, environment);
    if (status != QUARRY_OK)
        return status;
    if (!full->allocator)
        full->allocator = full->schema ? DEFAULT_TYPED_ALLOCATOR : DEFAULT_ALLOCATOR;
    if (full->schema && full->page_bytes == 0)
        full->page_bytes = full->schema->block_bytes;
    if (full->alignment == 0)
        full->alignment = NATURAL_ALIGNMENT;
    if (full->full == QUARRY_FULL_INFERRED && full->low_free == 0)
        full->low_free = DEFAULT_LOW_FREE;
    if (full->oom == QUARRY_OOM_WAIT && full->oom_tries == 0)
        full->oom_tries = DEFAULT_OOM_TRIES;
    return QUARRY_OK;
}

uint64_t quarry_heap_block_overhead(const struct quarry_heap_options *options)
{
    if (quarry_heap_debugs_blocks(options))
        return QUARRY_DEBUG_OVERHEAD;
    return options->distribution == QUARRY_DISTRIBUTION_WARP
               ? quarry_pieces_alone(0, (uint32_t)options->alignment)
               : 0;
}

/* Checks each policy, and which of them exclude one another or the page size. */
static enum quarry_status check_policies(const struct quarry_heap_options *options)
{
    if (options->alignment < NATURAL_ALIGNMENT || options->alignment > QUARRY_MAX_ALIGNMENT ||
        (options->alignment & (options->alignment - 1)) != 0)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "alignment is %" PRIu64 ": it must be a power of two from %u to %u, or 0 for %u",
                           options->alignment, NATURAL_ALIGNMENT, QUARRY_MAX_ALIGNMENT, NATURAL_ALIGNMENT);
    if (options->debug && options->alignment > NATURAL_ALIGNMENT)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "alignment is %" PRIu64 ", but debug mode, which writes in front of every block, "
                           "leaves them aligned to %u only",
                           options->alignment, NATURAL_ALIGNMENT);
    if ((unsigned int)options->distribution > (unsigned int)QUARRY_DISTRIBUTION_WARP)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "distribution %d does not exist: it must be %d or %d",
                           (int)options->distribution, QUARRY_DISTRIBUTION_NONE, QUARRY_DISTRIBUTION_WARP);
    if ((unsigned int)options->oom > (unsigned int)QUARRY_OOM_CALL)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "oom %d does not exist: it must be %d to %d",
                           (int)options->oom, QUARRY_OOM_NULL, QUARRY_OOM_CALL);
    if (options->oom_tries > MAX_OOM_TRIES)
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "oom_tries is %" PRIu32 ": it must be at most %u, or 0 for %u", options->oom_tries,
                           MAX_OOM_TRIES, DEFAULT_OOM_TRIES);
    if (options->oom_tries && options->oom != QUARRY_OOM_WAIT)
        return quarry_fail(QUARRY_ERROR_COMBINATION, "oom_tries was given, but oom is not QUARRY_OOM_WAIT");
    if (options->debug && options->distribution != QUARRY_DISTRIBUTION_NONE)
        return quarry_fail(
            QUARRY_ERROR_COMBINATION,
            "debug was given, but debug mode knows the allocator's blocks and not the pieces of "
            "QUARRY_DISTRIBUTION_WARP");
    if (options->page_bytes <= QUARRY_MAX_PAGE_BYTES &&
        options->page_bytes > QUARRY_MAX_PAGE_BYTES - quarry_heap_block_overhead(options))
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "page_bytes is %" PRIu64 ", which leaves no room for the %" PRIu64
                           " bytes that %s adds: it must be at most %" PRIu64,
                           options->page_bytes, quarry_heap_block_overhead(options),
                           options->debug ? "debug mode" : "QUARRY_DISTRIBUTION_WARP",
                           QUARRY_MAX_PAGE_BYTES - quarry_heap_block_overhead(options));
    return QUARRY_OK;
}

/* Checks when the heap is to count as full. */
static enum quarry_status check_full(const struct quarry_heap_options *options)
{
    if ((unsigned int)options->full > (unsigned int)QUARRY_FULL_INFERRED)
        return quarry_fail(QUARRY_ERROR_ARGUMENT, "full %d does not exist: it must be %d or %d",
                           (int)options->full, QUARRY_FULL_PROVEN, QUARRY_FULL_INFERRED);
    if (!(options->low_free >= 0 && options->low_free < 1))
        return quarry_fail(QUARRY_ERROR_ARGUMENT,
                           "low_free is %g: it must be a share between 0 and 1, or 0 for %g",
                           options->low_free, DEFAULT_LOW_FREE);
    if (options->full == QUARRY_FULL_PROVEN && options->low_free > 0)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "low_free was given, but full is not QUARRY_FULL_INFERRED");
    return QUARRY_OK;
}

/* Checks what a heap of typed objects can't be. */
static enum quarry_status check_schema(const struct quarry_heap_options *options, uint32_t allocator)
{
    if (!options->schema)
        return QUARRY_OK;
    if (!(quarry_registry_can(allocator) & QUARRY_HAS_TYPES))
        return quarry_fail(
            QUARRY_ERROR_COMBINATION,
            "a schema was given, but allocator %s has no typed objects: \"" DEFAULT_TYPED_ALLOCATOR "\" has",
            options->allocator);
    if (options->page_bytes != options->schema->block_bytes)
        return quarry_fail(QUARRY_ERROR_COMBINATION,
                           "page_bytes is %" PRIu64 ", but blocks of schema %s have %" PRIu32
                           " bytes: leave page_bytes 0",
                           options->page_bytes, options->schema->name, options->schema->block_bytes);
    const char *wrong = options->statistics                                 ? "statistics"
                        : options->pool == QUARRY_POOL_MALLOC               ? "QUARRY_POOL_MALLOC"
                        : options->alignment > NATURAL_ALIGNMENT            ? "an alignment"
                        : options->distribution != QUARRY_DISTRIBUTION_NONE ? "QUARRY_DISTRIBUTION_WARP"
                        : options->oom != QUARRY_OOM_NULL                   ? "an out-of-memory policy"
                                                                            : NULL;
    return wrong ? quarry_fail(QUARRY_ERROR_COMBINATION,
                               "schema %s was given, and %s, which typed objects do not have",
                               options->schema->name, wrong)
                 : QUARRY_OK;
}

enum quarry_status quarry_heap_options_check(const struct quarry_heap_options *options, uint32_t allocator)
{
    uint64_t values[QUARRY_MAX_OPTIONS];
    enum quarry_status status = check_full(options);
    if (status == QUARRY_OK)
        status = check_schema(options, allocator);
    if (status == QUARRY_OK)
        status = quarry_registry_options(allocator, options->set, options->set_count, values);
    return status == QUARRY_OK ? check_policies(options) : status;
}
