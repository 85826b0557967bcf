/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas, each of a source of its own. */
#ifndef QUARRY_TESTS_OBJECTS_TEST_SCHEMA_H
#define QUARRY_TESTS_OBJECTS_TEST_SCHEMA_H

#include "quarry/schema.h"

extern const struct quarry_schema *const structure; /* schema_structure.c */
extern const struct quarry_schema
    *const crowd; /* schema_crowd.c: 64 types, each derived from the one before */

/* The last type of the crowd: is the object of it, and of the first? */
int crowd_last_is_last(quarry_object o);
int crowd_last_is_first(quarry_object o);

#endif
