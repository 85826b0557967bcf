/* SPDX-License-Identifier: Apache-2.0 */
/* `quarry bench`: the tests of bench/tests.c for each allocator, verified, beside the floors of the same run.
 */
#include "bench/bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The command line as a shell takes it; memory from malloc, or NULL. */
static char *quote_command(int argc, char *const *argv)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream)
        return NULL;
    fputs("quarry bench", stream);
    for (int i = 1; i < argc; i++) {
        const int plain =
            *argv[i] && !argv[i][strspn(argv[i], "abcdefghijklmnopqrstuvwxyz"
                                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-=,./_:%+")];
        fputs(plain ? " " : " '", stream);
        for (const char *c = argv[i]; *c; c++)
            fprintf(stream, *c == '\'' ? "'\\''" : "%c", *c);
        fputs(plain ? "" : "'", stream);
    }
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

int tool_bench(int argc, char **argv)
{
    static struct bench bench; /* large, and one is enough */

    bench.command = quote_command(argc, argv);
    if (!bench.command)
        return tool_error(TOOL_FAILED, "no memory for the command line");
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
    if (code == TOOL_OK && bench.cell_count)
        code = bench_write_outputs(&bench);
    free(bench.command);
    free(bench.cells);
    free(bench.order);
    if (bench.signal)
        raise(bench.signal); /* so that a shell's loop ends, too */
    return code == TOOL_OK ? bench.code : code;
}
