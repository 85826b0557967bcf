/* SPDX-License-Identifier: Apache-2.0 */
#include "races/litmus_kernels.h"

/* The operation with the order of the step.  A load has no release and a store no acquire. */
#define LITMUS_RMW(operation, pointer, value)                                                                \
    (order == LITMUS_RELAXED   ? operation(pointer, value, relaxed)                                          \
     : order == LITMUS_ACQUIRE ? operation(pointer, value, acquire)                                          \
     : order == LITMUS_RELEASE ? operation(pointer, value, release)                                          \
     : order == LITMUS_FENCED  ? operation(pointer, value, fenced)                                           \
                               : operation(pointer, value, acq_rel))

SIMT_FN uint32_t litmus_load(const uint32_t *word, uint32_t order)
{
    return order == LITMUS_RELAXED ? simt_load_u32(word, relaxed) : simt_load_u32(word, acquire);
}

SIMT_FN uint64_t litmus_half(uint32_t *word, uint32_t kind, uint32_t order, uint32_t value)
{
    switch (kind) {
    case LITMUS_LOAD:
        return litmus_load(word, order);
    case LITMUS_STORE:
        if (order == LITMUS_RELAXED)
            simt_store_u32(word, value, relaxed);
        else
            simt_store_u32(word, value, release);
        break;
    case LITMUS_ADD:
        return LITMUS_RMW(simt_add_u32, word, value);
    case LITMUS_EXCHANGE:
        return LITMUS_RMW(simt_exchange_u32, word, value);
    case LITMUS_TAKE:
        while (LITMUS_RMW(simt_exchange_u32, word, value))
            simt_backoff();
        break;
    case LITMUS_AWAIT:
        while (!litmus_load(word, order))
            simt_backoff();
        break;
    case LITMUS_PLAIN_LOAD:
        return *word;
    case LITMUS_PLAIN_STORE:
        *word = value;
        break;
    default:
        break;
    }
    return 0;
}

SIMT_FN uint64_t litmus_cell(uint64_t *word, uint32_t kind, uint32_t order, uint32_t value)
{
    uint64_t both = (uint64_t)value << 32 | value;
    switch (kind) {
    case LITMUS_LOAD:
        return order == LITMUS_RELAXED ? simt_load_u64(word, relaxed) : simt_load_u64(word, acquire);
    case LITMUS_STORE:
        if (order == LITMUS_RELAXED)
            simt_store_u64(word, both, relaxed);
        else
            simt_store_u64(word, both, release);
        break;
    case LITMUS_ADD:
        return LITMUS_RMW(simt_add_u64, word, both);
    default:
        break;
    }
    return 0;
}

SIMT_KERNEL(litmus_run, struct litmus, a)
{
    for (uint32_t i = 0; i < LITMUS_STEPS; i++) {
        const struct litmus_step step = a.step[simt_thread()][i];
        uint32_t *halves = (uint32_t *)&a.cell[step.cell];
        uint64_t *result = &a.result[simt_thread() * LITMUS_STEPS + i];
        uint32_t all = simt_block_threads() < SIMT_LANES ? (1u << simt_block_threads()) - 1u : SIMT_ALL_LANES;
        switch (step.kind) {
        case LITMUS_END:
            return;
        case LITMUS_FENCE:
            if (step.order == LITMUS_SEQ_CST)
                simt_fence(seq_cst);
            else
                simt_fence(acq_rel);
            break;
        case LITMUS_SYNC:
            simt_sync(all);
            break;
        case LITMUS_BALLOT:
            (void)simt_ballot(all, 1);
            break;
        case LITMUS_BARRIER:
            simt_block_barrier();
            break;
        default:
            if (step.part >= 4)
                ((unsigned char *)halves)[step.part - 4] = (unsigned char)step.value;
            else if (step.part == 2)
                *result = litmus_cell(&a.cell[step.cell], step.kind, step.order, step.value);
            else
                *result = litmus_half(&halves[step.part], step.kind, step.order, step.value);
        }
    }
}
