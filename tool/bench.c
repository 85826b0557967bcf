/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry bench`: the tests of bench/tests.c for each allocator, verified, beside the floors of the same run.
 */
#include "bench.h"

#include <stdlib.h>

int tool_bench(int argc, char **argv)
{
    static struct bench bench; /* large, and one is enough */
    char name[] = "quarry bench";

    argv[0] = name;
    int code = bench_options(&bench, argc, argv);
    if (code == TOOL_OK && bench.compare)
        return bench_compare(bench.arguments[0], bench.arguments[1], bench.tolerance);
    if (code == TOOL_OK)
        code = bench_check_outputs(&bench);
    if (code == TOOL_OK)
        code = bench_find_target(&bench);
    if (code == TOOL_OK)
        code = bench_plan(&bench);
    if (code == TOOL_OK)
        code = bench_measure(&bench);
    if (code == TOOL_OK)
        code = bench_write_outputs(&bench);
    free(bench.cells);
    free(bench.order);
    return code == TOOL_OK ? bench.code : code;
}
