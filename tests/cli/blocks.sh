#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# quarry-blocks: its CSV, what its rows must satisfy on any machine, and what it refuses.
#
#   blocks.sh PROGRAM     QUARRY_TEST_BACKEND: cpu or cuda
set -u

# shellcheck source=tests/cli/beside.sh
. "$(dirname "$0")/beside.sh"

# Numbers of threads that end within a warp and within a block; all counts are right, or it fails.
run 0 --backend "$backend" --threads 1,40,600 --ratios 1,8 --runs 2
same "$(head -1 "$out")" \
    device,backend,measure,variant,threads,elements,batch,rounds,median_us,q1_us,q3_us,runs,stable 'CSV header'
same "$(wc -c <"$err")" 0 'bytes on standard error'
# shellcheck disable=SC2016 # for awk
{
    same "$(rows '{ print $2 }' | sort | uniq -c | awk '{ printf "%s %s ", $2, $1 }')" 'figure5 21 figure6 10 pairs 9 units 18 ' \
        'rows of each measure'
    same "$(rows '$8 <= 0 || $9 > $8 || $10 < $8 { print }')" '' 'times'
    same "$(rows '$2 == "figure6" { print $4 / $5 }' | sort -u | xargs)" '1 8' 'readers for a writer'
}

# A variant that took longer than the limit is not run again.
run 0 --backend "$backend" --measures figure6 --ratios 1 --threads 1024,1025 --runs 1 --limit 1
# shellcheck disable=SC2016 # for awk
long=$(rows '$4 == 1024 && $8 > 1000 { n++ } END { print n + 0 }')
# shellcheck disable=SC2016
same "$(rows '$4 == 1025 { n++ } END { print n + 0 }')" $((2 - long)) 'variants within the limit'

refuses --threads '--backend gpu' '--measures figure5,figure7' '--threads 0' '--threads 1048577' '--threads 1,,2' '--ratios x' \
    '--runs 0' '--runs 1001' '--limit 0'
finish
