/* SPDX-License-Identifier: Apache-2.0 */
#undef NDEBUG /* debug builds assert what is said of arguments */
#include "alloc/misuse_kernels.h"

SIMT_KERNEL(misuse_assert, struct misuse_case, a)
{
    if (simt_thread() < a.count << a.twice)
        quarry_free(a.heap, a.block[simt_thread() % a.count]);
}
