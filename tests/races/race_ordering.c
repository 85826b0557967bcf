/* SPDX-License-Identifier: Apache-2.0 */
/* race_ordering sound|no-release|no-acquire: hands plain data over by a flag.  In a build with
 * ThreadSanitizer the last two must be reported; ordering.sh requires it. */
#include "races/race_kernels.h"

#include "quarry/quarry.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    static const char *const names[] = {"sound", "no-release", "no-acquire"};
    static uint32_t words[RACE_WORDS], wrong, data;
    struct quarry_target target = {.backend = QUARRY_BACKEND_CPU};
    struct quarry_grid grid = {1, 2, 0};
    struct race_case a = {.words = words, .wrong = &wrong, .data = &data, .broken = 3};
    for (uint32_t i = 0; i < 3; i++)
        if (argc == 2 && strcmp(argv[1], names[i]) == 0)
            a.broken = i;
    if (a.broken == 3) {
        fputs("usage: race_ordering sound|no-release|no-acquire\n", stderr);
        return 2;
    }
    for (target.seed = 1; target.seed <= 20; target.seed++) {
        words[0] = data = 0;
        if (quarry_launch(&race_handover, &target, grid, &a) != QUARRY_OK || wrong) {
            fprintf(stderr, "race_ordering: %s\n", wrong ? "wrong result" : quarry_error_detail());
            return 1;
        }
    }
    return 0;
}
