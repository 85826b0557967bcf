/* SPDX-License-Identifier: Apache-2.0 */
/* Debug mode of a heap: what malloc and free do in addition, and what they record.  docs/guide/debugging.md
 * is for users.
 *
 * The allocator's blocks are larger than what the user gets:
 *
 *     | state | by | bytes | in | freed by | freed in | check | tag | guard | the user's bytes | redzone |
 *     0       4    8       16   20         24         28      32    40      48                 48 + bytes
 *     state      QUARRY_DEBUG_LIVE or QUARRY_DEBUG_FREED; between the two, QUARRY_DEBUG_BROKEN: was freed,
 *                and then found to be neither
 *     by, in     thread that allocated it, and the number of its launch, 0 if that has none;
 *                QUARRY_DEBUG_NOBODY: no malloc since creation or reset
 *     bytes      size that was asked for
 *     freed ...  thread that freed it, and its launch; QUARRY_DEBUG_NOBODY while it lives
 *     check      made of all of these, and the tag
 *     tag        address of the text that the program gave (tag.h), or 0
 *     guard      8 bytes of QUARRY_DEBUG_REDZONE
 *     redzone    all that is left of the block, at least 16: QUARRY_DEBUG_REDZONE
 *
 * What the user gets is filled with QUARRY_DEBUG_FRESH.
 *
 * Free space has such a header at each unit of the allocator's, and QUARRY_DEBUG_POISON behind it up to the
 * next: so whatever block is made of it later can be checked as a whole.  A block of several units that is
 * freed leaves its by, bytes and tag in the first; the others know who freed them, and nothing else.
 *
 * What quarry_aligned_alloc gives may begin later: the bytes between are part of the user's, and the last 8
 * of them say so.
 *
 * Whose free a block is.  A free must change `state`; of two that race for one block one succeeds, and the
 * other records a double free.  Relaxed: both have the malloc in their past, as free asks.
 * The winner alone checks and poisons the block, and then gives it to the allocator, whose free and malloc
 * order that before what the next owner does.  Those who lose, and frees of blocks that are somebody else's
 * by now, look at state, by and bytes at any time; so these are atomics.
 *
 * Which error is the first of its kind.  The one whose increment of the count found 0: it alone writes the
 * record.  The end of the kernel orders that before the host's read. */
#ifndef QUARRY_DEBUG_H
#define QUARRY_DEBUG_H

#include "quarry/core/pages.h"
#include "quarry/core/random.h"
#include "quarry/dispatch.h"
#include "quarry/handle.h"
#include "quarry/simt/simt.h"

#define QUARRY_DEBUG_LIVE 0x6576696cu
#define QUARRY_DEBUG_FREED 0x65657266u
#define QUARRY_DEBUG_BROKEN 0x6b6f7262u
#define QUARRY_DEBUG_NOBODY 0xffffffffu /* launches have less than 2^32 threads */
#define QUARRY_DEBUG_FRESH 0xaau
#define QUARRY_DEBUG_POISON 0x55u
#define QUARRY_DEBUG_REDZONE 0xbdu
#define QUARRY_DEBUG_ALIGNED ((uint64_t)0xa11a11a11a11a11a) /* mixed with the address, 8 bytes before it */
#define QUARRY_DEBUG_EACH_BYTE ((uint64_t)0x0101010101010101u)
#define QUARRY_DEBUG_GUARD_BYTES 8u
#define QUARRY_DEBUG_MIN_REDZONE 16u

/* A thread of a launch. */
struct quarry_debug_who {
    uint32_t thread; /* QUARRY_DEBUG_NOBODY: none, or unknown */
    uint32_t launch; /* 0: without a number */
};

struct quarry_debug_header {
    uint32_t state;
    uint32_t by;
    uint64_t bytes;
    uint32_t in;
    uint32_t freed_by;
    uint32_t freed_in;
    uint32_t check;
    uint64_t tag;
    unsigned char guard[QUARRY_DEBUG_GUARD_BYTES];
};
#define QUARRY_DEBUG_HEADER_BYTES 48u
SIMT_STATIC_ASSERT(sizeof(struct quarry_debug_header) == QUARRY_DEBUG_HEADER_BYTES,
                   "the user's bytes are aligned to 16");
/* What a block needs beyond the user's bytes. */
#define QUARRY_DEBUG_OVERHEAD (QUARRY_DEBUG_HEADER_BYTES + QUARRY_DEBUG_MIN_REDZONE)

enum quarry_debug_kind {
    QUARRY_DEBUG_DOUBLE_FREE,
    QUARRY_DEBUG_FOREIGN_FREE,  /* no block of this heap, or one that no malloc returned */
    QUARRY_DEBUG_INTERIOR_FREE, /* inside a block, but not where the user's bytes begin */
    QUARRY_DEBUG_OVERFLOW,
    QUARRY_DEBUG_UNDERFLOW,
    QUARRY_DEBUG_USE_AFTER_FREE, /* a free block was written */
    QUARRY_DEBUG_KINDS
};

#define QUARRY_DEBUG_TAG_BYTES                                                                               \
    64u /* of a tag's text for the host, with a 0 byte: its last ones, if it is longer */
#define QUARRY_DEBUG_TAG_MOST 1024u /* of a tag that are looked at */

/* Count of one kind of error, and its first. */
struct quarry_debug_record {
    uint64_t count;
    uint64_t address;            /* that was freed, or the lowest byte that was written */
    uint64_t block;              /* where the user's bytes begin; 0: none */
    uint64_t bytes;              /* of the block; 0: unknown */
    struct quarry_debug_who who; /* freed it; nobody: found by quarry_heap_check, or never freed */
    struct quarry_debug_who by;  /* allocated the block */
    uint64_t tag;                /* address of its text; 0: none */
};

/* What a walk over an idle heap finds alive. */
struct quarry_debug_census {
    uint64_t blocks;
    uint64_t bytes; /* the user's */
};

/* What a heap in debug mode has in its pool. */
struct quarry_debug {
    struct quarry_handle heap; /* a copy, so that an address is all that malloc and free pass on */
    uint64_t unit;             /* bytes; the allocator's blocks have a multiple of them (core/layout.h) */
    const uint32_t *launch;    /* the number of the launch that runs; 0: it has none */
    struct quarry_debug_record record[QUARRY_DEBUG_KINDS];
    struct quarry_debug_census census; /* result of the walk; meaningless at other times */

    /* The texts of the records' tags, for the host, which has them read. */
    char text[QUARRY_DEBUG_KINDS][QUARRY_DEBUG_TAG_BYTES];
};

/* ---- bytes ---- */

/* Do 8 bytes lie between memory + i, which is aligned to them, and the end? */
SIMT_FN int quarry_debug_wide(const unsigned char *memory, uint64_t i, uint64_t bytes)
{
    return (uintptr_t)(memory + i) % sizeof(simt_raw) == 0 && i + sizeof(simt_raw) <= bytes;
}

SIMT_FN void quarry_debug_fill(unsigned char *memory, uint64_t bytes, uint32_t byte)
{
    for (uint64_t i = 0; i < bytes;) {
        if (quarry_debug_wide(memory, i, bytes)) {
            *(simt_raw *)(void *)(memory + i) = byte * QUARRY_DEBUG_EACH_BYTE;
            i += sizeof(simt_raw);
        } else {
            memory[i++] = (unsigned char)byte;
        }
    }
}

/* How many bytes from the first on are still `byte`. */
SIMT_FN uint64_t quarry_debug_intact(const unsigned char *memory, uint64_t bytes, uint32_t byte)
{
    uint64_t i = 0;
    while (i < bytes) {
        if (quarry_debug_wide(memory, i, bytes) &&
            *(const simt_raw *)(const void *)(memory + i) == byte * QUARRY_DEBUG_EACH_BYTE)
            i += sizeof(simt_raw);
        else if (memory[i] == byte)
            i++;
        else
            break;
    }
    return i;
}

/* ---- a block ---- */

/* The header of a block, or of a free unit, read once. */
struct quarry_debug_block {
    unsigned char *begin; /* of the header */
    unsigned char *user;
    uint64_t room;              /* from user to the end */
    uint64_t bytes;             /* 0 if the header can't be trusted */
    uint64_t intact;            /* bytes of the header from the first on; QUARRY_DEBUG_HEADER_BYTES: all */
    struct quarry_debug_who by; /* nobody if the header can't be trusted, and so is the next */
    struct quarry_debug_who freed_by;
    uint64_t tag; /* 0 if the header can't be trusted */
    int trusted;
};

SIMT_FN struct quarry_debug_who quarry_debug_nobody(void)
{
    struct quarry_debug_who nobody = {QUARRY_DEBUG_NOBODY, 0};
    return nobody;
}

/* The calling thread. */
SIMT_FN struct quarry_debug_who quarry_debug_caller(const struct quarry_debug *d)
{
    struct quarry_debug_who caller = {simt_thread(), simt_load_u32(d->launch, relaxed)};
    return caller;
}

SIMT_FN uint32_t quarry_debug_check(uint64_t bytes, struct quarry_debug_who by,
                                    struct quarry_debug_who freed_by, uint64_t tag)
{
    uint32_t check = quarry_mix_u32((uint32_t)bytes + 1u);
    check = quarry_mix_u32(check + (uint32_t)(bytes >> 32) + by.thread);
    check = quarry_mix_u32(check + by.launch);
    check = quarry_mix_u32(check + freed_by.thread);
    check = quarry_mix_u32(check + freed_by.launch);
    check = quarry_mix_u32(check + (uint32_t)tag);
    return quarry_mix_u32(check + (uint32_t)(tag >> 32));
}

/* What a header says, which others may write meanwhile.  Returns whether its check is right. */
SIMT_FN int quarry_debug_load(const struct quarry_debug_header *h, struct quarry_debug_block *b)
{
    b->bytes = simt_load_u64(&h->bytes, relaxed);
    b->by.thread = simt_load_u32(&h->by, relaxed);
    b->by.launch = simt_load_u32(&h->in, relaxed);
    b->freed_by.thread = simt_load_u32(&h->freed_by, relaxed);
    b->freed_by.launch = simt_load_u32(&h->freed_in, relaxed);
    b->tag = simt_load_u64(&h->tag, relaxed);
    return simt_load_u32(&h->check, relaxed) == quarry_debug_check(b->bytes, b->by, b->freed_by, b->tag);
}

/* Reads the header of the block or free unit at *span, which is the caller's.
 *   state  that it should have been found in
 *   found  was it? */
SIMT_FN struct quarry_debug_block quarry_debug_read(const struct quarry_span *span, uint32_t state, int found)
{
    struct quarry_debug_header *h = (struct quarry_debug_header *)(void *)span->begin;
    struct quarry_debug_block b;
    b.begin = span->begin;
    b.user = span->begin + QUARRY_DEBUG_HEADER_BYTES;
    b.room = span->bytes - QUARRY_DEBUG_HEADER_BYTES;
    b.trusted = quarry_debug_load(h, &b) &&
                (state == QUARRY_DEBUG_FREED || /* of a block that may have been larger than the unit */
                 (b.bytes <= b.room - QUARRY_DEBUG_MIN_REDZONE && b.freed_by.thread == QUARRY_DEBUG_NOBODY));
    b.intact = QUARRY_DEBUG_HEADER_BYTES - QUARRY_DEBUG_GUARD_BYTES +
               quarry_debug_intact(h->guard, QUARRY_DEBUG_GUARD_BYTES, QUARRY_DEBUG_REDZONE);
    if (!b.trusted) {
        b.bytes = 0;
        b.by = quarry_debug_nobody();
        b.freed_by = quarry_debug_nobody();
        b.tag = 0;
        b.intact = sizeof h->state;
    }
    if (!found)
        b.intact = 0;
    return b;
}

/* Writes a header, the state last.  Out of line, for its callers have too much to remember. */
SIMT_NOINLINE_FN void quarry_debug_write(unsigned char *begin, uint32_t state, uint64_t bytes,
                                         struct quarry_debug_who by, struct quarry_debug_who freed_by,
                                         uint64_t tag)
{
    struct quarry_debug_header *h = (struct quarry_debug_header *)(void *)begin;
    simt_store_u64(&h->bytes, bytes, relaxed);
    simt_store_u32(&h->by, by.thread, relaxed);
    simt_store_u32(&h->in, by.launch, relaxed);
    simt_store_u32(&h->freed_by, freed_by.thread, relaxed);
    simt_store_u32(&h->freed_in, freed_by.launch, relaxed);
    simt_store_u64(&h->tag, tag, relaxed);
    simt_store_u32(&h->check, quarry_debug_check(bytes, by, freed_by, tag), relaxed);
    quarry_debug_fill(h->guard, QUARRY_DEBUG_GUARD_BYTES, QUARRY_DEBUG_REDZONE);
    simt_store_u32(&h->state, state, relaxed);
}

/* Notes an error.
 *   address  that was freed, or written
 *   b        the block that it is in, with its user, bytes, by and tag
 *   who      freed it */
SIMT_FN void quarry_debug_note(struct quarry_debug *d, enum quarry_debug_kind kind, const void *address,
                               const struct quarry_debug_block *b, struct quarry_debug_who who)
{
    struct quarry_debug_record *r = &d->record[kind];
    if (simt_add_u64(&r->count, 1, relaxed) != 0)
        return;
    r->address = (uint64_t)(uintptr_t)address;
    r->block = (uint64_t)(uintptr_t)b->user;
    r->bytes = b->bytes;
    r->who = who;
    r->by = b->by;
    r->tag = b->tag;
}

/* Notes what was written before or behind the user's bytes of a live block, which is the caller's.
 *   who  finds it */
SIMT_FN void quarry_debug_note_live(struct quarry_debug *d, const struct quarry_debug_block *b,
                                    struct quarry_debug_who who)
{
    uint64_t rest = b->room - b->bytes;
    uint64_t intact = b->trusted ? quarry_debug_intact(b->user + b->bytes, rest, QUARRY_DEBUG_REDZONE) : rest;
    if (b->intact < QUARRY_DEBUG_HEADER_BYTES)
        quarry_debug_note(d, QUARRY_DEBUG_UNDERFLOW, b->begin + b->intact, b, who);
    if (intact < rest)
        quarry_debug_note(d, QUARRY_DEBUG_OVERFLOW, b->user + b->bytes + intact, b, who);
}

/* Reads the header of the free unit that begins at `begin`, and notes what was written into that unit, which
 * nobody else may take meanwhile.  Returns what it read. */
SIMT_FN struct quarry_debug_block quarry_debug_note_free(struct quarry_debug *d, unsigned char *begin)
{
    struct quarry_span unit = {begin, d->unit};
    uint32_t state = simt_load_u32(&((struct quarry_debug_header *)(void *)begin)->state, relaxed);
    struct quarry_debug_block b = quarry_debug_read(&unit, QUARRY_DEBUG_FREED, state == QUARRY_DEBUG_FREED);
    uint64_t intact = b.intact;
    if (intact == QUARRY_DEBUG_HEADER_BYTES)
        intact += quarry_debug_intact(b.user, b.room, QUARRY_DEBUG_POISON);
    if (intact < QUARRY_DEBUG_HEADER_BYTES + b.room)
        quarry_debug_note(d, QUARRY_DEBUG_USE_AFTER_FREE, b.begin + intact, &b, b.freed_by);
    return b;
}

/* Makes a free unit of the `unit` bytes at `begin`.
 *   bytes, by, freed_by, tag   of the block that was there; 0, nobody, who freed it, and 0, if that began
 *                              before */
SIMT_FN void quarry_debug_write_free(unsigned char *begin, uint64_t unit, uint64_t bytes,
                                     struct quarry_debug_who by, struct quarry_debug_who freed_by,
                                     uint64_t tag)
{
    quarry_debug_fill(begin + QUARRY_DEBUG_HEADER_BYTES, unit - QUARRY_DEBUG_HEADER_BYTES,
                      QUARRY_DEBUG_POISON);
    quarry_debug_write(begin, QUARRY_DEBUG_FREED, bytes, by, freed_by, tag);
}

/* ---- malloc and free ---- */

/* After the allocator's malloc, of QUARRY_DEBUG_OVERHEAD bytes more.
 *   block  what it returned, not NULL
 *   bytes  what the user asked for
 * Returns the user's block. */
SIMT_NOINLINE_FN void *quarry_debug_malloc(struct quarry_debug *d, void *block, uint64_t bytes)
{
    struct quarry_span span = {(unsigned char *)block, 0}; /* of a block that is found */
    unsigned char *user = span.begin + QUARRY_DEBUG_HEADER_BYTES;
    const uint64_t least = QUARRY_DEBUG_HEADER_BYTES + bytes;
    if (quarry_dispatch_find(&d->heap, block, &span) != QUARRY_PLACE_LIVE || span.begin != block ||
        span.bytes < least) { /* a wrong free has come between */
        span.begin = (unsigned char *)block;
        span.bytes = least;
    }
    for (uint64_t at = 0; at < span.bytes; at += d->unit)
        quarry_debug_note_free(d, span.begin + at);
    quarry_debug_fill(user, bytes, QUARRY_DEBUG_FRESH);
    quarry_debug_fill(user + bytes, span.bytes - least, QUARRY_DEBUG_REDZONE);
    quarry_debug_write(span.begin, QUARRY_DEBUG_LIVE, bytes, quarry_debug_caller(d), quarry_debug_nobody(),
                       0);
    return user;
}

/* Changes a live block's state.  Returns 0 if somebody else did that before. */
SIMT_FN int quarry_debug_take(uint32_t *at, uint32_t state)
{
    uint32_t taken = state == QUARRY_DEBUG_LIVE ? QUARRY_DEBUG_FREED : QUARRY_DEBUG_BROKEN;
    return state != QUARRY_DEBUG_FREED && state != QUARRY_DEBUG_BROKEN &&
           simt_cas_u32(at, state, taken, relaxed) == state;
}

/* What the 8 bytes before an aligned address hold. */
SIMT_FN uint64_t quarry_debug_mark(const void *address)
{
    return QUARRY_DEBUG_ALIGNED ^ (uint64_t)(uintptr_t)address;
}

/* Does the user's part of the block begin here: at `user`, or where quarry_debug_align moved it? */
SIMT_FN int quarry_debug_begins(const struct quarry_span *span, const void *address)
{
    uint64_t offset = (uint64_t)((const unsigned char *)address - span->begin);
    if (offset == QUARRY_DEBUG_HEADER_BYTES)
        return 1;
    return offset > QUARRY_DEBUG_HEADER_BYTES && offset < span->bytes && (uintptr_t)address % 16 == 0 &&
           simt_load_u64((const uint64_t *)address - 1, relaxed) == quarry_debug_mark(address);
}

/* The user's bytes of a live block, the caller's, end earlier: `bytes` bytes behind `address`, one of them.  A
 * block whose header was written to stays as it is, for its free to find that; and so does one that ends before
 * that by now, because others shrank or freed it, which they may not. */
SIMT_NOINLINE_FN void quarry_debug_shrink(struct quarry_debug *d, void *address, uint64_t bytes)
{
    struct quarry_span span = {(unsigned char *)address, 0}; /* of a block that is found */
    quarry_dispatch_find(&d->heap, address, &span);
    struct quarry_debug_block b = quarry_debug_read(&span, QUARRY_DEBUG_LIVE, 1);
    unsigned char *end = (unsigned char *)address + bytes;
    uint64_t kept = (uint64_t)(uintptr_t)end - (uint64_t)(uintptr_t)b.user; /* before it: huge */
    if (!b.trusted || kept > b.bytes)
        return;
    quarry_debug_fill(end, b.bytes - kept, QUARRY_DEBUG_REDZONE);
    quarry_debug_write(span.begin, QUARRY_DEBUG_LIVE, kept, b.by, quarry_debug_nobody(), b.tag);
}

/* Of a new block, as quarry_debug_malloc returned it, the user gets `bytes` bytes from the next multiple of
 * alignment on, which lie in it.  Returns that address. */
SIMT_NOINLINE_FN void *quarry_debug_align(struct quarry_debug *d, void *block, uint64_t alignment,
                                          uint64_t bytes)
{
    uint64_t gap = (0 - (uint64_t)(uintptr_t)block) & (alignment - 1);
    unsigned char *user = (unsigned char *)block + gap;
    if (gap)
        simt_store_u64((uint64_t *)(void *)user - 1, quarry_debug_mark(user), relaxed);
    quarry_debug_shrink(d, user, bytes);
    return user;
}

/* Bytes from an address in the caller's block to the end of what was asked for; 0 if it is none. */
SIMT_NOINLINE_FN uint64_t quarry_debug_usable(struct quarry_debug *d, const void *address)
{
    struct quarry_span span;
    if (quarry_dispatch_find(&d->heap, address, &span) != QUARRY_PLACE_LIVE)
        return 0;
    uint32_t state = simt_load_u32(&((struct quarry_debug_header *)(void *)span.begin)->state, relaxed);
    struct quarry_debug_block b = quarry_debug_read(&span, QUARRY_DEBUG_LIVE, state == QUARRY_DEBUG_LIVE);
    uint64_t bytes = b.trusted ? b.bytes : b.room - QUARRY_DEBUG_MIN_REDZONE;
    uint64_t offset = (uint64_t)((const unsigned char *)address - b.user); /* before it: huge */
    return state == QUARRY_DEBUG_LIVE && offset < bytes ? bytes - offset : 0;
}

/* Before the allocator's free: makes the block the caller's to free, or notes why it can't.
 *   address  what the user frees, which may be anything but NULL
 * Returns the allocator's block, or NULL: there is nothing to free. */
SIMT_NOINLINE_FN void *quarry_debug_claim(struct quarry_debug *d, void *address)
{
    struct quarry_span span;
    enum quarry_debug_kind error = QUARRY_DEBUG_FOREIGN_FREE;
    enum quarry_place place = quarry_dispatch_find(&d->heap, address, &span);
    struct quarry_debug_block b; /* as far as a note reads it */
    b.user = (unsigned char *)SIMT_NULL;
    b.bytes = 0;
    b.by = quarry_debug_nobody();
    b.tag = 0;
    if (place != QUARRY_PLACE_FOREIGN) {
        struct quarry_debug_header *h = (struct quarry_debug_header *)(void *)span.begin;
        uint32_t state = simt_load_u32(&h->state, relaxed);
        if (!quarry_debug_load(h, &b))
            b.tag = 0;
        b.user = span.begin + QUARRY_DEBUG_HEADER_BYTES;
        if (!quarry_debug_begins(&span, address))
            error = QUARRY_DEBUG_INTERIOR_FREE;
        else if (place == QUARRY_PLACE_LIVE && quarry_debug_take(&h->state, state))
            return span.begin;
        else if (place == QUARRY_PLACE_LIVE || b.by.thread != QUARRY_DEBUG_NOBODY)
            error = QUARRY_DEBUG_DOUBLE_FREE;
    }
    quarry_debug_note(d, error, address, &b, quarry_debug_caller(d));
    return SIMT_NULL;
}

/* Between that and the allocator's free: checks the caller's block, and poisons it. */
SIMT_NOINLINE_FN void quarry_debug_poison(struct quarry_debug *d, void *block)
{
    unsigned char *begin = (unsigned char *)block;
    struct quarry_span span = {begin, 0}; /* of a block that is found */
    struct quarry_debug_block b;
    uint32_t state = simt_load_u32(&((struct quarry_debug_header *)block)->state, relaxed);
    quarry_dispatch_find(&d->heap, block, &span);
    b = quarry_debug_read(&span, QUARRY_DEBUG_LIVE, state == QUARRY_DEBUG_FREED);
    quarry_debug_note_live(d, &b, quarry_debug_caller(d));
    quarry_debug_write_free(begin, d->unit, b.bytes, b.by, quarry_debug_caller(d), b.tag);
    for (uint64_t at = d->unit; at < span.bytes; at += d->unit)
        quarry_debug_write_free(begin + at, d->unit, 0, quarry_debug_nobody(), quarry_debug_caller(d), 0);
}

/* ---- tags ---- */

/* Gives the caller's live block a tag (tag.h); leaves alone what is none. */
SIMT_NOINLINE_FN void quarry_debug_tag(struct quarry_debug *d, const void *address, const char *tag)
{
    struct quarry_span span;
    if (quarry_dispatch_find(&d->heap, address, &span) != QUARRY_PLACE_LIVE)
        return;
    struct quarry_debug_header *h = (struct quarry_debug_header *)(void *)span.begin;
    struct quarry_debug_block b;
    if (simt_load_u32(&h->state, relaxed) != QUARRY_DEBUG_LIVE || !quarry_debug_load(h, &b))
        return;
    b.tag = (uint64_t)(uintptr_t)tag;
    simt_store_u64(&h->tag, b.tag, relaxed);
    simt_store_u32(&h->check, quarry_debug_check(b.bytes, b.by, b.freed_by, b.tag), relaxed);
}

/* Reads the text of a tag, or "" where there is none.
 *   text  QUARRY_DEBUG_TAG_BYTES */
SIMT_FN void quarry_debug_read_tag(uint64_t tag, char *text)
{
    const char *from = (const char *)(uintptr_t)tag;
    uint32_t bytes = 0, first, i;
    while (from && bytes < QUARRY_DEBUG_TAG_MOST && from[bytes])
        bytes++;
    first = bytes < QUARRY_DEBUG_TAG_BYTES ? 0 : bytes - (QUARRY_DEBUG_TAG_BYTES - 1u);
    for (i = first; i < bytes; i++)
        text[i - first] = from[i];
    text[i - first] = 0;
}

#endif
