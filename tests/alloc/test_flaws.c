/* SPDX-License-Identifier: Apache-2.0 */
/* quarry_heap_check sees flaws in the structures of an idle heap, where each of them stands alone, and nothing else. */
#include "alloc/promise_kernels.h"

#include "chosen.h"

#define THREADS 256u

static struct quarry_heap_section map[QUARRY_HEAP_SECTIONS];

/* A word of a heap's structures. */
struct word {
    const char *section;
    uint64_t at;    /* number of the word in the section, of so many bytes: */
    uint32_t bytes; /* 0: none */
    uint64_t value; /* that a test writes there */
};

/* One flaw in the structures of an idle heap. */
#define FLAW_WORDS 4u
enum flawed { FLAW_EMPTY, FLAW_FULL, FLAW_WIDE, FLAW_BINS, FLAW_SOME, FLAW_GROWN, FLAW_ODD, FLAWED };
struct flaw {
    const char *allocator;
    /* enum flawed: nothing lives; FLAW_PAGES blocks of a page each; nothing, with pages of many cells; FLAW_BLOCKS blocks of
     * bins of ualloc, one bin a page; of FLAW_FEW blocks that one warp got each third; few of FLAW_MANY, and
     * 32 that came later; nothing, with pages of 31 units */
    int heap;
    struct word word[FLAW_WORDS];
};

#define FLAW_PAGES 70u /* the last word of a bitmap of 32 or 64 pages has bits past the last */
#define SCATTER(class_, low) ((uint64_t)(class_) << QUARRY_SCATTER_CLASS_SHIFT | (low))
#define TREE(states) ((uint64_t)(states) << 32) /* of the first pages of a word of tbuddy's tree */
#define OWED (~(uint64_t)0)                     /* units of a semaphore, and where its balance is */
#define BALANCE (offsetof(struct quarry_semaphore, balance) / 8)
#define STORE(field) (offsetof(struct quarry_chunks_head, field) / 4)
#define WIDE_BYTES 1024u /* of a page with two fields at its end */
#define WIDE_CELLS 63u
#define FLAW_BLOCKS (8u * FLAW_PAGES) /* the heap is full */
/* Of a bin of ualloc, which begins in the middle of a page; and of its chunk, which begins with the page. */
#define BIN(page, field) ((((page)*2u + 1u) * WIDE_BYTES / 2u + offsetof(struct quarry_bin, field)) / 4u)
#define CHUNK(page, field) (((page)*WIDE_BYTES + offsetof(struct quarry_bin, field)) / 4u)
/* The semaphore of bins, behind those of blocks of 16, 32, 64 and 128 bytes. */
#define BINS (4u * sizeof(struct quarry_semaphore) / 8u)
#define OBJECTS_PAGES (5u * 3u) /* words before those of pages of 64 bytes; those with room follow */
#define FLAW_FEW 40u
#define FLAW_MANY 320u /* 20 chunks of 16 blocks each */
/* Of the queue of blocks of 64 bytes, the third, where it lies in segments; and its slots, 256 in a chunk. */
#define ENDS(field)                                                                                          \
    ((2u * sizeof(struct quarry_segments_ends) + offsetof(struct quarry_segments_ends, field)) / 4u)
#define SLOT(chunk, i) ((chunk)*WIDE_BYTES / 4u + (i))
#define ENTRY (6u * sizeof(struct quarry_segments_ends) / 8u + 2u * 32u + 28u) /* of its first segment */
/* Of ouro-c-va and ouro-c-vl: the chunk that a malloc makes the first segment of that queue; its entry, of 2 for each of 6
 * queues; and the counts of readers, behind those of slots and the number of segments. */
#define GROWN (FLAW_MANY / 16u)
#define GROWN_ENTRY (6u * sizeof(struct quarry_segments_ends) / 8u + 2u * 2u)
#define READERS (FLAW_PAGES + 1u)
#define OBJECTS(field) (offsetof(struct quarry_objects, field) / 8u)
#define ARENAS(field) (offsetof(struct quarry_arenas, field) / 8u)
#define ARENA(field) (offsetof(struct quarry_arena, field) / 4u)
#define KIND(state, more) (QUARRY_SLABS_IS_##state | (uint64_t)(more) << 10)
#define WIDE_FIELD(page, i) (((page) + 1u) * WIDE_BYTES / 4u - 1u - (i))

static const struct flaw flaws[] = {
    {"rw", FLAW_FULL, {{"sweep", 0, 8, 1}}}, /* a turn under way */
    {"rw-bm", FLAW_FULL, {{"sweep", 0, 8, 1}}},
    {"rw-malloc", FLAW_FULL, {{"sweep", 0, 8, 1}}},
    {"crw", FLAW_FULL, {{"sweep", 0, 8, 1}}},
    {"corw", FLAW_FULL, {{"sweep", 0, 8, 1}}},
    {"scatter", FLAW_FULL, {{"sweep", 0, 8, 1}}},
    {"rw", FLAW_FULL, {{"used", 0, 4, 2}}}, /* a tag that no malloc draws */
    {"rw", FLAW_EMPTY, {{"used", FLAW_PAGES - 1, 4, 4}}},
    {"rw-bm", FLAW_FULL, {{"bitmap", 2, 4, 0xffffffbf}}}, /* a bit past the last page is free */
    {"rw-bm", FLAW_EMPTY, {{"bitmap", 2, 4, 0x7fffffc0}}},
    {"crw", FLAW_FULL, {{"bitmap", 2, 4, 0xffffffbf}}},
    {"corw", FLAW_FULL, {{"bitmap", 2, 4, 0xffffffbf}}},
    {"rw-bm", FLAW_EMPTY, {{"lockmap", 0, 8, 1}}}, /* a lock that nobody released */
    {"crw", FLAW_EMPTY, {{"lockmap", 0, 8, 0x80000000}}},
    {"corw", FLAW_EMPTY, {{"lockmap", 0, 8, 4}}},
    {"ring", FLAW_FULL, {{"counters", 0, 8, 1}}}, /* a claim under way */
    {"ring",
     FLAW_FULL,
     {{"counters", 0, 8, (FLAW_PAGES + 1) * QUARRY_RING_UNIT}}},     /* more free pages than there are */
    {"ring", FLAW_FULL, {{"slot", 5, 4, FLAW_PAGES}}},               /* a number of no page */
    {"ring", FLAW_FULL, {{"slot", 5, 4, 3}}},                        /* of a live page */
    {"ring", FLAW_FULL, {{"taken", 3, 4, 2}}},                       /* neither 0 nor 1 */
    {"ring", FLAW_EMPTY, {{"taken", 3, 4, 1}}},                      /* live, and its number is in a slot */
    {"rw-malloc", FLAW_FULL, {{"words", 0, 8, 0xffffffffffffffef}}}, /* an end, but free */
    {"rw-malloc", FLAW_EMPTY, {{"words", 0, 8, (uint64_t)1 << 63}}},
    {"rw-malloc", FLAW_EMPTY, {{"words", 0, 8, 1}}},          /* goes on in a free page */
    {"rw-malloc", FLAW_EMPTY, {{"words", 0, 8, 0x80000000}}}, /* and in the next word */
    {"rw-malloc", FLAW_EMPTY, {{"words", 2, 8, 0xffffffe0}}}, /* beyond the last page */
    {"rw-malloc", FLAW_EMPTY, {{"words", 2, 8, 0xffffff80}}}, /* a bit past the last page is free */
    {"rw-malloc", FLAW_EMPTY, {{"words", 2, 8, (uint64_t)1 << 38 | 0xffffffc0}}}, /* or an end */
    {"rw-malloc", FLAW_EMPTY, {{"flights", 0, 8, 1}}},                            /* a claim under way */
    {"rw-malloc", FLAW_EMPTY, {{"flights", 255, 8, 1}}},
    {"scatter",
     FLAW_EMPTY,
     {{"sweep", sizeof(struct quarry_sweep) / 4, 4, 1}}}, /* the lock of the serial search */
    {"scatter", FLAW_EMPTY, {{"words", 4, 8, SCATTER(QUARRY_SCATTER_EMPTY, 1)}}}, /* cells of an empty page */
    {"scatter", FLAW_EMPTY, {{"words", 4, 8, SCATTER(QUARRY_SCATTER_MULTI, 0)}}}, /* no page, or one */
    {"scatter", FLAW_EMPTY, {{"words", 4, 8, SCATTER(QUARRY_SCATTER_MULTI, 1)}}},
    {"scatter", FLAW_EMPTY, {{"words", 4, 8, SCATTER(QUARRY_SCATTER_MULTI, 2)}}}, /* whose last is empty */
    {"scatter",
     FLAW_EMPTY,
     {{"words", 4, 8, SCATTER(QUARRY_SCATTER_MULTI, FLAW_PAGES - 3)}}}, /* more than follow */
    {"scatter", FLAW_EMPTY, {{"words", 4, 8, SCATTER(QUARRY_SCATTER_MULTI, 0xffffffff)}}},
    {"scatter",
     FLAW_EMPTY,
     {{"words", 4, 8, SCATTER(QUARRY_SCATTER_INNER, 5)}}}, /* of a block before the first page */
    {"scatter", FLAW_EMPTY, {{"words", 4, 8, SCATTER(QUARRY_SCATTER_INNER, 4)}}}, /* of no block */
    {"scatter", FLAW_EMPTY, {{"words", 4, 8, SCATTER(QUARRY_SCATTER_INNER, 0)}}},
    {"scatter", FLAW_EMPTY, {{"words", 4, 8, SCATTER(QUARRY_SCATTER_BUSY, 0)}}}, /* a malloc under way */
    {"scatter", FLAW_EMPTY, {{"words", 4, 8, SCATTER(4, 0)}}},     /* not empty, and no cell lives */
    {"scatter", FLAW_EMPTY, {{"words", 4, 8, SCATTER(4, 16)}}},    /* a cell past the last */
    {"scatter", FLAW_EMPTY, {{"words", 4, 8, SCATTER(5, 1)}}},     /* cells of less than 16 bytes */
    {"tbuddy", FLAW_EMPTY, {{"tree", 1, 8, QUARRY_BUDDY_LOCKED}}}, /* of pages 0 to 15 of a free block */
    {"tbuddy", FLAW_EMPTY, {{"tree", 1, 8, TREE(QUARRY_BUDDY_AVAILABLE)}}},
    {"tbuddy",
     FLAW_FULL,
     {{"tree", 1, 8, TREE(QUARRY_BUDDY_AVAILABLE | QUARRY_BUDDY_AVAILABLE << 2)}}}, /* not joined */
    {"tbuddy", FLAW_EMPTY, {{"tree", 1, 8, TREE(QUARRY_BUDDY_TAKEN)}}}, /* a block inside of another one */
    {"tbuddy",
     FLAW_FULL,
     {{"tree", 1, 8, TREE(0xffffffff) | QUARRY_BUDDY_TAKEN << 8}}}, /* likewise, in a word */
    {"tbuddy", FLAW_FULL, {{"tree", 1, 8, TREE(0xfffffff0) | QUARRY_BUDDY_TAKEN << 8}}},
    {"tbuddy", FLAW_FULL, {{"units", 0, 8, 1}}}, /* a unit that nobody knows of */
    {"ualloc", FLAW_EMPTY, {{"self", 0, 8, 1}}}, /* another struct */
    {"ualloc", FLAW_EMPTY, {{"self", ARENAS(self), 8, 1}}},
    {"ualloc", FLAW_EMPTY, {{"self", ARENAS(arena), 8, 1}}},
    {"ualloc", FLAW_EMPTY, {{"self", ARENAS(supply), 8, 1}}},
    {"ualloc", FLAW_EMPTY, {{"self", ARENAS(chunk), 8, 1}}},
    {"ualloc", FLAW_EMPTY, {{"self", ARENAS(buddy.units), 8, 1}}},
    {"ualloc", FLAW_EMPTY, {{"self", ARENAS(buddy.word), 8, 1}}},
    {"ualloc", FLAW_BINS, {{"self", ARENAS(shape.classes), 8, 9}}},
    {"ualloc", FLAW_BINS, {{"pages", BIN(5, word), 4, QUARRY_BIN_CLAIM}}}, /* a claim that nobody has */
    {"ualloc",
     FLAW_BINS, /* a list of blocks, and of bins, that has nothing to spare */
     {{"arenas", offsetof(struct quarry_arena, list[2].spare) / 8, 8, 1}}},
    {"ualloc", FLAW_BINS, {{"arenas", offsetof(struct quarry_arena, list[4].spare) / 8, 8, 1}}},
    {"ualloc", FLAW_EMPTY, {{"arenas", 0, 8, 1}}},                           /* a reader of an epoch, */
    {"ualloc", FLAW_EMPTY, {{"arenas", 0, 8, 1 << QUARRY_SRCU_COUNT_BITS}}}, /* and of the next one */
    {"ualloc", FLAW_EMPTY, {{"arenas", ARENA(readers.queue) / 2, 8, 1}}},    /* a callback */
    {"ualloc", FLAW_EMPTY, {{"arenas", ARENA(readers.waiting), 4, 1}}},      /* a barrier */
    {"ualloc", FLAW_EMPTY, {{"arenas", ARENA(readers.mutex.held), 4, 1}}},
    {"ualloc", FLAW_EMPTY, {{"arenas", ARENA(list[0].mutex.held), 4, 1}}}, /* a list that changes */
    {"ualloc", FLAW_BINS, {{"arenas", ARENA(list[4].mutex.held), 4, 1}}},
    {"ualloc", FLAW_BINS, {{"arenas", ARENA(list[2].first.next) / 2, 8, 0}}}, /* a list that leads nowhere */
    {"ualloc", FLAW_BINS, {{"arenas", ARENA(list[2].first.back) / 2, 8, 0}}},
    {"ualloc", FLAW_BINS, {{"pages", BIN(5, word), 4, QUARRY_BIN_LISTED}}}, /* a bin that is in none */
    {"ualloc", FLAW_SOME, {{"arenas", ARENA(list[2].first.next) / 2, 8, 0}}},
    {"ualloc", FLAW_EMPTY, {{"supply", 0, 8, 1}}},       /* a unit that nobody knows of */
    {"ualloc", FLAW_EMPTY, {{"supply", BALANCE, 8, 1}}}, /* one that is expected, and one that is reserved */
    {"ualloc", FLAW_EMPTY, {{"supply", BALANCE, 8, (uint64_t)0 - QUARRY_SEMAPHORE_UNIT}}},
    {"ualloc", FLAW_BINS, {{"supply", BALANCE, 8, 1}}},
    {"ualloc", FLAW_BINS, {{"supply", BINS + BALANCE, 8, 1}}},
    {"ualloc", FLAW_EMPTY, {{"units", BALANCE, 8, 1}}},
    {"ualloc", FLAW_EMPTY, {{"units", 0, 8, 1}}},
    {"ualloc", FLAW_EMPTY, {{"tree", 1, 8, QUARRY_BUDDY_LOCKED}}},
    {"ualloc",
     FLAW_BINS,
     {{"pages", BIN(5, word), 4, QUARRY_BIN_ONE}}}, /* a block is free, and no bit is clear */
    {"ualloc", FLAW_EMPTY, {{"spans", 0, 8, 1}}},   /* a span that nobody has */
    {"ualloc", FLAW_EMPTY, {{"spans", offsetof(struct quarry_spans, arrived) / 8, 8, 1}}},
    {"ualloc", FLAW_BINS, {{"arenas", offsetof(struct quarry_arena, span[2]) / 8, 8, 1}}},
    {"ualloc", /* one of no chunk */
     FLAW_BINS,
     {{"arenas", offsetof(struct quarry_arena, span[2]) / 8, 8, 0xfffffffe00000001}, {"spans", 0, 8, 1}}},
    {"ualloc", /* pages that are others', and that there are not */
     FLAW_BINS,
     {{"arenas", offsetof(struct quarry_arena, span[QUARRY_ARENAS_CLASSES]) / 8, 8, 1}, {"spans", 0, 8, 1}}},
    {"ualloc",
     FLAW_BINS,
     {{"arenas", offsetof(struct quarry_arena, span[QUARRY_ARENAS_CLASSES]) / 8, 8, 0xfffff00000000001},
      {"spans", 0, 8, 1}}},
    {"ualloc", FLAW_BINS, {{"pages", BIN(5, word), 4, QUARRY_BIN_RETIRING}}},
    {"ualloc", FLAW_BINS, {{"pages", BIN(5, word), 4, QUARRY_BIN_LISTING}}},
    {"ualloc", FLAW_BINS, {{"pages", BIN(5, given), 4, 1}}}, /* a block that somebody is about to count */
    {"ualloc", FLAW_BINS, {{"pages", BIN(5, used), 4, 0xfffffffe}}}, /* the other way round */
    {"ualloc",
     FLAW_BINS,
     {{"pages", BIN(5, used), 4, 0xfffffffe}, {"pages", BIN(5, word), 4, QUARRY_BIN_ONE}}}, /* not listed */
    {"ualloc", FLAW_BINS, {{"pages", BIN(5, class_), 4, QUARRY_ARENAS_CLASSES}}},
    {"ualloc", FLAW_BINS, {{"pages", BIN(5, page), 4, 1}}},
    {"ualloc", FLAW_BINS, {{"pages", BIN(5, arena), 4, 4096}}},
    {"ualloc", FLAW_BINS, {{"pages", CHUNK(5, used), 4, 0xfffffffe}}}, /* a free bin that nobody knows of */
    {"ualloc",
     FLAW_BINS, /* and one that all know of: its chunk has none that is not free */
     {{"pages", CHUNK(5, used), 4, 0xfffffffe},
      {"pages", CHUNK(5, word), 4, QUARRY_BIN_ONE | QUARRY_BIN_LISTED},
      {"supply", BINS, 8, 1},
      {"supply", BINS + BALANCE, 8, QUARRY_SEMAPHORE_UNIT}}},
    {"objects", FLAW_FULL, {{"sweep", 0, 8, 1}}},
    {"objects", FLAW_FULL, {{"self", OBJECTS(self), 8, 1}}},
    {"objects", FLAW_FULL, {{"self", OBJECTS(pages.base), 8, 1}}},
    {"objects", FLAW_FULL, {{"self", OBJECTS(sizes), 8, 1}}},
    {"objects", FLAW_FULL, {{"self", OBJECTS(blocks.slots), 8, 1}}},
    {"objects", FLAW_FULL, {{"self", OBJECTS(blocks.maps), 8, 1}}},
    {"objects", FLAW_FULL, {{"self", OBJECTS(blocks.flights), 8, 1}}},
    {"objects", FLAW_FULL, {{"self", OBJECTS(blocks.sweep), 8, 1}}},
    {"objects", FLAW_FULL, {{"flights", 0, 8, 1}}},                    /* a malloc under way */
    {"objects", FLAW_EMPTY, {{"kinds", 3, 4, QUARRY_BLOCKS_IS_KIND}}}, /* a page with slots of 16 bytes */
    {"objects", FLAW_FULL, {{"slots", 3, 8, 1}}},                      /* all of a page's slots are free */
    {"objects", FLAW_FULL, {{"maps", 0, 8, 1}}},                     /* free pages in a word that has none */
    {"objects", FLAW_FULL, {{"maps", 0, 8, 1}, {"maps", 1, 8, 1}}},  /* a page that lives is free, too */
    {"objects", FLAW_EMPTY, {{"maps", 2, 8, 0x7f}}},                 /* a bit past the last page */
    {"objects", FLAW_FULL, {{"maps", OBJECTS_PAGES + 1, 8, ~1ull}}}, /* a page that is not in its size's */
    {"objects",
     FLAW_FULL,
     {{"maps", OBJECTS_PAGES + 3, 8, 1}, {"maps", OBJECTS_PAGES + 4, 8, 1}}}, /* no room */
    {"quarry", FLAW_FULL, {{"sweep", 0, 8, 1}}},
    {"quarry", FLAW_EMPTY, {{"kinds", 3, 8, QUARRY_SLABS_IS_MOVING}}},
    {"quarry", FLAW_EMPTY, {{"kinds", 3, 8, QUARRY_SLABS_IS_LARGE}}},            /* a part of no block */
    {"quarry", FLAW_EMPTY, {{"kinds", 3, 8, 2u << 10 | QUARRY_SLABS_IS_LARGE}}}, /* a block without a part */
    {"quarry", FLAW_EMPTY, {{"kinds", 3, 8, 1u << 10}}},                         /* free, and a cursor's */
    {"quarry", FLAW_EMPTY, {{"kinds", 3, 8, QUARRY_SLABS_IS_BOUND}}}, /* its words are of no class */
    {"quarry", FLAW_EMPTY, {{"cursors", 0, 8, QUARRY_SLABS_BUSY | QUARRY_SLABS_PAST}}},
    {"quarry", FLAW_EMPTY, {{"self", offsetof(struct quarry_slabs, words) / 8u, 8, 0}}},
    {"ouro-p-s", FLAW_EMPTY, {{"queues", 0, 4, 0}}},  /* a page of a chunk that has none */
    {"ouro-p-s", FLAW_EMPTY, {{"classes", 0, 8, 1}}}, /* a page that nobody knows of, */
    {"ouro-p-s",
     FLAW_EMPTY,
     {{"classes", 0, 8, OWED}, {"classes", BALANCE, 8, OWED *QUARRY_SEMAPHORE_UNIT}}}, /* or owes */
    /* A block, and one whose number of pages leads round to its last page. */
    {"scatter",
     FLAW_EMPTY,
     {{"words", 0, 8, SCATTER(QUARRY_SCATTER_MULTI, 3)},
      {"words", 1, 8, SCATTER(QUARRY_SCATTER_INNER, 1)},
      {"words", 2, 8, SCATTER(QUARRY_SCATTER_INNER, 2)},
      {"words", 4, 8, SCATTER(QUARRY_SCATTER_MULTI, 0xffffffff)}}},
    /* A cell past the last is free. */
    {"scatter",
     FLAW_WIDE,
     {{"words", 4, 8, SCATTER(WIDE_CELLS, 1)},
      {"pages", WIDE_FIELD(4, 0), 4, 1},
      {"pages", WIDE_FIELD(4, 1), 4, 0}}},
    /* Two cells live, of which one has its bit. */
    {"scatter",
     FLAW_WIDE,
     {{"words", 4, 8, SCATTER(WIDE_CELLS, 2)},
      {"pages", WIDE_FIELD(4, 0), 4, 1},
      {"pages", WIDE_FIELD(4, 1), 4, 0x80000000}}},
    /* Not empty, and no cell lives. */
    {"scatter",
     FLAW_WIDE,
     {{"words", 4, 8, SCATTER(WIDE_CELLS, 0)},
      {"pages", WIDE_FIELD(4, 0), 4, 0},
      {"pages", WIDE_FIELD(4, 1), 4, 0x80000000}}},
    {"ouro-p-s",
     FLAW_EMPTY,
     {{"store", STORE(word) / 2, 8, FLAW_PAGES *QUARRY_CHUNKS_LEFT + 1}}}, /* in transit */
    {"ouro-c-s", FLAW_EMPTY, {{"store", STORE(word) / 2, 8, FLAW_PAGES *QUARRY_CHUNKS_LEFT + 1}}},
    {"ouro-c-s",
     FLAW_EMPTY,
     {{"store", STORE(word) / 2, 8, (FLAW_PAGES + 1) * QUARRY_CHUNKS_LEFT}}}, /* more than all */
    {"ouro-c-s", FLAW_EMPTY, {{"store", STORE(fresh), 4, FLAW_PAGES + 1}}},
    {"ouro-c-s", FLAW_EMPTY, {{"classes", 0, 8, 1}}}, /* a page that nobody knows of, */
    {"ouro-c-s",
     FLAW_EMPTY,
     {{"classes", 0, 8, OWED}, {"classes", BALANCE, 8, OWED *QUARRY_SEMAPHORE_UNIT}}}, /* or owes */
    {"ouro-c-s", FLAW_EMPTY, {{"words", 3, 8, QUARRY_MASK_PAGE}}}, /* counts a page without having a size */
    {"ouro-c-s", FLAW_EMPTY, {{"words", 3, 8, 9 * QUARRY_CHUNK_CLASS}}}, /* a size that there is not */
    {"ouro-c-s",
     FLAW_EMPTY,
     {{"words", 3, 8, QUARRY_CHUNK_CLASS + QUARRY_MASK_PAGE}}}, /* all its pages live */
    /* A page is free and counted, but the chunk is in no queue. */
    {"ouro-c-s", FLAW_EMPTY, {{"words", 3, 8, QUARRY_CHUNK_CLASS + QUARRY_MASK_PAGE}, {"parked", 3, 4, 1}}},
    {"ouro-c-s", FLAW_EMPTY, {{"tokens", 0, 4, 3}}},          /* a chunk that does not know its entry */
    {"ouro-c-s", FLAW_EMPTY, {{"tokens", 0, 4, FLAW_PAGES}}}, /* a number of no chunk */
    /* A page that the chunk has not, behind 31 live ones. */
    {"ouro-p-s", FLAW_ODD, {{"words", 3, 8, QUARRY_CHUNK_CLASS}, {"live", 3, 4, 0xffffffff}}},
    {"ouro-p-va", FLAW_SOME, {{"pages", SLOT(2, 0), 4, FLAW_PAGES << 6}}}, /* a page of no chunk */
    {"ouro-p-va", FLAW_SOME, {{"pages", SLOT(2, 5), 4, QUARRY_NO_INDEX}}}, /* a number is missing */
    {"ouro-p-va", FLAW_SOME, {{"pages", SLOT(2, 255), 4, 0}}},             /* one behind the last */
    {"ouro-p-va", FLAW_SOME, {{"directory", ENDS(queue.count), 4, 0}}},
    {"ouro-p-va", FLAW_SOME, {{"directory", ENDS(room), 4, QUARRY_SEGMENTS_ROOM_BIAS}}}, /* no slot is left */
    {"ouro-p-va", FLAW_SOME, {{"directory", ENTRY, 8, (uint64_t)0xfffffd << 32 | 2}}},   /* another segment */
    {"ouro-p-va", FLAW_SOME, {{"directory", ENTRY, 8, (uint64_t)0xfffffc << 32 | FLAW_PAGES}}},
    {"ouro-p-va", FLAW_SOME, {{"taken", FLAW_PAGES, 4, 1}}}, /* one segment fewer than there are */
    {"ouro-p-vl", FLAW_SOME, {{"pages", SLOT(2, 0), 4, FLAW_PAGES << 6}}},
    {"ouro-p-vl", FLAW_SOME, {{"directory", ENDS(head) / 2, 8, (uint64_t)0xfffffb << 32 | 2}}},
    {"ouro-p-vl", FLAW_SOME, {{"taken", FLAW_PAGES, 4, 1}}},
    {"quarry", FLAW_FULL, {{"sweep", 0, 8, 1}}}, /* a turn under way */
    {"quarry", FLAW_EMPTY, {{"self", offsetof(struct quarry_slabs, words) / 8, 8, 1}}},
    {"quarry", FLAW_EMPTY, {{"kinds", 3, 8, KIND(FREE, 1)}}},              /* a free chunk that is a row */
    {"quarry", FLAW_EMPTY, {{"kinds", 3, 8, KIND(MOVING, 0)}}},            /* a move under way */
    {"quarry", FLAW_EMPTY, {{"kinds", 3, 8, KIND(BOUND, 0) | 0xff << 2}}}, /* a size that there is not */
    {"quarry", FLAW_EMPTY, {{"kinds", 0, 8, KIND(LARGE, 0)}}},             /* a part of no row */
    {"quarry", FLAW_EMPTY, {{"kinds", 3, 8, KIND(LARGE, 0)}}},
    {"quarry", FLAW_FULL, {{"kinds", 3, 8, KIND(LARGE, 0)}}},
    {"quarry", FLAW_FULL, {{"kinds", 3, 8, KIND(LARGE, 2)}}},              /* a row that goes on in another */
    {"quarry", FLAW_FULL, {{"kinds", FLAW_PAGES - 1, 8, KIND(LARGE, 2)}}}, /* and behind the last chunk */
    {"quarry", FLAW_EMPTY, {{"cursors", 0, 8, QUARRY_SLABS_BUSY | QUARRY_SLABS_PAST}}},
    {"quarry", FLAW_EMPTY, {{"cursors", 0, 8, (uint64_t)5 << QUARRY_SLABS_CHUNK}}}, /* of a free chunk */
    {"quarry", FLAW_EMPTY, {{"kinds", 3, 8, KIND(BOUND, 0)}, {"words", 3, 8, 1}}},  /* of another size */
    {"quarry", /* two slots of 32 bytes, and one behind them */
     FLAW_EMPTY,
     {{"kinds", 3, 8, KIND(BOUND, 0) | 1 << 2}, {"words", 3, 8, (uint64_t)2 << 56 | 0xfffffff9}}},
    {"ouro-c-va", FLAW_EMPTY, {{"self", 0, 8, 1}}},                             /* another struct */
    {"ouro-c-va", FLAW_GROWN, {{"pages", SLOT(GROWN, 0), 4, FLAW_PAGES}}},      /* an entry of no chunk */
    {"ouro-c-va", FLAW_GROWN, {{"pages", SLOT(GROWN, 0), 4, GROWN}}},           /* that does not know of it */
    {"ouro-c-va", FLAW_GROWN, {{"pages", SLOT(GROWN, 0), 4, QUARRY_NO_INDEX}}}, /* it is missing */
    {"ouro-c-va", FLAW_GROWN, {{"pages", SLOT(GROWN, 255), 4, 0}}},             /* one behind the last */
    {"ouro-c-va", FLAW_GROWN, {{"directory", ENDS(queue.count), 4, 0}}},
    {"ouro-c-va",
     FLAW_GROWN,
     {{"directory", ENDS(room), 4, QUARRY_SEGMENTS_ROOM_BIAS}}}, /* no slot is left */
    {"ouro-c-va",
     FLAW_GROWN,
     {{"directory", GROWN_ENTRY, 8, (uint64_t)0xfffffd << 32 | GROWN}}}, /* another */
    {"ouro-c-va", FLAW_GROWN, {{"directory", GROWN_ENTRY, 8, (uint64_t)0xfffffc << 32 | FLAW_PAGES}}},
    {"ouro-c-va", FLAW_GROWN, {{"taken", FLAW_PAGES, 4, 7}}}, /* more segments than there are */
    {"ouro-c-va",
     FLAW_GROWN,
     {{"taken", READERS + GROWN, 4, QUARRY_SEGMENTS_HELD + 2u}}},  /* one looks at it */
    {"ouro-c-va", FLAW_GROWN, {{"taken", READERS + GROWN, 4, 0}}}, /* nobody holds it */
    {"ouro-c-vl", FLAW_GROWN, {{"pages", SLOT(GROWN, 0), 4, FLAW_PAGES}}},
    {"ouro-c-vl", FLAW_GROWN, {{"pages", SLOT(GROWN, 255), 4, 0}}},
    {"ouro-c-vl", FLAW_GROWN, {{"directory", ENDS(head) / 2, 8, (uint64_t)0xfffffb << 32 | GROWN}}},
    {"ouro-c-vl", FLAW_GROWN, {{"taken", FLAW_PAGES, 4, 7}}},
    {"ouro-c-vl", FLAW_GROWN, {{"taken", READERS + GROWN, 4, 0}}},
};

/* Writes a word; *before receives what was there. */
static void rewrite(const struct quarry_heap_description *about, const struct word *word, uint64_t value,
                    uint64_t *before)
{
    unsigned char *at = NULL;
    for (uint32_t i = 0; i < QUARRY_HEAP_SECTIONS && map[i].name; i++)
        if (strcmp(map[i].name, word->section) == 0)
            at = (unsigned char *)about->pool_base + map[i].offset + word->at * word->bytes;
    assert_non_null(at);
    *before = 0;
    assert_ok(quarry_memory_copy(&base_target, before, at, word->bytes));
    assert_ok(quarry_memory_copy(&base_target, at, &value, word->bytes));
}

/* Blocks of one warp, of which some are freed.
 * FLAW_GROWN: a free makes no segment, so all entries are strays (core/chunk_masks.h), of chunks with many free pages first, and
 * then of chunks with one.  A malloc by a warp looks at strays from a random place on, which is not the first here, and
 * finds less than 32 pages.  Then it takes the first ones out and needs only some of their pages; what is left goes
 * into the queue of its size, for which this malloc makes a segment. */
static void thin(struct promise_case *argument, int kind)
{
    void *block[FLAW_MANY];
    const size_t bytes = sizeof *block * argument->count;
    argument->threads = SIMT_LANES;
    test_run(&promise_stride_malloc, &base_target, 1, SIMT_LANES, 0, argument);
    assert_ok(quarry_memory_copy(&base_target, block, argument->block, bytes));
    for (uint32_t i = 0; i < argument->count; i++)
        if (kind == FLAW_SOME ? i % 3 == 0 : i < 64 ? i % 4 == 0 : i % 16 != 0)
            block[i] = NULL;
    assert_ok(quarry_memory_copy(&base_target, argument->block, block, bytes));
    test_run(&promise_stride_free, &base_target, 1, SIMT_LANES, 0, argument);
    argument->count = SIMT_LANES;
    if (kind == FLAW_GROWN)
        test_run(&promise_stride_malloc, &base_target, 1, SIMT_LANES, 0, argument);
}

static void flaws_of(quarry_heap *heap, const char *allocator, int kind)
{
    struct quarry_heap_description about;
    struct promise_case argument;
    memset(&argument, 0, sizeof argument);
    argument.heap = quarry_heap_handle(heap);
    argument.result = test_memory(&base_target, sizeof *argument.result);
    argument.count = kind == FLAW_BINS    ? FLAW_BLOCKS
                     : kind == FLAW_SOME  ? FLAW_FEW
                     : kind == FLAW_GROWN ? FLAW_MANY
                                          : FLAW_PAGES;
    argument.block = test_memory(&base_target, sizeof(void *) * argument.count);
    argument.bytes = 64;
    argument.alignment = 16;
    argument.threads = THREADS;
    if (kind == FLAW_FULL || kind == FLAW_BINS)
        test_run(&promise_stride_malloc, &base_target, 4, THREADS / 4, 0, &argument);
    if (kind == FLAW_SOME || kind == FLAW_GROWN)
        thin(&argument, kind);
    assert_ok(quarry_heap_describe(heap, &about));
    memset(map, 0, sizeof map);
    quarry_heap_map(heap, map, QUARRY_HEAP_SECTIONS);
    for (uint32_t i = 0; i < sizeof flaws / sizeof *flaws; i++) {
        const struct word *word = flaws[i].word;
        uint64_t before[FLAW_WORDS], after;
        if (flaws[i].heap != kind || strcmp(flaws[i].allocator, allocator) != 0)
            continue;
        assert_ok(quarry_heap_check(heap));
        for (uint32_t k = 0; k < FLAW_WORDS && word[k].bytes; k++)
            rewrite(&about, &word[k], word[k].value, &before[k]);
        if (quarry_heap_check(heap) != QUARRY_ERROR_CORRUPT)
            fail_msg("%s: word %llu of section %s is %llx, and was %llx: nothing is said", allocator,
                     (unsigned long long)word->at, word->section, (unsigned long long)word->value,
                     (unsigned long long)before[0]);
        for (uint32_t k = 0; k < FLAW_WORDS && word[k].bytes; k++)
            rewrite(&about, &word[k], before[k], &after);
    }
    assert_ok(quarry_heap_check(heap));
    test_memory_free(&base_target, argument.block, 0);
    test_memory_free(&base_target, argument.result, 0);
}

static void check_sees_each_flaw(void **state)
{
    static const uint64_t page_bytes[FLAWED] = {64,         64,         WIDE_BYTES, WIDE_BYTES,
                                                WIDE_BYTES, WIDE_BYTES, 31 * 16};
    uint32_t all = 0;
    (void)state;
    for (int i = 0; i < quarry_allocator_count(); i++)
        for (int kind = 0; kind < FLAWED; kind++) {
            struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
            struct quarry_allocator_info info;
            quarry_heap *heap;
            uint32_t known = 0;
            assert_ok(quarry_allocator_describe(i, &info));
            for (uint32_t k = 0; k < sizeof flaws / sizeof *flaws; k++)
                known += flaws[k].heap == kind && strcmp(flaws[k].allocator, info.name) == 0;
            if (!known) /* the platform's, or one of the tests' */
                continue;
            all += known;
            options.target = base_target;
            options.allocator = info.name;
            options.pages = FLAW_PAGES;
            options.page_bytes = page_bytes[kind];
            assert_ok(quarry_heap_create(&heap, &options));
            flaws_of(heap, info.name, kind);
            assert_ok(quarry_heap_destroy(heap));
        }
    assert_int_equal(all, sizeof flaws / sizeof *flaws); /* of no allocator that has another name */
}

/* Words of a page with cells, as a test writes them, are no flaw. */
static void check_says_nothing_of_what_is_sound(void **state)
{
    static const struct word sound[] = {
        {"words", 4, 8, SCATTER(WIDE_CELLS, 1)},           {"pages", WIDE_FIELD(4, 0), 4, 1},
        {"pages", WIDE_FIELD(4, 1), 4, 0x80000000},        {"words", 0, 8, SCATTER(QUARRY_SCATTER_MULTI, 3)},
        {"words", 1, 8, SCATTER(QUARRY_SCATTER_INNER, 1)}, {"words", 2, 8, SCATTER(QUARRY_SCATTER_INNER, 2)},
    };
    struct quarry_heap_options options = QUARRY_HEAP_OPTIONS_INIT;
    struct quarry_heap_description about;
    quarry_heap *heap;
    uint64_t before;
    (void)state;
    options.target = base_target;
    options.allocator = "scatter";
    options.pages = FLAW_PAGES;
    options.page_bytes = WIDE_BYTES;
    assert_ok(quarry_heap_create(&heap, &options));
    assert_ok(quarry_heap_describe(heap, &about));
    memset(map, 0, sizeof map);
    quarry_heap_map(heap, map, QUARRY_HEAP_SECTIONS);
    for (uint32_t i = 0; i < sizeof sound / sizeof *sound; i++)
        rewrite(&about, &sound[i], sound[i].value, &before);
    assert_ok(quarry_heap_check(heap));
    assert_ok(quarry_heap_destroy(heap));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_sees_each_flaw),
        cmocka_unit_test(check_says_nothing_of_what_is_sound),
    };
    base_target = test_target();
    return cmocka_run_group_tests_name("flaws", tests, NULL, NULL) != 0;
}
