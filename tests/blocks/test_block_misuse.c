/* SPDX-License-Identifier: Apache-2.0 */
/* Debug builds tell calls of the building blocks that can't be right. */
#include "blocks/misuse_kernels.h"
#include "common.h"

static void debug_builds_tell_misuse(void **state)
{
    struct quarry_target target = test_target();
    const struct quarry_grid one = {1, 1, 0};
    (void)state;
    for (enum block_misuse what = 0; what < MISUSES; what++) {
        struct block_misuse_case c = {test_memory(&target, sizeof *c.blocks), what};
        enum quarry_status status = quarry_launch(&block_misuse, &target, one, &c);
        if (status != (what == MISUSE_NONE ? QUARRY_OK : QUARRY_ERROR_ASSERT))
            fail_msg("misuse %d: %s", what, quarry_error_detail());
        test_memory_free(&target, c.blocks, sizeof *c.blocks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(debug_builds_tell_misuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
