/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from the other kernels: with assertions that the build has not, a file has all allocators' code of its own. */
#undef NDEBUG /* it is about an assertion that fails, in every build */
#include "heap_test_kernels.h"

SIMT_KERNEL(heap_test_assert, struct heap_test, a)
{
    simt_assert(a.count == 0xdeadu);
}
