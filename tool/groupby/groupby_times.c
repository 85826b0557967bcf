/* SPDX-License-Identifier: Apache-2.0 */
/* Medians over runs; the contract is in groupby_times.h. */
#include "groupby/groupby_times.h"

#include "timing.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

int groupby_repeat(double *us, unsigned runs, int (*once)(void *engine), void *engine)
{
    double *samples = (double *)calloc((size_t)GROUPBY_TIMES * runs, sizeof *samples);
    int code = 0;
    if (!samples)
        return tool_error(TOOL_FAILED, "not enough memory for the times");
    for (unsigned run = 0; run < runs && code == 0; run++) {
        memset(us, 0, GROUPBY_TIMES * sizeof *us);
        code = once(engine);
        for (unsigned i = 0; i < GROUPBY_TIMES; i++)
            samples[i * runs + run] = us[i];
    }
    for (unsigned i = 0; i < GROUPBY_TIMES; i++)
        us[i] = statistics_summarise(samples + i * runs, runs).median;
    free(samples);
    return code;
}
