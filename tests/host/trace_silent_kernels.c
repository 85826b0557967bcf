/* SPDX-License-Identifier: Apache-2.0 */
#undef QUARRY_TRACE
#include "trace_kernels.h"

SIMT_KERNEL(trace_silent, struct trace_case, a)
{
    if (simt_thread() < a.threads)
        quarry_free(a.heap, quarry_malloc(a.heap, trace_size(a.most, simt_thread(), 0)));
}
