/* SPDX-License-Identifier: Apache-2.0 */
/* The table and the CSV of `quarry bench`. */
#include "bench.h"

#include <inttypes.h>
#include <string.h>

static int op_width(const struct bench *bench)
{
    return bench->at_once ? 11 : 6;
}

void bench_print_header(const struct bench *bench)
{
    const int gpu = bench->target.backend == QUARRY_BACKEND_CUDA;
    char heap[32], page[32];

    if (bench->csv)
        fputs("device,backend,allocator,op,threads,bytes,page,free_percent,word_bits,median_us,q1_us,q3_us,n,"
              "nulls,verified,store_floor_us,bump_us,heap_bytes,lanes,probe_lanes,low_free_percent,debug,tas,"
              "was,cycles,alignment,distribution,oom,free_slots,bytes_least,blocks,utilisation\n",
              bench->csv);
    if (!bench->table)
        return;
    fprintf(bench->table, "quarry %s, %s:%d %s, %u %s", quarry_version(), gpu ? "cuda" : "cpu",
            bench->target.device, bench->info.name, bench->info.multiprocessors,
            gpu ? "multiprocessors" : "cores");
    if (bench->info.clock_khz)
        fprintf(bench->table, ", %u MHz", bench->info.clock_khz / 1000);
    fprintf(bench->table, "\nheap %s", tool_format_bytes(bench->heap_bytes, heap));
    if (bench->heap_pages)
        fprintf(bench->table, " or %" PRIu64 " pages", bench->heap_pages);
    fprintf(bench->table, ", page %s, %u timed runs after %u%s\n",
            bench->page_bytes ? tool_format_bytes(bench->page_bytes, page) : "as the block", bench->runs,
            bench->warmups, bench->debug ? ", debug mode" : "");
    if (bench->policies.alignment || bench->policies.distribution || bench->policies.oom)
        fprintf(bench->table, "alignment %" PRIu64 ", distribution %s, out of memory %s\n",
                bench->policies.alignment ? bench->policies.alignment : 16,
                options_distributions[bench->policies.distribution], options_ooms[bench->policies.oom]);
    fputs(bench->fill
              ? "cells: bytes that live blocks were asked for, in % of the heap's; these blocks\n"
              : "cells: median us, half the quartiles' distance in % of it, ratio to the store floor\n",
          bench->table);
    if (bench->steps)
        fputs("steps: random probes of a thread (TAS), the most of a warp's threads (WAS), without sweeps; "
              "cycles: of a malloc, of "
              "a free\n",
              bench->table);
    fputc('\n', bench->table);
    fprintf(bench->table, "%-9s %-*s %7s %5s", "allocator", op_width(bench), "op", "bytes", "free");
    for (unsigned i = 0; i < bench->threads.count; i++) {
        char title[40];
        snprintf(title, sizeof title, "%" PRIu64 " thread%s", bench->threads.values[i],
                 bench->threads.values[i] == 1 ? "" : "s");
        fprintf(bench->table, " %20s", title);
    }
    fputc('\n', bench->table);
}

static void print_cell(const struct bench *bench, const struct timing_summary *time, double store)
{
    char ratio[16];
    const double times = time->median / store;
    double spread = time->median > 0 ? 50 * (time->q3 - time->q1) / time->median : 0;
    if (spread > 99)
        spread = 99;
    snprintf(ratio, sizeof ratio, "%.*fx", times < 100 ? 1 : 0, times);
    fprintf(bench->table, " %9.1f ±%2.0f%% %6s", time->median, spread, ratio);
}

void bench_print_floors(const struct bench *bench)
{
    if (!bench->table)
        return;
    static const char *const names[] = {"empty", "store", "bump"};
    for (unsigned row = 0; row < 3; row++) {
        fprintf(bench->table, "%-9s %-*s %7s %5s", "(floor)", op_width(bench), names[row], "", "");
        for (unsigned i = 0; i < bench->threads.count; i++) {
            const struct workload_floor *floor = &bench->floors[i];
            const struct timing_summary *const times[] = {&floor->empty, &floor->store, &floor->bump};
            print_cell(bench, times[row], floor->store.median);
        }
        fputc('\n', bench->table);
    }
    fflush(bench->table);
}

/* How many operations a group has, and their names. */
static int count_ops(const struct bench *bench, const struct group *group)
{
    /* There is nothing to free after mallocs that failed. */
    return bench->fill || bench->at_once || group->free_share == 0 ? 1 : 2;
}

static const char *name_op(const struct bench *bench, int op)
{
    return bench->fill ? "fill" : bench->at_once ? "malloc+free" : op ? "free" : "malloc";
}

/* Share of the heap's bytes that the blocks that fill it were asked for. */
static double utilisation(const struct group *group, const struct workload_cell *cell)
{
    return (double)cell->bytes / (double)group->heap.pool_bytes;
}

/* Begins a row of the table. */
static void print_row_title(const struct bench *bench, const struct group *group, const char *op)
{
    char share[16], lanes[16] = "", bytes[48] = "";
    if (group->least)
        snprintf(bytes, sizeof bytes, "%" PRIu64 "-", group->least);
    snprintf(bytes + strlen(bytes), sizeof bytes - strlen(bytes), "%" PRIu64, group->bytes);
    if (group->lanes != SIMT_LANES)
        snprintf(lanes, sizeof lanes, "/%u", group->lanes);
    fprintf(bench->table, "%-9s %s%-*s %7s %4s%%", group->allocator->name, op,
            op_width(bench) - (int)strlen(op), lanes, bytes, tool_format_share(group->free_share, share));
}

static void print_steps(const struct bench *bench, const struct group *group)
{
    print_row_title(bench, group, "steps");
    for (unsigned i = 0; i < bench->threads.count; i++) {
        const struct workload_cell *cell = &group->cells[i];
        if (group->states[i] == CELL_SKIPPED || !cell->verified)
            fprintf(bench->table, " %20s", "-");
        else
            fprintf(bench->table, " %9.2f %10.2f", cell->tas, cell->was);
    }
    fputc('\n', bench->table);
    print_row_title(bench, group, "cycles");
    for (unsigned i = 0; i < bench->threads.count; i++) {
        const struct workload_cell *cell = &group->cells[i];
        if (group->states[i] == CELL_SKIPPED || !cell->verified)
            fprintf(bench->table, " %20s", "-");
        else
            fprintf(bench->table, " %9.0f %10.0f", cell->malloc_cycles, cell->free_cycles);
    }
    fputc('\n', bench->table);
}

static void print_table_group(const struct bench *bench, const struct group *group)
{
    for (int op = 0; op < count_ops(bench, group); op++) {
        print_row_title(bench, group, name_op(bench, op));
        for (unsigned i = 0; i < bench->threads.count; i++) {
            const struct workload_cell *cell = &group->cells[i];
            if (group->states[i] == CELL_SKIPPED)
                fprintf(bench->table, " %20s", "-");
            else if (!cell->verified)
                fprintf(bench->table, " %20s", "FAILED");
            else if (bench->fill)
                fprintf(bench->table, " %8.2f%% %10" PRIu64, 100 * utilisation(group, cell), cell->blocks);
            else
                print_cell(bench, op ? &cell->free : &cell->malloc, bench->floors[i].store.median);
        }
        fputc('\n', bench->table);
    }
    if (bench->steps)
        print_steps(bench, group);
    fflush(bench->table);
}

static void print_csv_group(const struct bench *bench, const struct group *group)
{
    char share[16];
    for (unsigned i = 0; i < bench->threads.count; i++) {
        const struct workload_cell *cell = &group->cells[i];
        for (int op = 0; op < count_ops(bench, group) && group->states[i] != CELL_SKIPPED; op++) {
            const struct timing_summary *time = op ? &cell->free : &cell->malloc;
            fputc('"', bench->csv);
            for (const char *c = bench->info.name; *c; c++)
                fprintf(bench->csv, "%s%c", *c == '"' ? "\"" : "", *c);
            fprintf(bench->csv, "\",%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%u,",
                    bench->target.backend == QUARRY_BACKEND_CUDA ? "cuda" : "cpu", group->allocator->name,
                    name_op(bench, op), bench->threads.values[i], group->bytes, group->heap.page_bytes,
                    tool_format_share(group->free_share, share), group->heap.word_bits);
            if (cell->verified && !bench->fill)
                fprintf(bench->csv, "%.3f,%.3f,%.3f,", time->median, time->q1, time->q3);
            else
                fputs(",,,", bench->csv);
            fprintf(bench->csv, "%u,%" PRIu64 ",%d,%.3f,%.3f,%" PRIu64 ",%u,", time->n, cell->nulls,
                    cell->verified, bench->floors[i].store.median, bench->floors[i].bump.median,
                    group->heap.pool_bytes, group->lanes);
            fprintf(bench->csv, "%u,%g,%d,", group->heap.probe_lanes, 100 * group->heap.low_free,
                    bench->debug);
            if (bench->steps && cell->verified && op == 0)
                fprintf(bench->csv, "%.4f,%.4f,%.1f", cell->tas, cell->was, cell->malloc_cycles);
            else if (bench->steps && cell->verified)
                fprintf(bench->csv, ",,%.1f", cell->free_cycles);
            else
                fputs(",,", bench->csv);
            fprintf(bench->csv, ",%" PRIu64 ",%s,%s,", group->heap.alignment,
                    options_distributions[group->heap.distribution], options_ooms[group->heap.oom]);
            if (group->slots != UINT64_MAX)
                fprintf(bench->csv, "%" PRIu64, group->slots);
            fprintf(bench->csv, ",%" PRIu64 ",", group->least ? group->least : group->bytes);
            if (bench->fill && cell->verified)
                fprintf(bench->csv, "%" PRIu64 ",%.6f\n", cell->blocks, utilisation(group, cell));
            else
                fputs(",\n", bench->csv);
        }
    }
    fflush(bench->csv);
}

void bench_print_group(const struct bench *bench, const struct group *group)
{
    if (bench->table)
        print_table_group(bench, group);
    if (bench->csv)
        print_csv_group(bench, group);
}
