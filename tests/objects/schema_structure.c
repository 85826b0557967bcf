/* SPDX-License-Identifier: Apache-2.0 */
#include "objects/structure.h"
#include "objects/test_schema.h"

SIMT_STATIC_ASSERT(QUARRY_SCHEMA_BLOCK_BYTES == 2112, "as the slides say");
SIMT_STATIC_ASSERT(QUARRY_BYTES_OF(anchor) == 56 && QUARRY_CAPACITY_OF(anchor) == 37, "");
SIMT_STATIC_ASSERT(QUARRY_BYTES_OF(pull) == 64 && QUARRY_CAPACITY_OF(pull) == 33, "");
SIMT_STATIC_ASSERT(QUARRY_BYTES_OF(node) == 68 && QUARRY_CAPACITY_OF(node) == 31, "");
SIMT_STATIC_ASSERT(QUARRY_BYTES_OF(spring) == 33 && QUARRY_CAPACITY_OF(spring) == 64, "");

const struct quarry_schema *const structure = &structure_schema;
