/* SPDX-License-Identifier: Apache-2.0 */
/* Options that one family of allocators has and others don't: a table in the family's header.
 *
 *     #define QUARRY_WALK_OPTIONS(ROW)                                          \
 *         ROW(walk, probes, 0, 1, QUARRY_MAX_PROBES, "words that ...")          \
 *         ROW(walk, word_bits, 0, 32, 64, "bits of ...")
 *     enum quarry_walk_option { QUARRY_WALK_OPTIONS(QUARRY_OPTION_INDEX) };
 *
 *     ROW(family, name, standard, least, most, help)
 *       name            what users say
 *       standard        the value unless one is given.  It may lie outside of the range, such as a 0 for
 *                       which the layout finds the value itself.
 *       least, most     the range
 *       help            one line: what it is, with its unit
 *
 * The enum numbers the rows: QUARRY_OPTION_walk_probes is 0, and so on.  The layout finds the value of a row
 * at that place in quarry_layout.option, and puts there what it took.  All else that has to do with an option
 * is made from the table: docs/reference/options.md says what. */
#ifndef QUARRY_CORE_OPTIONS_H
#define QUARRY_CORE_OPTIONS_H

#define QUARRY_MAX_OPTIONS 16u /* of an allocator */

#define QUARRY_OPTION_INDEX(family, name, ...) QUARRY_OPTION_##family##_##name,

#define QUARRY_NO_OPTIONS(ROW)

#endif
