/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of slots: what alloc/slabs.h is made of.
 *
 *     pool     | self | sweep | kinds | cursors | spread | hints | known | words | chunk 0 | chunk 1 | ...
 *
 *     kind     63        34 33         10 9      2 1     0     one for each chunk
 *             |  version   |    more     |  class  | state |
 *              free: nobody's; more: 0, or all ones: it is fresh, nobody has ever had it.  bound: it has slots of the
 *              class; more: 1 + the number of the cursor that had it, or 0; and of a trail's chunk, 12 bits higher, 1 +
 *              its number there.
 *              moving: somebody binds it, closes it, or takes it for a large block, or gives back a cursor's rest.
 *              large: a block of `more` chunks begins here; 0: one goes on.
 *     word     63        56       32      31        0     `stride` words for each chunk, one for 32 slots
 *             | class + 1  | 0 | touched |   taken   |     slots that the chunk has not are taken for ever
 *     cursor   63     62    61     51 50       27 26       0     of each class one, then of each the second, ...
 *             | busy | trail |  life   |  chunk   |   next   |
 *              slots from `next` on are free, though their bits are set.  trail: next goes on behind these (see below)
 *     spread   31       29     22 21    11 10     0    one for each class, and one more: whether all trails have ended
 *             | barren | larger  | reach  |  used   |  how many of its cursors a class uses, and has ever used, less 1:
 *              2^n - 1 each.  Cursors behind those have never had a chunk, so a sweep does not read them.
 *              larger: of a class that is barren, the class whose slots serve it meanwhile, or 0
 *     found    behind these, likewise: what a sweep has last seen that has slots of the class; or, the last, that is
 *              free or has no live slot.  1 + a chunk, or 1 + pages.count + the number of a cursor; or 0
 *     hint     63        32 31        0     one for a warp and a class, or more (quarry_slabs_hint_of)
 *             | id of a word |   bits   |   that seemed clear when somebody last looked
 *     known    `knows` chunks for each class, which were of that class when somebody last looked
 *
 * The version of a kind counts every change, the life of a cursor how often it was filled.  They start anew after 2^30
 * and 2^11.  Whoever takes slots of a word makes it touched, and so does who closes or binds its chunk; what for,
 * alloc/slabs/slabs_sweep.h says.
 *
 * Who has what.
 *   A slot is taken by an OR into its word, or by a compare-exchange: who finds its bit clear, and the word's class
 *   right, has it.  It does not matter how old the hint is that led there.  A word whose chunk was closed meanwhile, or
 *   is yet to be bound, is full, and an OR changes nothing.  A word whose chunk has another class by now tells so: then
 *   who has set clear bits clears them again.  Meanwhile they look taken: nobody else has them, and nobody closes the
 *   chunk.
 *   Or by an add to a cursor: whoever the add gives numbers below the number of slots has those slots, and nobody else
 *   can, because their bits are set.
 *   A chunk is moved from `free` or `bound` to `moving` by a compare-exchange of its kind, so one group has it.
 *   Who closes a chunk changes its words one by one from empty to full.  A word that is not empty has a live slot, or
 *   one that a cursor has: then the others are opened again.  A free that is on its way has not yet cleared its bit,
 *   so its word is not empty.  When all words are full nobody can take a slot, and nobody has one to free.
 *   A cursor is filled by who set its `busy` bit.  Nobody waits for that: who finds it set for a while looks elsewhere.
 *
 * Order.  A free clears its bit by an AND, release.  Takes and closes acquire.  All between are read-modify-writes.  So
 * what was done to a slot happens-before what its next owner does, or who closes the chunk.  The kind carries
 * that on: it is stored as free with release, and claimed with acquire.  Who binds a chunk carries it to who takes the
 * slots: words that have free slots are written behind a fence, and a cursor is stored with release, and added to with
 * acquire.  Before that those words are full, from the beginning on.  For an OR by a stale hint may take effect before
 * they are written, and what it gives back after that: if it had set a bit, it would clear somebody else's.
 *   A free loads its chunk's kind from the cache of its multiprocessor, if it is there: else all warps that free slots
 * of few chunks would go to one place of the second cache.  Who bound the chunk had made it moving, with its class,
 * before anybody had the slot; so that happens-before the free, and the load sees that kind or a later one.  Until the
 * free has cleared the bit nobody closes the chunk: so all these kinds have the class, and are bound or moving.  Also a
 * mixture of two of them is, as the state and a part of the class are in one byte, and the rest of the class is in the
 * next.  Of a large block nobody changes the kind before it is freed. */
#ifndef QUARRY_ALLOC_SLABS_MAP_H
#define QUARRY_ALLOC_SLABS_MAP_H

#include "quarry/core/bits.h"
#include "quarry/core/layout.h"
#include "quarry/core/pages.h"
#include "quarry/core/random.h"
#include "quarry/core/share.h"
#include "quarry/core/sweep.h"
#include "quarry/simt/simt.h"

#define QUARRY_SLABS_BITS 32u /* slots of a word */
#define QUARRY_SLABS_MOST                                                                                    \
    0x00fffffeu /* chunks: a cursor has their numbers, and a kind how many a block has */

#define QUARRY_SLABS_TOUCHED ((uint64_t)1 << 32) /* of a word: see above */

#define QUARRY_SLABS_NEXT 0x07ffffffu /* of a cursor */
#define QUARRY_SLABS_CHUNK 27u
#define QUARRY_SLABS_LIFE 51u
#define QUARRY_SLABS_TRAIL ((uint64_t)1 << 62)
#define QUARRY_SLABS_BUSY ((uint64_t)1 << 63)
#define QUARRY_SLABS_PAST 0x02000000u /* `next` of a cursor that has nothing, after it was set back; */
#define QUARRY_SLABS_FAR 0x04000000u  /* from here on it is: 2^26 lanes may add, each once */

#define QUARRY_SLABS_END (1u << 21)                    /* how far a trail goes */
#define QUARRY_SLABS_FRESH ((uint64_t)0xffffffu << 10) /* the kind of a chunk that nobody has ever had */
#define QUARRY_SLABS_MANY                                                                                    \
    1024u /* chunks, from which a new heap's first cursors have some: an eighth at most */

#define QUARRY_SLABS_OWNER 12u /* bits of `more`, of a chunk that is bound: which cursor had it */

#define QUARRY_SLABS_NONE (~(uint64_t)0) /* no place */

enum quarry_slabs_state {
    QUARRY_SLABS_IS_FREE,
    QUARRY_SLABS_IS_BOUND,
    QUARRY_SLABS_IS_MOVING,
    QUARRY_SLABS_IS_LARGE
};

#define QUARRY_SLABS_HINT_ROW 16u /* hints: 128 bytes, a line of a cache */

struct quarry_slabs {
    struct quarry_pages pages; /* chunks; first, as a free needs it first */
    uint64_t *kinds;
    uint64_t *words;
    uint64_t *cursor;
    uint32_t *spread;
    uint64_t *hint;
    unsigned char *self; /* copies of this: functions that are not inlined get the address of one */
    struct quarry_sweep *sweep;
    uint32_t units;    /* of a chunk */
    uint32_t unit_log; /* a unit has 2^unit_log bytes */
    uint32_t stride;   /* words of a chunk: */
    uint32_t word_log; /* at most 2^word_log */
    uint32_t classes;
    uint32_t stepped; /* units of the largest slot of a stepped class, */
    uint32_t steps;   /* how many such classes there are, */
    uint32_t by;      /* and class `by - n` has n slots */
    uint32_t cursors; /* for each class: a power of two; */
    uint32_t trails;  /* so many have a trail: likewise */
    uint32_t bound;   /* chunks that a new heap's cursors have, the first ones: one for each trail, or none */
    uint32_t hints;   /* likewise */
    uint32_t parts;   /* of a sweep */
    uint32_t copies;  /* of this: a power of two */
    uint32_t page_log; /* of a chunk's bytes, or 0: they are no power of two */
    uint32_t knows;    /* for each class: a power of two */
    uint32_t hint_log; /* rows of hints: 2^hint_log, or a part of one */
    uint32_t *known;
    uint32_t *found; /* behind spread */
};

/* ---- classes: the sizes of slots ----
 *
 * Stepped: 1 to 64 units, then 32 steps from each power of two to the next, until 64 slots are a chunk.  Behind those
 * n slots, n from 63 down to 2, each as large as fits. */

#define QUARRY_SLABS_STEPS 5u /* log of 32 */

/* The smallest class whose slots have so many bytes, at least 1.  Not below h->classes: no class has. */
SIMT_FN uint32_t quarry_slabs_class(const struct quarry_slabs *h, uint64_t bytes)
{
    uint64_t more = (bytes - 1u) >> h->unit_log; /* units less one */
    if (more >= h->units)
        return h->classes;
    uint32_t last = (uint32_t)more;
    if (last >= h->stepped)
        return h->by - quarry_divide_u32(h->units, last + 1u);
    if (last < 1u << QUARRY_SLABS_STEPS)
        return last;
    uint32_t step = 31u - QUARRY_SLABS_STEPS - simt_clz_u32(last); /* log of a step */
    return (step << QUARRY_SLABS_STEPS) + (last >> step);
}

/* Units of a slot of a stepped class; a macro, as the host asks, too. */
#define QUARRY_SLABS_STEPPED(class_)                                                                         \
    ((class_) >> QUARRY_SLABS_STEPS == 0                                                                     \
         ? (class_) + 1u                                                                                     \
         : ((class_) % (1u << QUARRY_SLABS_STEPS) + (1u << QUARRY_SLABS_STEPS) + 1u)                         \
               << (((class_) >> QUARRY_SLABS_STEPS) - 1u))

/* Units of a slot. */
SIMT_FN uint32_t quarry_slabs_units(const struct quarry_slabs *h, uint32_t class_)
{
    return class_ < h->steps ? QUARRY_SLABS_STEPPED(class_) : quarry_divide_u32(h->units, h->by - class_);
}

/* Slots of a chunk. */
SIMT_FN uint32_t quarry_slabs_slots(const struct quarry_slabs *h, uint32_t class_)
{
    return quarry_divide_u32(h->units, quarry_slabs_units(h, class_));
}

/* A slot's block.
 *   class_   of the chunk; or, for a row of chunks, whatever: its slot is 0 */
SIMT_FN void *quarry_slabs_slot(const struct quarry_slabs *h, uint32_t chunk, uint32_t slot, uint32_t class_)
{
    uint32_t offset = slot * quarry_slabs_units(h, class_) << h->unit_log; /* less than a chunk: 32 bits do */
    return h->pages.base + ((uint64_t)chunk * (uint32_t)h->pages.page_bytes + offset);
}

/* The block at a place: of a chunk of the class, or the first chunk of a row. */
SIMT_FN void *quarry_slabs_block(const struct quarry_slabs *h, uint64_t place, uint32_t class_)
{
    return quarry_slabs_slot(h, (uint32_t)(place >> 16), (uint32_t)place & 0xffffu, class_);
}

/* The chunk of an address, or QUARRY_NO_PAGE. */
SIMT_FN uint32_t quarry_slabs_page(const struct quarry_slabs *h, const void *address)
{
    if (h->page_log == 0)
        return quarry_page_index(&h->pages, address);
    uint64_t page = ((uint64_t)(uintptr_t)address - (uint64_t)(uintptr_t)h->pages.base) >> h->page_log;
    return page < h->pages.count ? (uint32_t)page : QUARRY_NO_PAGE;
}

/* ---- kinds ---- */

SIMT_FN enum quarry_slabs_state quarry_slabs_state(uint64_t kind)
{
    return (enum quarry_slabs_state)(kind & 3u);
}

SIMT_FN uint32_t quarry_slabs_kind_class(uint64_t kind)
{
    return (uint32_t)kind >> 2 & 0xffu;
}

SIMT_FN uint32_t quarry_slabs_more(uint64_t kind)
{
    return (uint32_t)(kind >> 10) & 0xffffffu;
}

/* The kind that comes after `kind`. */
SIMT_FN uint64_t quarry_slabs_next_kind(uint64_t kind, enum quarry_slabs_state state, uint32_t class_,
                                        uint32_t more)
{
    return ((kind >> 34) + 1u) << 34 | (uint64_t)more << 10 | class_ << 2 | (uint32_t)state;
}

SIMT_FN int quarry_slabs_is_bound(uint64_t kind, uint32_t class_)
{
    return (kind & 0x3ffu) == (class_ << 2 | (uint32_t)QUARRY_SLABS_IS_BOUND);
}

SIMT_FN uint64_t quarry_slabs_kind(const struct quarry_slabs *h, uint32_t chunk)
{
    return simt_load_u64(&h->kinds[chunk], relaxed);
}

/* Makes a chunk of that kind a moving one.  Returns whether the caller did it: then it has the chunk.
 *   at   where its kind is
 * Order: acquires what was done in the chunk before it became free or bound. */
SIMT_FN int quarry_slabs_hold_at(uint64_t *at, uint64_t kind, uint32_t class_)
{
    uint64_t moving = quarry_slabs_next_kind(kind, QUARRY_SLABS_IS_MOVING, class_, quarry_slabs_more(kind));
    return simt_cas_u64(at, kind, moving, acquire) == kind;
}

SIMT_FN int quarry_slabs_hold(const struct quarry_slabs *h, uint32_t chunk, uint64_t kind, uint32_t class_)
{
    return quarry_slabs_hold_at(&h->kinds[chunk], kind, class_);
}

/* Ends that.
 *   kind   that it was, moving
 * Order: release; pairs with quarry_slabs_hold, and with the fence of a sweep. */
SIMT_FN void quarry_slabs_let_go_at(uint64_t *at, uint64_t kind, enum quarry_slabs_state state,
                                    uint32_t class_, uint32_t more)
{
    simt_store_u64(at, quarry_slabs_next_kind(kind, state, class_, more), release);
}

SIMT_FN void quarry_slabs_let_go(const struct quarry_slabs *h, uint32_t chunk, enum quarry_slabs_state state,
                                 uint32_t class_, uint32_t more)
{
    quarry_slabs_let_go_at(&h->kinds[chunk], quarry_slabs_kind(h, chunk), state, class_, more);
}

/* ---- words ---- */

/* A place is a slot: its chunk, and its number there. */
SIMT_FN uint64_t quarry_slabs_place(uint32_t chunk, uint32_t slot)
{
    return (uint64_t)chunk << 16 | slot;
}

SIMT_FN uint64_t *quarry_slabs_word(const struct quarry_slabs *h, uint64_t place)
{
    return &h->words[(place >> 16) * h->stride + ((uint32_t)place & 0xffffu) / QUARRY_SLABS_BITS];
}

/* Words that chunks of so many slots use; likewise. */
#define QUARRY_SLABS_WORDS(slots) (((slots) + QUARRY_SLABS_BITS - 1u) / QUARRY_SLABS_BITS)

SIMT_FN uint32_t quarry_slabs_words(uint32_t slots)
{
    return QUARRY_SLABS_WORDS(slots);
}

/* Bits of a word, the chunk's number `word`, of slots from number `from` on. */
SIMT_FN uint32_t quarry_slabs_from(uint32_t word, uint32_t from)
{
    uint32_t first = word * QUARRY_SLABS_BITS;
    uint32_t bit = from > first ? from - first : 0;
    return bit < QUARRY_SLABS_BITS ? ~0u << bit : 0;
}

SIMT_FN int quarry_slabs_is_of(uint64_t word, uint32_t class_)
{
    return (uint32_t)(word >> 56) == class_ + 1u;
}

/* A word of the class that nobody has touched. */
SIMT_FN uint64_t quarry_slabs_of(uint32_t class_, uint32_t taken)
{
    return (uint64_t)(class_ + 1u) << 56 | taken;
}

/* The same, as who closes or binds a chunk writes it: touched.  So a sweep that has read the chunk's kind before, and
 * then this word, does not take it for one that has been full all the time. */
SIMT_FN uint64_t quarry_slabs_of_moving(uint32_t class_, uint32_t taken)
{
    return quarry_slabs_of(class_, taken) | QUARRY_SLABS_TOUCHED;
}

/* ---- cursors ---- */

/* The index of a class's cursor number i.  Those of one class lie apart, as one sector of 32 bytes takes one add after
 * the other; and cursors with one number lie side by side, for warps that ask for several sizes. */
SIMT_FN uint32_t quarry_slabs_cursor(const struct quarry_slabs *h, uint32_t class_, uint32_t i)
{
    return i * h->classes + class_;
}

/* The number that the cursor of an index has in its class; and the class is index - number * h->classes. */
SIMT_FN uint32_t quarry_slabs_cursor_number(const struct quarry_slabs *h, uint32_t index)
{
    return quarry_divide_u32(index, h->classes);
}

SIMT_FN uint32_t quarry_slabs_next(uint64_t cursor)
{
    return (uint32_t)cursor & QUARRY_SLABS_NEXT;
}

SIMT_FN uint32_t quarry_slabs_chunk(uint64_t cursor)
{
    return (uint32_t)(cursor >> QUARRY_SLABS_CHUNK) & 0xffffffu;
}

/* ---- trails ----
 *
 * A cursor of a new heap has a trail: a row of chunks that is computed.  An add gives a warp numbers; those behind the
 * slots of the chunk that the cursor has are on the trail, and say which chunk, and which slots.  Then the warp tries
 * to bind the chunk by a compare-exchange of its kind, from fresh to bound.  So do all who have numbers of that chunk,
 * and only one succeeds; but the others see that it is the trail's, and have their slots, too.  Or they see that it is
 * somebody else's: then their numbers are for nothing.  All see the same, however late, as a chunk is fresh but once:
 * the kind that the first one wrote has the class, the cursor and the chunk's number on the trail, and these stay while
 * the chunk is bound.
 *   Nobody waits for anybody: to have slots of a chunk that nobody has bound yet takes two steps, the add and the
 * exchange.
 *   The words of a fresh chunk are full and of no class.  Whoever has slots of a word gives it the class, by an OR:
 * that may come before or after others free slots there, and a word that has no class yet serves nobody.
 *   A trail ends when numbers have led to nothing.  Then its cursor has the last chunk, and hands out what is left of
 * it, as any cursor.  If that chunk is still fresh, it is made free and not fresh, so that nobody binds it who has
 * numbers there.  All trails end before anybody sweeps, for good. */

SIMT_FN int quarry_slabs_is_trail(uint64_t cursor)
{
    return (cursor & QUARRY_SLABS_TRAIL) != 0;
}

/* What a number on a trail leads to. */
struct quarry_slabs_step {
    uint32_t chunk; /* counted from h->bound on; or QUARRY_NO_PAGE: the trail does not go so far */
    uint32_t slot;
    uint32_t more; /* of its kind, if it is the trail's */
};

/* What number `at` of a trail leads to.  Trails begin far from each other.
 *   span     chunks of the heap, without h->bound
 *   trails   of a class
 *   slots    of a chunk of the class
 *   cursor   whose trail it is: its number in the class
 *   at       from `slots` on, as `next` of the cursor */
SIMT_FN struct quarry_slabs_step quarry_slabs_step_of(uint32_t span, uint32_t trails, uint32_t class_,
                                                      uint32_t slots, uint32_t cursor, uint32_t at)
{
    struct quarry_slabs_step step;
    uint32_t number = quarry_divide_u32(at, slots); /* 1 and more */
    step.slot = at - number * slots;
    step.more = number << QUARRY_SLABS_OWNER | (cursor + 1u);
    /* In parts of 2^32 of the span: one part for each trail of a class, and there the golden ratio spreads classes. */
    uint32_t log = simt_clz_u32(trails);
    uint32_t begins = (cursor << log << 1) + (class_ * 0x9e3779b9u >> (31u - log));
    step.chunk = simt_mulhi_u32(begins, span) + number - 1u;
    step.chunk -= step.chunk >= span ? span : 0;
    if (at >= QUARRY_SLABS_END || (number + 1u) * slots > QUARRY_SLABS_END || number >> QUARRY_SLABS_OWNER ||
        number > span) /* whole chunks: of the last one all numbers lead somewhere, or none does */
        step.chunk = QUARRY_NO_PAGE;
    return step;
}

/* Is a chunk of this kind the trail's? */
SIMT_FN int quarry_slabs_is_step(uint64_t kind, uint32_t class_, uint32_t more)
{
    uint32_t state = (uint32_t)kind & 3u;
    return (uint32_t)(kind >> 2) == (more << 8 | class_) &&
           (state == QUARRY_SLABS_IS_BOUND || state == QUARRY_SLABS_IS_MOVING);
}

/* The number of the cursor that a bound chunk's kind names, or ~0u. */
SIMT_FN uint32_t quarry_slabs_owner(uint64_t kind)
{
    return (quarry_slabs_more(kind) & ((1u << QUARRY_SLABS_OWNER) - 1u)) - 1u;
}

/* From which slot on a bound chunk's slots are still its cursor's: `slots`, if none is. */
SIMT_FN uint32_t quarry_slabs_rest(const struct quarry_slabs *h, uint32_t chunk, uint64_t kind)
{
    uint32_t class_ = quarry_slabs_kind_class(kind), owner = quarry_slabs_owner(kind);
    uint32_t slots = quarry_slabs_slots(h, class_), next, its;
    if (quarry_slabs_state(kind) != QUARRY_SLABS_IS_BOUND || owner >= h->cursors)
        return slots;
    uint64_t now = simt_load_u64(&h->cursor[quarry_slabs_cursor(h, class_, owner)], relaxed);
    next = quarry_slabs_next(now);
    its = quarry_slabs_chunk(now);
    if (quarry_slabs_more(kind) >> QUARRY_SLABS_OWNER && quarry_slabs_is_trail(now)) {
        struct quarry_slabs_step step =
            quarry_slabs_step_of(h->pages.count - h->bound, h->trails, class_, slots, owner, next);
        its = quarry_slabs_is_step(kind, class_, step.more) ? h->bound + step.chunk : QUARRY_NO_PAGE;
        next = next >= slots && step.slot ? step.slot : slots;
    }
    return its == chunk && next < slots ? next : slots;
}

#define QUARRY_SLABS_COPY 256u /* bytes from one copy of the heap's struct to the next */

/* Copy number i: one for each multiprocessor, as far as there are so many.  An acquire empties a multiprocessor's
 * cache, so that one copy would be the line that all of them wait for. */
SIMT_FN struct quarry_slabs *quarry_slabs_copy(const struct quarry_slabs *h, uint32_t i)
{
    return (struct quarry_slabs *)(h->self + (uint64_t)(i & (h->copies - 1u)) * QUARRY_SLABS_COPY);
}

#define QUARRY_SLABS_BARREN ((uint32_t)1 << 31) /* of a spread */
#define QUARRY_SLABS_REACH 11u
#define QUARRY_SLABS_USED ((1u << QUARRY_SLABS_REACH) - 1u)
#define QUARRY_SLABS_LARGER 22u
#define QUARRY_SLABS_LARGERS (0xffu << QUARRY_SLABS_LARGER)

/* How many cursors a class uses. */
SIMT_FN uint32_t quarry_slabs_used(uint32_t spread)
{
    return (spread & QUARRY_SLABS_USED) + 1u;
}

/* How many it has ever used, at least. */
SIMT_FN uint32_t quarry_slabs_reach(uint32_t spread)
{
    return (spread >> QUARRY_SLABS_REACH & QUARRY_SLABS_USED) + 1u;
}

/* The larger class whose slots serve a class that is barren; 0: none, as far as is known. */
SIMT_FN uint32_t quarry_slabs_larger(uint32_t spread)
{
    return spread & QUARRY_SLABS_BARREN ? (spread & QUARRY_SLABS_LARGERS) >> QUARRY_SLABS_LARGER : 0;
}

/* Bits of a spread that say that it is so many: a power of two. */
SIMT_FN uint32_t quarry_slabs_reaches(uint32_t cursors)
{
    return (cursors - 1u) << QUARRY_SLABS_REACH;
}

/* Thread `thread` of `threads` writes its share of a new heap.  The first cursors of each class have a trail, and in a
 * heap of many chunks each has a chunk before that.  All other chunks are fresh. */
SIMT_FN void quarry_slabs_init(const struct quarry_slabs *h, uint64_t thread, uint64_t threads)
{
    const uint32_t each = h->trails;
    if (thread == 0)
        quarry_sweep_init(h->sweep);
    for (uint64_t i = thread; i < h->copies; i += threads)
        *quarry_slabs_copy(h, (uint32_t)i) = *h;
    for (uint64_t i = thread; i < h->pages.count; i += threads) {
        uint32_t chunk = (uint32_t)i, more = chunk % each + 1u;
        h->kinds[i] = chunk < h->bound ? quarry_slabs_next_kind(0, QUARRY_SLABS_IS_BOUND, chunk / each, more)
                                       : QUARRY_SLABS_FRESH;
    }
    for (uint64_t i = thread; i < (uint64_t)h->bound * h->stride; i += threads)
        h->words[i] = quarry_slabs_of((uint32_t)i / h->stride / each, ~0u);
    for (uint64_t i = (uint64_t)h->bound * h->stride + thread; i < (uint64_t)h->pages.count * h->stride;
         i += threads)
        h->words[i] = ~0u; /* of no class, and full */
    for (uint64_t i = thread; i < (uint64_t)h->classes * h->cursors; i += threads) {
        uint32_t k = quarry_slabs_cursor_number(h, (uint32_t)i), class_ = (uint32_t)i - k * h->classes;
        uint64_t chunk = h->bound ? class_ * each + k : QUARRY_NO_PAGE >> 8;
        uint64_t next = h->bound ? 0 : quarry_slabs_slots(h, class_);
        h->cursor[i] = k < each ? QUARRY_SLABS_TRAIL | chunk << QUARRY_SLABS_CHUNK | next : QUARRY_SLABS_PAST;
    }
    for (uint64_t i = thread; i <= h->classes; i += threads)
        h->spread[i] = i < h->classes ? quarry_slabs_reaches(each) | (each - 1u) : 0;
    for (uint64_t i = thread; i < h->hints; i += threads)
        h->hint[i] = 0;
    for (uint64_t i = thread; i < (uint64_t)h->classes * h->knows; i += threads)
        h->known[i] = 0;
    for (uint64_t i = thread; i <= h->classes; i += threads)
        h->found[i] = 0;
}

/* ---- chunks that move ---- */

/* Writes the words of a chunk that the group has: slots below `taken` are.  Scope: group, synced at return. */
SIMT_FN void quarry_slabs_bind(const struct quarry_slabs *h, uint32_t group, uint32_t chunk, uint32_t class_,
                               uint32_t taken)
{
    uint32_t slots = quarry_slabs_slots(h, class_), words = quarry_slabs_words(slots);
    uint64_t *word = quarry_slabs_word(h, quarry_slabs_place(chunk, 0));
    simt_sync(group);    /* what the leader acquired, each has, */
    simt_fence(acq_rel); /* and hands on to who takes slots */
    SIMT_ROLLED
    for (uint32_t i = simt_rank(group); i < words; i += simt_popc_u32(group)) {
        uint32_t bits = ~quarry_slabs_from(i, taken) | quarry_slabs_from(i, slots);
        simt_store_u64(&word[i], quarry_slabs_of_moving(class_, bits), fenced);
    }
    simt_sync(group);
}

/* Makes a bound chunk free, if none of its slots is live or a cursor's.
 *   kind   as the calling group has seen it: bound
 * Returns whether it did.  Scope: group, reconverged; synced at return. */
SIMT_FN int quarry_slabs_close(const struct quarry_slabs *h, uint32_t group, uint32_t chunk, uint64_t kind)
{
    uint32_t class_ = quarry_slabs_kind_class(kind), slots = quarry_slabs_slots(h, class_);
    uint32_t words = quarry_slabs_words(slots), i = simt_rank(group), width = simt_popc_u32(group);
    uint64_t *word = quarry_slabs_word(h, quarry_slabs_place(chunk, 0));
    int held = 0, closed = 1;
    if (simt_rank(group) == 0)
        held = quarry_slabs_hold(h, chunk, kind, class_);
    if (!simt_any(group, held))
        return 0;
    simt_sync(group); /* the kind before the words, for a sweep */
    SIMT_ROLLED
    while (closed && i < words) {
        uint64_t seen = simt_load_u64(&word[i], relaxed);
        uint64_t full = quarry_slabs_of_moving(class_, ~0u);
        closed = (uint32_t)seen == quarry_slabs_from(i, slots);
        /* Order: acquires what was done to the slots; a sweep that sees it sees that the chunk moves. */
        closed = closed && simt_cas_u64(&word[i], seen, full, acq_rel) == seen;
        i += closed ? width : 0;
    }
    int all = simt_all(group, closed);
    SIMT_ROLLED
    for (uint32_t back = simt_rank(group); !all && back < i && back < words; back += width)
        (void)simt_and_u64(&word[back], ~(uint64_t)(uint32_t)~quarry_slabs_from(back, slots), relaxed);
    simt_sync(group);
    if (simt_rank(group) == 0)
        quarry_slabs_let_go(h, chunk, all ? QUARRY_SLABS_IS_FREE : QUARRY_SLABS_IS_BOUND, class_,
                            all ? 0 : quarry_slabs_more(kind));
    simt_sync(group);
    return all;
}

/* Gives back what a cursor has left: its slots' bits become clear, and its chunk may become empty.
 *   index   of the cursor, which has no trail */
SIMT_FN void quarry_slabs_retire(const struct quarry_slabs *h, uint32_t index)
{
    uint32_t number = quarry_slabs_cursor_number(h, index), class_ = index - number * h->classes;
    uint32_t slots = quarry_slabs_slots(h, class_);
    uint64_t now = simt_load_u64(&h->cursor[index], relaxed);
    uint32_t chunk = quarry_slabs_chunk(now), from = quarry_slabs_next(now);
    uint64_t kind = chunk < h->pages.count ? quarry_slabs_kind(h, chunk) : 0;
    if (from >= slots || !quarry_slabs_is_bound(kind, class_) || !quarry_slabs_hold(h, chunk, kind, class_))
        return;
    /* If others have added to the cursor, it keeps the chunk.  Order: a sweep that sees it sees the chunk move. */
    if (simt_cas_u64(&h->cursor[index], now, now - from + QUARRY_SLABS_PAST, release) == now) {
        /* Order: release, of what came with the chunk, to who takes the slots.  A refill has written the words relaxed,
         * as only the cursor gave slots then. */
        SIMT_ROLLED
        for (; from < slots; from = (from / QUARRY_SLABS_BITS + 1u) * QUARRY_SLABS_BITS) {
            uint32_t word = from / QUARRY_SLABS_BITS;
            uint32_t rest = quarry_slabs_from(word, from) & ~quarry_slabs_from(word, slots);
            (void)simt_and_u64(quarry_slabs_word(h, quarry_slabs_place(chunk, from)), ~(uint64_t)rest,
                               release);
        }
    }
    quarry_slabs_let_go(h, chunk, QUARRY_SLABS_IS_BOUND, class_, quarry_slabs_more(kind));
}

/* Ends a cursor's trail, if it has one: then it has the last chunk, as far as that is not handed out.  If that is
 * fresh, nobody binds it from now on who has numbers of it, and the cursor has nothing.  It is in its first life. */
SIMT_NOINLINE_FN void quarry_slabs_end_trail(const struct quarry_slabs *h, uint32_t index)
{
    uint32_t number = quarry_slabs_cursor_number(h, index), class_ = index - number * h->classes;
    uint32_t slots = quarry_slabs_slots(h, class_);
    uint64_t now = simt_load_u64(&h->cursor[index], relaxed), seen = ~now;
    SIMT_ROLLED
    while (quarry_slabs_is_trail(now) && seen != now) { /* again if others have added */
        uint64_t then = now, kind = 0;
        if (quarry_slabs_next(now) >= slots) {
            struct quarry_slabs_step step = quarry_slabs_step_of(h->pages.count - h->bound, h->trails, class_,
                                                                 slots, number, quarry_slabs_next(now));
            uint32_t chunk = h->bound + step.chunk;
            then = QUARRY_SLABS_PAST | (now & QUARRY_SLABS_BUSY);
            if (step.slot && step.chunk != QUARRY_NO_PAGE)
                kind = simt_cas_u64(&h->kinds[chunk], QUARRY_SLABS_FRESH,
                                    quarry_slabs_next_kind(0, QUARRY_SLABS_IS_FREE, 0, 0), relaxed);
            /* If another ends it as well, the chunk may be of another class soon: words that have one keep that. */
            if (quarry_slabs_is_step(kind, class_, step.more)) {
                uint64_t *word = &h->words[(uint64_t)chunk * h->stride];
                then |= (uint64_t)chunk << QUARRY_SLABS_CHUNK;
                then += step.slot - (uint64_t)QUARRY_SLABS_PAST;
                SIMT_ROLLED
                for (uint32_t i = step.slot / QUARRY_SLABS_BITS; i < quarry_slabs_words(slots); i++)
                    (void)simt_cas_u64(&word[i], ~0u, quarry_slabs_of(class_, ~0u),
                                       relaxed); /* one without */
            }
        }
        seen = now;
        /* Order: the words, before their slots; pairs with adds. */
        now = simt_cas_u64(&h->cursor[index], seen, then & ~QUARRY_SLABS_TRAIL, release);
    }
}

/* The number of a version, of any of a heap's things. */
SIMT_FN uint64_t quarry_slabs_number(uint32_t thing, uint32_t version)
{
    return quarry_census_key(quarry_mix_u32(thing) ^ version);
}

#endif
