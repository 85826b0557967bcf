/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of debug mode share: a heap in debug mode, and threads that use it one at a time. */
#ifndef QUARRY_TESTS_DEBUG_TEST_H
#define QUARRY_TESTS_DEBUG_TEST_H

#include "debug_kernels.h"

#include "chosen.h"

#include <inttypes.h>

#define SLOTS (1u << 15)
#define PAGE_BYTES 64u
#define SEEDS 30u

struct fixture {
    const char *allocator;
    int fixed;   /* a block is a page: else it may be smaller */
    int several; /* it may have several pages */
    uint32_t word_bits;
    enum quarry_full full;
    struct quarry_target target;
    quarry_heap *heap;
    struct quarry_heap_description about;
    struct debug_case device;
    char text[QUARRY_DEBUG_TEXT_BYTES];
};

extern struct fixture f;

#define expect(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            fail_msg("%s, %u-bit words, seed %llu: %s; report: %s", f.allocator, f.word_bits,                \
                     (unsigned long long)f.target.seed, #condition, f.text);                                 \
    } while (0)
#define expect_equal(a, b)                                                                                   \
    do {                                                                                                     \
        unsigned long long expect_a = (a), expect_b = (b);                                                   \
        if (expect_a != expect_b)                                                                            \
            fail_msg("%s, %u-bit words, seed %llu: %s is %llu, expected %s = %llu", f.allocator,             \
                     f.word_bits, (unsigned long long)f.target.seed, #a, expect_a, #b, expect_b);            \
    } while (0)

/* Options of the fixture, with debug mode. */
struct quarry_heap_options the_options(uint64_t pages, uint64_t page_bytes);

/* A heap with these.  end() destroys it, which gives `expected`. */
void begin(uint64_t pages, uint64_t page_bytes, uint64_t seed);
void begin_with(const struct quarry_heap_options *options);
void end(enum quarry_status expected);

/* Threads from `thread` on run a kernel, with blocks from `slot` on. */
void run(const struct simt_kernel *kernel, uint32_t thread, uint32_t threads, uint32_t slot);

/* Thread `thread` allocates block `slot`.  Returns its address. */
uint64_t allocate(uint32_t thread, uint32_t slot, uint64_t bytes);
/* It frees what is `offset` bytes from that block's beginning. */
void release(uint32_t thread, uint32_t slot, int64_t offset);
void overwrite(uint32_t slot, int64_t offset); /* changes the byte there */
void place(uint32_t slot, uint64_t address);   /* makes it the block's */

void leave_out_launches(char *text);
const char *report(void); /* without launches */
/* The report is exactly this. */
void expect_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* It is one line, which begins so. */
void expect_report_begins(const char *text);
/* CORRUPT, with `text` in a detail that is one sentence. */
void expect_corrupt(const char *text);
void expect_clean(void);
/* The heap goes on as if nothing had been: it fills to its last page and empties. */
void expect_sane(uint32_t pages);

uint64_t live(void); /* blocks */
uint64_t slots(uint64_t bytes);

/* Runs the test for each allocator that is chosen, and each width of its words. */
void for_each_allocator(void (*test)(void));

/* The test `name` that runs name_here() for each. */
#define FOR_EACH_ALLOCATOR(name)                                                                             \
    void name(void **state);                                                                                 \
    void name(void **state)                                                                                  \
    {                                                                                                        \
        (void)state;                                                                                         \
        for_each_allocator(name##_here);                                                                     \
    }

#endif
