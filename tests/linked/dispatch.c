/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of include/quarry/dispatch.h, for all kernels of the tests that are compiled for the CPU, with the
 * assertions of the build. */
#undef QUARRY_LINKED_ASSERTS
#ifdef NDEBUG
#define QUARRY_LINKED_ASSERTS 0
#else
#define QUARRY_LINKED_ASSERTS 1
#endif
#include "linked/quarry/dispatch.h"

#undef QUARRY_DISPATCH_H
#undef SIMT_FN
#undef SIMT_NOINLINE_FN
#define SIMT_FN
#define SIMT_NOINLINE_FN
#include "../../include/quarry/dispatch.h"
