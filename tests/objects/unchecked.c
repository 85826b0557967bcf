/* SPDX-License-Identifier: Apache-2.0 */
/* The schema as a source has it that is not compiled with QUARRY_CHECK. */
#undef QUARRY_CHECK
#include "objects/checked_kernels.h"

const struct quarry_schema *const unchecked_zoo = &zoo_schema;
