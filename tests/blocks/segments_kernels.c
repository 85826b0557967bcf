/* SPDX-License-Identifier: Apache-2.0 */
#include "blocks/segments_kernels.h"

#define SEGMENTS_OF_USERS 0x40000000u /* what lanes write to chunks that are theirs: no number */

SIMT_KERNEL(segments_start, struct segments_case, a)
{
    quarry_chunks_init(&a.queues.store, simt_thread(), simt_threads());
    quarry_segments_init_all(&a.queues, simt_thread(), simt_threads());
    for (uint32_t k = 0; k < SEGMENTS_QUEUES; k++)
        quarry_segments_init(&a.queues, k, simt_thread(), simt_threads());
}

SIMT_FN void wrong(const struct segments_case *a, int is)
{
    if (is)
        (void)simt_add_u32(&a->counts[SEGMENTS_WRONG], 1, relaxed);
}

/* The caller has a number. */
SIMT_FN void have(const struct segments_case *a, uint32_t number)
{
    (void)simt_add_u32(&a->counts[SEGMENTS_TAKEN], 1, relaxed);
    if (number >= a->numbers * SEGMENTS_QUEUES || simt_exchange_u32(&a->holder[number], 1, relaxed) != 0) {
        wrong(a, 1);
        return;
    }
    a->visits[number]++;
    for (uint32_t i = 0; i < a->hold; i++)
        (void)simt_load_u32(&a->holder[number], relaxed);
}

/* Puts the caller's number.  Returns what it has then: that, if there was no room. */
SIMT_FN uint32_t put(const struct segments_case *a, uint32_t queue, uint32_t number)
{
    uint32_t group = simt_match_u32(simt_active(), queue);
    struct quarry_index_queue tickets = quarry_segments_tickets(&a->queues, queue);
    uint32_t n = simt_popc_u32(group), ticket = 0;
    uint32_t got = a->peeks ? quarry_segments_reserve_try(&a->queues, queue, group, n, (int)(n & 1u))
                            : quarry_segments_reserve(&a->queues, queue, group, n, 0);
    if (simt_rank(group) == 0)
        ticket = quarry_index_queue_back(&tickets, got);
    ticket = simt_shuffle_u32(group, ticket, simt_ctz_u32(group));
    if (simt_rank(group) < got) {
        simt_store_u32(&a->holder[number], 0, relaxed);
        quarry_segments_put(&a->queues, queue, ticket + simt_rank(group), number, 0);
        number = QUARRY_NO_INDEX;
    } else {
        (void)simt_add_u32(&a->counts[SEGMENTS_FULL], 1, relaxed);
    }
    simt_sync(group);
    if (simt_rank(group) == 0)
        quarry_segments_add(&a->queues, queue, got);
    return number;
}

SIMT_FN uint32_t take(const struct segments_case *a, uint32_t queue, int shuts)
{
    uint32_t group = simt_match_u32(simt_active(), queue * 2u + (uint32_t)shuts);
    if (shuts)
        quarry_segments_shut(&a->queues, queue, group, simt_popc_u32(group));
    uint32_t number = quarry_segments_take(&a->queues, queue, group, group, a->peeks != 0);
    if (number == QUARRY_NO_INDEX)
        (void)simt_add_u32(&a->counts[SEGMENTS_NONE], 1, relaxed);
    else
        have(a, number);
    return number;
}

/* Looks at a position of a queue, mostly at one that has a number.  What it sees is a number: no user's chunk. */
SIMT_FN void look(const struct segments_case *a, uint32_t queue, uint32_t random)
{
    uint32_t group = simt_match_u32(simt_active(), queue);
    const struct quarry_index_queue_ends *ends = &a->queues.ends[queue].queue;
    uint32_t front = simt_load_u32(&ends->front, relaxed), span = simt_load_u32(&ends->back, relaxed) - front;
    uint32_t ticket = front + (span && span < a->numbers ? random % (span + 2u) : 0) - (random & 1u);
    uint32_t number = quarry_segments_peek(&a->queues, queue, group, ticket);
    if (number != QUARRY_NO_INDEX) {
        (void)simt_add_u32(&a->counts[SEGMENTS_SEEN], 1, relaxed);
        wrong(a, number >= a->numbers * SEGMENTS_QUEUES);
    }
}

/* A chunk is the caller's: nobody else writes there. */
SIMT_FN void use(const struct segments_case *a)
{
    uint32_t chunk = quarry_chunks_try(&a->queues.store), *word, size = 1u << a->queues.shift;
    if (chunk == QUARRY_NO_INDEX)
        return;
    word = quarry_segments_slots(&a->queues, chunk);
    (void)simt_add_u32(&a->counts[SEGMENTS_USED], 1, relaxed);
    for (uint32_t i = 0; i < size; i++)
        word[i] = SEGMENTS_OF_USERS + simt_thread() + i;
    for (uint32_t i = 0; i < a->hold; i++)
        (void)simt_load_u32(a->counts, relaxed);
    for (uint32_t i = 0; i < size; i++)
        wrong(a, word[i] != SEGMENTS_OF_USERS + simt_thread() + i);
    quarry_chunks_return(&a->queues.store, chunk);
}

/* Each lane has at most one number. */
SIMT_KERNEL(segments_rounds, struct segments_case, a)
{
    uint32_t thread = simt_thread(), number = QUARRY_NO_INDEX;
    if (thread >= a.threads)
        return;
    if (thread < a.numbers * SEGMENTS_QUEUES) {
        number = thread;
        have(&a, number);
    }
    for (uint32_t round = 0; round < a.rounds; round++) {
        uint32_t queue = (thread / 3u + round / 2u) % SEGMENTS_QUEUES;
        if (a.chunks && (thread + round) % a.chunks == 0)
            use(&a);
        if (a.peeks && (thread + round) % a.peeks == 0)
            look(&a, queue, thread * 7u + round);
        if (number != QUARRY_NO_INDEX)
            number = put(&a, queue, number);
        else
            number = take(&a, queue, a.shuts && (thread / 2u + round) % a.shuts == 0);
    }
    a.kept[thread] = number;
}

SIMT_KERNEL(segments_proof, struct segments_case, a)
{
    const struct quarry_chunks *store = &a.queues.store;
    uint32_t number = simt_block();
    have(&a, number);
    for (uint32_t round = 0; round < a.rounds && simt_block() == 0; round++)
        number = number != QUARRY_NO_INDEX ? put(&a, 0, number) : take(&a, 0, 0);
    for (uint32_t round = 0; round < a.rounds && simt_block() != 0; round++) {
        uint64_t seen = simt_load_u64(&store->head->word, acquire);
        for (uint32_t i = 0; i < 5 * a.hold; i++)
            (void)simt_load_u32(a.counts, relaxed);
        wrong(&a, quarry_chunks_is_empty(seen) && !quarry_segments_any(a.queues.segments) &&
                      quarry_chunks_is_same(store, seen));
    }
    a.kept[simt_thread()] = number;
}

/* How quarry_segments_install begins: a chunk that is to be a segment. */
SIMT_FN uint32_t begin_segment(const struct segments_case *a)
{
    const struct quarry_segments *q = &a->queues;
    uint32_t chunk = quarry_chunks_try(&q->store);
    wrong(a, chunk == QUARRY_NO_INDEX);
    (void)simt_add_u32(&q->readers[chunk], QUARRY_SEGMENTS_HELD + 1u, relaxed);
    (void)simt_add_u32(q->segments, 1, relaxed);
    return chunk;
}

/* As quarry_segments_install, but that nobody sees the segment, which is retired at once.  Scope: group. */
SIMT_FN void draw(const struct segments_case *a, uint32_t group)
{
    const struct quarry_segments *q = &a->queues;
    int leads = simt_rank(group) == 0;
    uint32_t chunk = leads ? begin_segment(a) : QUARRY_NO_INDEX, number = 0;
    uint64_t pair, *entry;
    for (uint32_t i = 0; !quarry_segments_draw(q, 0, group, &number); simt_backoff())
        if (i++ == 5000) {
            wrong(a, 1);
            return;
        }
    if (!leads)
        return;
    pair = quarry_segments_pair(number, chunk);
    entry = quarry_segments_entry(q, 0, number);
    simt_store_u64(entry, pair, release);
    wrong(a, simt_add_u64(entry, 0, relaxed) != pair); /* what was there before comes before */
    quarry_segments_retire(q, 0, number, chunk, 1);
    quarry_chunks_end(&q->store);
}

SIMT_KERNEL(segments_draws, struct segments_case, a)
{
    uint32_t number = simt_thread() < a.numbers * SEGMENTS_QUEUES ? simt_thread() : QUARRY_NO_INDEX;
    if (number != QUARRY_NO_INDEX)
        have(&a, number);
    for (uint32_t round = 0; round < a.rounds; round++)
        draw(&a, (1u << a.draws) - 1u);
    a.kept[simt_thread()] = number;
}

SIMT_KERNEL(segments_empty, struct segments_case, a)
{
    for (uint32_t k = 0; k < SEGMENTS_QUEUES; k++) {
        while (simt_any(SIMT_ALL_LANES, quarry_segments_has_some(&a.queues, k))) {
            uint32_t number;
            quarry_segments_shut(&a.queues, k, SIMT_ALL_LANES, SIMT_LANES);
            number = quarry_segments_take(&a.queues, k, SIMT_ALL_LANES, SIMT_ALL_LANES, a.peeks != 0);
            if (number != QUARRY_NO_INDEX)
                have(&a, number);
            simt_sync(SIMT_ALL_LANES);
        }
    }
}

/* The last number is put first into a segment, which is held from then on, and no more. */
SIMT_KERNEL(segments_stall, struct segments_case, a)
{
    uint32_t size = 1u << a.queues.shift, last = a.numbers - 1u, chunk = QUARRY_NO_INDEX;
    if (simt_thread() != 0)
        return;
    for (uint32_t i = 0; i < a.rounds * size; i++) {
        uint32_t number = i == size ? last : i % last;
        wrong(&a, put(&a, 0, number) != QUARRY_NO_INDEX);
        if (number == last)
            chunk = quarry_segments_hold(&a.queues, 0, a.queues.ends[0].queue.front >> a.queues.shift);
        wrong(&a, take(&a, 0, 0) != number);
        use(&a);
    }
    wrong(&a, chunk == QUARRY_NO_INDEX || a.queues.readers[chunk] != QUARRY_SEGMENTS_HELD + 1u ||
                  quarry_segments_slots(&a.queues, chunk)[0] != last);
    if (chunk != QUARRY_NO_INDEX)
        quarry_segments_let_go(&a.queues, chunk);
    a.kept[0] = last;
}

/* Somebody has drawn the first number, and stands still before it writes the entry. */
SIMT_KERNEL(segments_gap, struct segments_case, a)
{
    const struct quarry_segments *q = &a.queues;
    uint32_t chunk = begin_segment(&a), number = 0;
    have(&a, 0);
    wrong(&a, !quarry_segments_draw(q, 0, 1u, &number));
    wrong(&a, put(&a, 0, 0) != 0);
    wrong(&a, quarry_chunks_left(simt_load_u64(&q->store.head->word, relaxed)) < q->store.count / 2u);
    for (uint32_t i = 0; i < 1u << q->shift; i++)
        quarry_segments_slots(q, chunk)[i] = QUARRY_NO_INDEX;
    q->taken[chunk] = 0;
    simt_store_u64(quarry_segments_entry(q, 0, number), quarry_segments_pair(number, chunk), release);
    quarry_segments_publish(q, 0, 1u);
    quarry_chunks_end(&q->store);
    wrong(&a, put(&a, 0, 0) != QUARRY_NO_INDEX);
    a.kept[0] = take(&a, 0, 0);
}
