/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/core_kernels.h"

SIMT_KERNEL(core_kth_set, struct core_case, a)
{
    if (simt_thread() < a.n)
        for (uint32_t k = 1; k <= 33; k++) {
            uint32_t x = a.in[simt_thread()], found = quarry_kth_set_u32(x, k);
            int same = !x || k > 32 || quarry_kth_of_run_u32(x, k) == found;
            a.out[simt_thread() * 33 + k - 1] = same ? found : ~0u;
        }
}

/* A quotient that is right at the ends of each multiple is right between them. */
SIMT_KERNEL(core_divide, struct core_case, a)
{
    uint32_t wrong = 0;
    for (uint32_t b = simt_thread() + 1; b < CORE_DIVIDENDS; b += a.n)
        for (uint32_t q = 0; q * b < CORE_DIVIDENDS; q++) {
            uint32_t last = q * b + b - 1;
            wrong += quarry_divide_u32(q * b, b) != q;
            wrong += last < CORE_DIVIDENDS && quarry_divide_u32(last, b) != q;
        }
    a.out[simt_thread()] = wrong;
}

SIMT_KERNEL(core_modulo, struct core_case, a)
{
    uint32_t d = a.in[simt_thread()], wrong = 0;
    for (uint32_t i = 0; i < a.n; i++)
        wrong += quarry_modulo_u32(a.in[i], d, a.wide[simt_thread()]) != a.in[i] % d;
    a.out[simt_thread()] = wrong;
}

/* Numbers that differ in one bit or two; one bit should change half of all 32, on average. */
SIMT_KERNEL(core_mix, struct core_case, a)
{
    uint32_t x = a.in[simt_thread()], mixed = quarry_mix_u32(x), wrong = 0, changed = 0;
    for (uint32_t i = 0; i < 32; i++) {
        changed += simt_popc_u32(quarry_mix_u32(x ^ 1u << i) ^ mixed);
        for (uint32_t k = i; k < 32; k++)
            wrong += quarry_mix_u32(x ^ (1u << i | 1u << k)) == mixed;
    }
    a.out[simt_thread()] = wrong + (changed < 32 * 12 || changed > 32 * 20);
}

/* Lane l gives 1000 + l.  The host computes what every lane must receive. */
SIMT_KERNEL(core_share, struct core_case, a)
{
    uint32_t pair = simt_thread() / SIMT_LANES;
    uint32_t has = a.in[2 * pair], needs = a.in[2 * pair + 1];
    uint32_t got = quarry_share_u32(SIMT_ALL_LANES, has, needs, 1000 + simt_lane());
    a.out[simt_thread()] =
        (quarry_share_takes(has, needs) ? got : 0) + (quarry_share_gives(has, needs) ? 1u << 16 : 0);
}

SIMT_KERNEL(core_page_index, struct core_case, a)
{
    if (simt_thread() >= a.n)
        return;
    uint32_t page = a.in[simt_thread()];
    unsigned char *first = (unsigned char *)quarry_page_address(&a.pages, page);
    unsigned char *end = (unsigned char *)quarry_page_address(&a.pages, a.pages.count);
    const void *below = (const void *)((uintptr_t)a.pages.base - 1 - page);
    a.out[simt_thread()] = (quarry_page_index(&a.pages, first) != page) +
                           (quarry_page_index(&a.pages, first + a.pages.page_bytes - 1) != page) * 2u +
                           (quarry_page_index(&a.pages, below) != QUARRY_NO_PAGE) * 4u +
                           (quarry_page_index(&a.pages, end + page) != QUARRY_NO_PAGE) * 8u;
}

SIMT_KERNEL(core_is_worth, struct core_case, a)
{
    if (simt_thread() < a.n)
        a.out[simt_thread()] = (quarry_bitmap_is_worth(&a.map, simt_thread(), 0) ? 1u : 0) +
                               (quarry_bitmap_is_worth(&a.map, simt_thread(), 1) ? 2u : 0);
}

SIMT_KERNEL(core_random, struct core_case, a)
{
    struct quarry_random r = quarry_random_start();
    for (uint32_t i = 0; i < a.n; i++)
        simt_add_u32(&a.out[quarry_random_below(&r, CORE_BUCKETS)], 1, relaxed);
}

SIMT_KERNEL(core_start, struct core_case, a)
{
    struct quarry_random r = quarry_random_start();
    struct quarry_runs map;
    map.word_count = a.n;
    uint32_t word = quarry_runs_begin_word(&map, &r, SIMT_ALL_LANES);
    if (simt_lane() == 0)
        a.out[simt_thread() / SIMT_LANES] = word;
}

/* As if a heap were a list of words, of which none is ever free: a pass about blocks of `size` notes in
 * wide[(size - 1) * n ...] what it reads in in[].  Its number changes with every second turn of the first
 * thread, so some turns end without a verdict. */
SIMT_FN uint64_t core_note_part(const void *heap, struct quarry_random *r, uint32_t group, uint32_t kind,
                                uint32_t part, uint32_t size, uint32_t *page, int *dirty)
{
    const struct core_case *a = (const struct core_case *)heap;
    struct quarry_sweep_items of = quarry_sweep_cut(a->n, part, CORE_PARTS);
    uint64_t sum = 0;
    (void)r;
    (void)page;
    (void)dirty;
    for (uint32_t i = of.first + simt_rank(group); i < of.end; i += simt_popc_u32(group)) {
        uint32_t word = simt_load_u32(&a->in[i], relaxed);
        simt_add_u32(&a->out[2], 1, relaxed);
        if (kind == 0)
            simt_max_u64(&a->wide[(size - 1) * a->n + i], word, relaxed);
        if (i == 0)
            sum = word / 2;
    }
    return sum;
}

/* A plan of two passes over CORE_PARTS parts. */
SIMT_FN struct quarry_sweep_plan core_plan(const struct core_case *a, quarry_sweep_part sweep_part,
                                           uint32_t size, int in_order)
{
    struct quarry_sweep_plan plan;
    plan.sweep = a->sweep;
    plan.heap = a;
    plan.sweep_part = sweep_part;
    plan.parts = CORE_PARTS;
    plan.kinds = 2;
    plan.size = size;
    plan.news = SIMT_NULL;
    plan.in_order = in_order;
    return plan;
}

/* The leader finds something in the last part alone.  Whenever it sweeps another one, somebody who has no use for that
 * takes all parts that are left, as a lane of the same warp may who runs in step with it. */
SIMT_FN uint64_t core_stolen_part(const void *heap, struct quarry_random *r, uint32_t group, uint32_t kind,
                                  uint32_t part, uint32_t size, uint32_t *page, int *dirty)
{
    const struct core_case *a = (const struct core_case *)heap;
    (void)r;
    (void)group;
    (void)kind;
    (void)size;
    a->out[0]++;
    if (part == CORE_PARTS - 1u || a->out[0] == CORE_PATIENCE) {
        *page = part;
        *dirty = 1;
        return 0;
    }
    while ((uint32_t)simt_add_u64(&a->sweep->next, 1, acquire) < CORE_PARTS) {
        simt_store_u32(&a->sweep->dirty, CORE_PARTS, relaxed);
        simt_add_u32(&a->sweep->done, 1, release);
    }
    return 0;
}

/* One thread. */
SIMT_KERNEL(core_thief, struct core_case, a)
{
    struct quarry_random r = quarry_random_start();
    struct quarry_sweep_plan plan = core_plan(&a, core_stolen_part, 1, (int)a.n);
    a.out[1] = quarry_sweep_search(&plan, &r, simt_active(), QUARRY_NO_PAGE);
}

/* Each thread says in in[t] how far it is and then asks for a verdict, which must rest on a first pass that
 * read that, and was about no larger blocks than the thread's.  In every second turn a warp's lanes ask
 * together whatever their sizes, and some, among them the first ones, have what they need. */
SIMT_KERNEL(core_sweep, struct core_case, a)
{
    struct quarry_random r = quarry_random_start();
    uint32_t its_size = 1 + quarry_mix_u32(simt_thread()) % CORE_SIZES;
    struct quarry_sweep_plan plan = core_plan(&a, core_note_part, its_size, its_size % 2 == 0);
    for (uint32_t turn = 1; turn <= a.turns; turn++) {
        int mixed = turn % 2 == 0, has = mixed && simt_lane() % 4 == 0;
        uint32_t group = simt_match_u32(simt_active(), mixed ? 0 : plan.size);
        uint32_t page = has ? 0 : QUARRY_NO_PAGE;
        uint64_t read = 0;
        simt_store_u32(&a.in[simt_thread()], turn, relaxed);
        if (quarry_sweep_search(&plan, &r, group, page) != page)
            simt_add_u32(&a.out[1], 1, relaxed);
        simt_sync(group); /* the leader has read the verdict */
        if (has)
            continue;
        for (uint32_t size = 0; size < plan.size; size++) {
            uint64_t there = simt_load_u64(&a.wide[size * a.n + simt_thread()], relaxed);
            read = there > read ? there : read;
        }
        if (read < turn)
            simt_add_u32(&a.out[0], 1, relaxed);
    }
}
