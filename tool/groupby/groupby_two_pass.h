/* SPDX-License-Identifier: Apache-2.0 */
/* Groups integer keys by counting first: the host's side of groupby_two_pass_kernels.h. */
#ifndef QUARRY_TOOL_GROUPBY_TWO_PASS_H
#define QUARRY_TOOL_GROUPBY_TWO_PASS_H

#include "groupby/groupby_engine.h"

/* As groupby_run, for a table with integers.  Options about pages do not matter, and of the statistics only
 * times, passes and table_bytes are filled. */
int groupby_run_two_pass(const struct groupby_table *table, const struct method_task *task, int want_rows,
                         struct groupby_result *result, struct groupby_statistics *statistics);

#endif
