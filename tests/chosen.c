/* SPDX-License-Identifier: Apache-2.0 */
#include "chosen.h"

struct quarry_target base_target;

/* The allocator that the kernels call directly, if they were compiled so. */
#define DIRECT_TEXT_(name) #name
#define DIRECT_TEXT(name) DIRECT_TEXT_(name)
#ifdef QUARRY_ALLOCATOR
#define DIRECT DIRECT_TEXT(QUARRY_ALLOCATOR)
#else
#define DIRECT ""
#endif

/* Those of the library: without what tests add. */
#undef QUARRY_EXTRA_ALLOCATORS
static const struct {
    const char *id;
    const char *name;
} listed[] = {
#define QUARRY_ALLOCATOR_ENTRY(id, name, ...) {#id, name},
#include "quarry/alloc/list.def"
};

/* Whether a word is one of a list with commas. */
static int is_in(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *from = list; from; from = strchr(from, ',')) {
        from += *from == ',';
        if (strncmp(from, word, length) == 0 && (!from[length] || from[length] == ','))
            return 1;
    }
    return 0;
}

int is_chosen(const char *name)
{
    const char *asked = getenv("QUARRY_TEST_ALLOCATOR");
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
        if (strcmp(name, listed[i].name) == 0) {
            if (asked && !is_in(asked, name) && !is_in(asked, listed[i].id))
                return 0;
            return !*DIRECT || strcmp(DIRECT, listed[i].id) == 0;
        }
    return asked && is_in(asked, name);
}

uint64_t seeds(uint64_t unless_set)
{
    const char *text = getenv("QUARRY_TEST_SEEDS");
    if (test_on_cuda(&base_target))
        return 0;
    return text ? strtoull(text, NULL, 10) : unless_set;
}

uint32_t capped(uint32_t threads)
{
    const char *text = getenv("QUARRY_TEST_THREADS");
    uint32_t most = text ? (uint32_t)strtoul(text, NULL, 10) : threads;
    return threads < most ? threads : most;
}
