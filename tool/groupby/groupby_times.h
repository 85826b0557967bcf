/* SPDX-License-Identifier: Apache-2.0 */
/* How long the steps of a group-by took, over several runs. */
#ifndef QUARRY_TOOL_GROUPBY_TIMES_H
#define QUARRY_TOOL_GROUPBY_TIMES_H

#define GROUPBY_PASSES_NOTED 16u /* passes that are told apart; the last sums up the rest */

/* All but the last: kernels and prefix sums, by the target's events. */
enum groupby_time {
    GROUPBY_TIME_HASH,                                              /* paged, text */
    GROUPBY_TIME_PASS,                                              /* and one for each further pass */
    GROUPBY_TIME_DECIDE = GROUPBY_TIME_PASS + GROUPBY_PASSES_NOTED, /* paged */
    GROUPBY_TIME_RESOLVE,                                           /* paged; two-pass: of the last places */
    GROUPBY_TIME_COUNT,                                             /* this and the next two: two-pass */
    GROUPBY_TIME_PREFIX_SUM,
    GROUPBY_TIME_WRITE,
    GROUPBY_TIME_ALL, /* host's clock: all these and what is between them */
    GROUPBY_TIMES
};

/* Calls once(engine) `runs` times; us[GROUPBY_TIMES] is 0 before each, and its medians afterwards.
 * Returns 0, or what once did if that is not 0, or prints one sentence and returns TOOL_FAILED. */
int groupby_repeat(double *us, unsigned runs, int (*once)(void *engine), void *engine);

#endif
