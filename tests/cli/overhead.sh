#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# quarry-overhead: its CSV, what its rows must satisfy on any machine, and what it refuses.
#
#   overhead.sh PROGRAM     QUARRY_TEST_BACKEND: cpu or cuda
set -u

# shellcheck source=tests/cli/beside.sh
. "$(dirname "$0")/beside.sh"

run 0 --backend "$backend" --workers 2,40,96 --bytes 16,1000 --runs 2 --steps 40 --heap 16
same "$(head -1 "$out")" \
    device,backend,contestant,bytes,threads,run,malloc_cycles,free_cycles,mallocs,frees,slots_before,slots_after 'CSV header'
same "$(wc -c <"$err")" 0 'bytes on standard error'
# shellcheck disable=SC2016 # for awk
{
    same "$(rows '{ print $2 }' | sort | uniq -c | awk '{ printf "%s %s ", $2, $1 }')" 'bare 12 composed 12 cuda 12 direct 12 ' \
        'rows of each contestant'
    # All workers or none: the steps of a run are the same for all, and mallocs and frees take turns.
    same "$(rows '$8 % $4 || $9 % $4 || $8 > $9 + $4 || $9 > $8 + $4 || $8 < 10 * $4 || $8 > 40 * $4 { print }')" '' 'calls'
    same "$(rows '{ steps[$5, $8 / $4]++ } END { for (s in steps) print s }' | wc -l)" 2 'numbers of mallocs in the two runs'
    same "$(rows '$6 <= 0 || $7 <= 0 { print }')" '' 'cycles'
    same "$(rows '($2 == "cuda") != ($10 == "" && $11 == "") || $10 != $11 { print }')" '' 'slots'
    # A page of 4096 bytes has 254 chunks of 16, and 4 of 1000; a piece of 16 with alignment 128 takes 256 bytes.
    same "$(rows '$2 == "bare" { slots[$3] = $10 } END { print slots[16] / slots[1000] }')" 63.5 'slots of scatter'
    same "$(rows '$2 == "composed" && $3 == 16 { print $10 }' | sort -u | awk '{ print $1 % 16 }')" 0 'slots under policies'
}

run 0 --backend "$backend" --every 8320 --bytes 128 --contestants direct,bare --runs 1 --steps 8
# shellcheck disable=SC2016
same "$(rows '{ printf "%s %s ", $2, $4 }')" 'bare 8320 direct 8320 bare 16640 direct 16640 ' '--every'

refuses --workers '--backend gpu' '--contestants bare,best' '--bytes 0' '--bytes 4097' '--bytes 16,,32' '--workers x' \
    '--workers 1048577' '--every 0' '--every 16641' '--runs 0' '--steps 3' '--heap 0' '--heap 1M'
run 1 --backend "$backend" --heap 1 --contestants bare --bytes 4096 --workers 300 --steps 8
says 'bare, 300 workers, 4096 bytes: [0-9]+ mallocs found no room'
finish
