/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of a warp that ask for memory together get pieces of one block (Eckert, mallocMC, section 4.3.3,
 * XMallocSIMD; from Huang and others, XMalloc, 2010): one request instead of up to 32.  Knows no allocator.
 *
 *     block of lanes 3, 7 and 8                                             A: alignment, 16 or more
 *     | left | ...  | back | piece of 3 | ...  | back | piece of 7 | ...  | back | piece of 8 |
 *     0             A - 12 A                          multiple of A              multiple of A
 *     left   pieces of the block that live; the first 4 bytes of every block
 *     back   4 bytes, 12 before each piece: from the block's beginning to the piece, or 0 when it is freed;
 *            and 8 bytes, the piece's room: up to the header of the next, or to the end of the block
 *
 * The 16 bytes before a piece are its header; with A = 16 the first header is the block's beginning, and
 * `left` and `back` lie beside each other in it.  A lane that is alone, or whose request is too large to be
 * combined, has a block of one piece.  So whatever free gets, `back` leads to the block, and `left` says
 * whether it goes.  Where the user is to have a multiple of more than A, the piece and its header begin later,
 * inside of what they would have been (quarry_pieces_move).
 *
 * Which lanes.  Those that arrive together with the same heap, in the order of their numbers: each goes into
 * the block of the lane before it if it fits there, else begins another.  Every lane computes this for all,
 * from sizes that are exchanged by shuffles, so it knows its block's first lane, which asks for all of it,
 * and its place in it.
 *
 * Order.  The block's malloc acquires, for its first lane, what was done to the memory before;
 * quarry_pieces_deal stores `left` and meets all lanes of the block in simt_sync, so that both happen-before
 * whatever they or those to whom they give their pieces do there. A free is one lane's for all that free
 * pieces of the same block together: simt_sync brings what they did before that lane's subtraction, which
 * releases.  Whose subtraction finds no more than it takes has read the last of a chain of
 * read-modify-writes, each a release, and acquires: every use of every piece happens-before its free of the
 * block.  So does the load that finds no more than that: nobody else can subtract any more, and it acquires
 * from the same chain.  Nobody reads a header after the subtraction that counts its piece. */
#ifndef QUARRY_CORE_PIECES_H
#define QUARRY_CORE_PIECES_H

#include "quarry/core/pages.h"
#include "quarry/core/share.h"
#include "quarry/simt/simt.h"

struct quarry_piece_header {
    uint32_t left; /* atomic; only in the first of a block, and only with an alignment of 16 */
    uint32_t back;
    uint64_t room;
};
#define QUARRY_PIECE_HEADER_BYTES 16u
SIMT_STATIC_ASSERT(sizeof(struct quarry_piece_header) == QUARRY_PIECE_HEADER_BYTES,
                   "pieces are aligned to 16 at least");

/* A lane's part of a request. */
struct quarry_pieces {
    uint32_t lanes;  /* with pieces in the same block, the caller among them; 0: not combined */
    uint32_t leader; /* the lowest of them */
    uint32_t offset; /* of the caller's piece in the block, bytes */
    uint32_t total;  /* bytes of the block */
    uint32_t room;   /* bytes of the piece */
};

/* `bytes` rounded up to a multiple of a power of two. */
SIMT_FN uint64_t quarry_pieces_round_up(uint64_t bytes, uint32_t alignment)
{
    return (bytes + alignment - 1) & ~(uint64_t)(alignment - 1);
}

/* Bytes of a block with one piece of `bytes` bytes. */
SIMT_FN uint64_t quarry_pieces_alone(uint64_t bytes, uint32_t alignment)
{
    return alignment + quarry_pieces_round_up(bytes, alignment);
}

/* Combines requests of lanes that call together.
 *   heap       whose: an address of its own
 *   bytes      at least 1
 *   alignment  of pieces: a power of two from 16
 *   most       bytes of a combined block, below 2^32 */
SIMT_FN struct quarry_pieces quarry_pieces_collect(const void *heap, uint64_t bytes, uint32_t alignment,
                                                   uint32_t most)
{
    struct quarry_pieces mine = {0, 0, 0, 0, 0};
    uint32_t group = quarry_group(heap, QUARRY_SITE_PIECES_COLLECT);
    int fits = bytes < most && quarry_pieces_alone(bytes, alignment) <= most;
    uint32_t lanes = simt_ballot(group, fits);
    uint32_t leader = 0, begun = 0, at = most;
    if (!fits)
        return mine;
    for (uint32_t rest = lanes; rest; rest &= rest - 1u) {
        uint32_t lane = simt_ctz_u32(rest);
        uint64_t other = simt_shuffle_u32(lanes, (uint32_t)bytes, lane);
        uint64_t end = at + quarry_pieces_round_up(other, alignment);
        if (end > most) { /* also the first time */
            at = alignment;
            end = at + quarry_pieces_round_up(other, alignment);
            leader = lane;
            begun = 0;
        }
        begun |= 1u << lane;
        if (lane == simt_lane()) {
            mine.leader = leader;
            mine.offset = at;
        }
        if (begun >> simt_lane() & 1u) {
            mine.lanes = begun;
            mine.total = (uint32_t)end;
        }
        at += (uint32_t)quarry_pieces_round_up(other + QUARRY_PIECE_HEADER_BYTES, alignment);
    }
    uint32_t header = mine.lanes >> simt_lane() == 1u ? 0 : QUARRY_PIECE_HEADER_BYTES; /* of the next */
    mine.room = (uint32_t)quarry_pieces_round_up(bytes + header, alignment) - header;
    if (mine.lanes == 1u << simt_lane())
        mine.lanes = 0;
    return mine;
}

/* Makes a block of one piece, of `bytes` bytes.  Returns the piece. */
SIMT_FN void *quarry_pieces_single(void *block, uint64_t bytes, uint32_t alignment)
{
    unsigned char *piece = (unsigned char *)block + alignment;
    struct quarry_piece_header *header =
        (struct quarry_piece_header *)(void *)(piece - QUARRY_PIECE_HEADER_BYTES);
    simt_store_u32((uint32_t *)block, 1, relaxed);
    header->back = alignment;
    header->room = quarry_pieces_round_up(bytes, alignment);
    return piece;
}

/* Deals the block out; called by all of mine->lanes.
 *   block  what the leader's malloc returned, or NULL; of the others, anything
 * Returns the caller's piece, or NULL to all. */
SIMT_FN void *quarry_pieces_deal(const struct quarry_pieces *mine, void *block)
{
    uint64_t begin = simt_shuffle_u64(mine->lanes, (uint64_t)(uintptr_t)block, mine->leader);
    if (!begin)
        return SIMT_NULL;
    if (simt_lane() == mine->leader)
        simt_store_u32((uint32_t *)(uintptr_t)begin, simt_popc_u32(mine->lanes), relaxed);
    simt_sync(mine->lanes);
    unsigned char *piece = (unsigned char *)(uintptr_t)begin + mine->offset;
    struct quarry_piece_header *header =
        (struct quarry_piece_header *)(void *)(piece - QUARRY_PIECE_HEADER_BYTES);
    header->back = mine->offset;
    header->room = mine->room;
    return piece;
}

/* Bytes that a live piece has, at least those that were asked for. */
SIMT_FN uint64_t quarry_pieces_room(const void *piece)
{
    return ((const struct quarry_piece_header *)(const void *)((const unsigned char *)piece -
                                                               QUARRY_PIECE_HEADER_BYTES))
        ->room;
}

/* Lets the caller's piece begin `gap` bytes later: a multiple of 16, less than its room.  Returns it. */
SIMT_FN void *quarry_pieces_move(void *piece, uint64_t gap)
{
    struct quarry_piece_header *header = (struct quarry_piece_header *)piece - 1;
    struct quarry_piece_header *moved = header + gap / QUARRY_PIECE_HEADER_BYTES;
    uint32_t back = header->back;
    uint64_t room = header->room;
    header->back = 0; /* no piece begins there any more */
    moved->back = back + (uint32_t)gap;
    moved->room = room - gap;
    return moved + 1;
}

/* Gives a piece back: any lane, at any time after its malloc.  Never waits but for lanes that arrive
 * together.
 *   places, bytes   where all blocks lie: what is no piece is left alone, as far as its header tells, and
 *                   nothing outside is written
 * Returns the block, which is then the caller's to free, if it was the last piece; else NULL. */
SIMT_FN void *quarry_pieces_release(void *piece, const unsigned char *places, uint64_t bytes)
{
    uint64_t offset = (uint64_t)(uintptr_t)piece - (uint64_t)(uintptr_t)places; /* below: huge */
    struct quarry_piece_header *header = (struct quarry_piece_header *)SIMT_NULL;
    uint32_t back = 0;
    if (offset - QUARRY_PIECE_HEADER_BYTES < bytes && (uintptr_t)piece % QUARRY_PIECE_HEADER_BYTES == 0) {
        header = (struct quarry_piece_header *)piece - 1;
        back = header->back;
    }
    int live = back && back <= offset && back % QUARRY_PIECE_HEADER_BYTES == 0;
    QUARRY_ASSERT_LIVE(live);
    if (!live)
        return SIMT_NULL;
    header->back = 0; /* who frees it once more sees that */
    unsigned char *begin = (unsigned char *)piece - back;
    uint32_t *left = (uint32_t *)(void *)begin;
    uint32_t group = quarry_group(begin, QUARRY_SITE_PIECES_RELEASE);
    uint32_t pieces = simt_popc_u32(group);
    simt_sync(group);
    if (simt_rank(group) != 0)
        return SIMT_NULL;
    /* Both pair with the subtractions of others. */
    uint32_t lives = simt_load_u32(left, acquire);
    QUARRY_ASSERT_LIVE(lives - pieces < SIMT_LANES);
    if (lives != pieces && (lives - pieces >= SIMT_LANES || simt_sub_u32(left, pieces, acq_rel) != pieces))
        return SIMT_NULL;
    return begin;
}

#endif
