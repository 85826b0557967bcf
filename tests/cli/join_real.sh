#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Proves `quarry join` equal to coreutils' join on real files, for both methods.
#
#   join_real.sh QUARRY [BACKEND]
#     QUARRY    the binary
#     BACKEND   cpu or cuda; without it QUARRY_TEST_BACKEND, without that cpu
#
# QUARRY_DATA names the folder with debian/*.tsv.gz, tpch_sf0.1/*.psv.gz and graphs/*.csv; without it the script
# skips itself (77).
set -u
export LC_ALL=C

quarry=$1
backend=${2:-${QUARRY_TEST_BACKEND:-cpu}}
data=${QUARRY_DATA:-}
if [ -z "$data" ]; then
    echo 'skipped: QUARRY_DATA is not set'
    exit 77
fi
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"

# keyed FILE DELIMITER COLUMN HEADER: each row with its key in front, ordered by it.  No row has the byte 1.
keyed() {
    zcat -f "$data/$1" | tail -n +$((1 + $4)) >"$scratch/rows"
    paste -d $'\1' <(cut -d "$2" -f "$3" "$scratch/rows") "$scratch/rows" | sort -t $'\1' -k 1,1
}

# pair LEFT COLUMN RIGHT COLUMN DELIMITER HEADER ARGUMENT...: columns by number, HEADER 1 or 0.
pair() {
    local left=$1 l=$2 right=$3 r=$4 delimiter=$5 header=$6 began file method
    shift 6
    for file in "$left" "$right"; do
        if [ ! -r "$data/$file" ]; then
            fail "$data/$file can't be read"
            return
        fi
    done
    keyed "$left" "$delimiter" "$l" "$header" >"$scratch/left"
    keyed "$right" "$delimiter" "$r" "$header" >"$scratch/right"
    join -t $'\1' -o 1.2,2.2 "$scratch/left" "$scratch/right" | tr '\1' '\t' | sort >"$scratch/expected"
    [ "$header" -eq 0 ] || set -- --header "$@"
    for method in paged two-pass; do
        # shellcheck disable=SC2046
        [ $method = paged ] || set -- $(sed -E 's/--(page|allocator) [^ ]+//g' <<<"$*")
        checks=$((checks + 1))
        began=$(date +%s%N)
        if ! "$quarry" join --backend "$backend" --method $method --delimiter "$delimiter" --on "$l=$r" "$@" \
            "$data/$left" "$data/$right" >"$out" 2>"$err"; then
            fail "$left with $right, $method: an error"
        elif ! sort "$out" | cmp "$scratch/expected" -; then
            fail "$left with $right, $method: other lines than join's"
        else
            printf 'equal: %-58s %-8s %8d lines, %6d ms\n' "$left with $right $*" "$method" \
                "$(wc -l <"$scratch/expected")" $((($(date +%s%N) - began) / 1000000))
        fi
    done
}

tab=$(printf '\t')
pair tpch_sf0.1/orders.psv.gz 1 tpch_sf0.1/lineitem.psv.gz 1 '|' 1
# The other way round, with integers and with small pages, if QUARRY_TEST_SHORT is not set: join.sh has these on small files.
[ -n "${QUARRY_TEST_SHORT:-}" ] || pair tpch_sf0.1/lineitem.psv.gz 1 tpch_sf0.1/orders.psv.gz 1 '|' 1 --integers --allocator rw
pair debian/depends.tsv.gz 2 debian/packages.tsv.gz 1 "$tab" 1
[ -n "${QUARRY_TEST_SHORT:-}" ] || pair debian/packages.tsv.gz 1 debian/depends.tsv.gz 1 "$tab" 1 --allocator rw --page 64
# Paths of two edges: many rows of one key on both sides.
pair graphs/email-Eu-core.csv 2 graphs/email-Eu-core.csv 1 ' ' 0

finish
