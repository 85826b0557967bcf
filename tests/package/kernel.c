/* SPDX-License-Identifier: Apache-2.0 */
/* One allocator, of little code: compilers take long for all of them, which app.c has in pkgconfig.sh. */
#define QUARRY_ALLOCATOR ring
#include "kernel.h"

SIMT_KERNEL(job_kernel, struct job, a)
{
    uint32_t *block = simt_thread() < JOB_THREADS ? (uint32_t *)quarry_malloc(a.heap, 40) : SIMT_NULL;
    if (block) {
        block[9] = simt_thread();
        simt_add_u32(a.good, block[9] == simt_thread(), relaxed);
    }
    quarry_free(a.heap, block);
}
