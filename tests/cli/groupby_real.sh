#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Proves `quarry groupby` equal to cut | sort | uniq -c on real files, and some of them for a second allocator, which
# groupby.sh has, too.
#
#   groupby_real.sh QUARRY [BACKEND]
#     QUARRY    the binary
#     BACKEND   cpu or cuda; without it QUARRY_TEST_BACKEND, without that cpu
#
# Not all columns, and fewer whole lines, if QUARRY_TEST_SHORT is set: those that are left out take a CPU long, and have as
# many groups as others, more or less.
#
# QUARRY_DATA names the folder with debian/*.tsv.gz and tpch_sf0.1/*.psv.gz; without it the script skips
# itself (77).  Every line of those files has all columns, so cut's special case of a line without a
# delimiter does not arise.
set -u
export LC_ALL=C

quarry=$1
backend=${2:-${QUARRY_TEST_BACKEND:-cpu}}
data=${QUARRY_DATA:-}
allocators=corw
if [ -z "$data" ]; then
    echo 'skipped: QUARRY_DATA is not set'
    exit 77
fi
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"

# compare NAME ARGUMENT...: groupby with each of $allocators against $scratch/expected, both sorted by key.
compare() {
    local name=$1 allocator began
    shift
    for allocator in $allocators; do
        checks=$((checks + 1))
        began=$(date +%s%N)
        if ! "$quarry" groupby --backend "$backend" --allocator "$allocator" "$@" \
            >"$out" 2>"$err"; then
            fail "$name, $allocator: an error"
        elif ! sort "$out" | cmp "$scratch/expected" -; then
            fail "$name, $allocator: other groups than cut | sort | uniq -c"
        else
            printf 'equal: %-44s %-5s %8d groups, %6d ms\n' "$name" "$allocator" "$(wc -l <"$scratch/expected")" \
                $((($(date +%s%N) - began) / 1000000))
        fi
    done
}

# expect: the groups of the keys on standard input, as groupby prints them.
expect() {
    sort | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)$/\2\t\1/' | sort >"$scratch/expected"
}

# column FILE DELIMITER NUMBER NAME: one column, found by its number and, once, by its name in the header.
column() {
    local file=$data/$1 delimiter=$2 number=$3 name=$4
    if [ ! -r "$file" ]; then
        fail "$file can't be read"
        return
    fi
    zcat "$file" | tail -n +2 | cut -d "$delimiter" -f "$number" | expect
    compare "$1 $name" --delimiter "$delimiter" --header --column "$name" "$file"
}

tab=$(printf '\t')
column debian/packages.tsv.gz "$tab" 1 package
column debian/packages.tsv.gz "$tab" 2 section
column debian/packages.tsv.gz "$tab" 3 installed_kib
column debian/depends.tsv.gz "$tab" 2 depends_on
column tpch_sf0.1/lineitem.psv.gz '|' 6 l_shipmode
lines=orders
if [ -z "${QUARRY_TEST_SHORT:-}" ]; then
    column debian/packages.tsv.gz "$tab" 5 architecture
    column debian/depends.tsv.gz "$tab" 1 package
    column tpch_sf0.1/lineitem.psv.gz '|' 1 l_orderkey
    column tpch_sf0.1/lineitem.psv.gz '|' 3 l_suppkey
    column tpch_sf0.1/orders.psv.gz '|' 1 o_orderkey
    column tpch_sf0.1/orders.psv.gz '|' 6 o_orderpriority
    lines=lineitem
fi

# Whole lines of a file that is not compressed: all rows are different.  No column holds this byte.
zcat "$data/tpch_sf0.1/$lines.psv.gz" >"$scratch/lines"
expect <"$scratch/lines"
allocators='rw corw'
compare "$lines, whole lines" --delimiter "$(printf '\001')" "$scratch/lines"
[ -z "${QUARRY_TEST_SHORT:-}" ] || allocators=corw
compare "$lines, whole lines, pages of 64 bytes" --delimiter "$(printf '\001')" --page 64 "$scratch/lines"

# The row numbers of each group.
zcat "$data/debian/depends.tsv.gz" | tail -n +2 | cut -f 2 |
    awk '{ rows[$0] = rows[$0] (n[$0]++ ? "," : "") NR }
         END { for (key in rows) print key "\t" n[key] "\t" rows[key] }' | sort >"$scratch/expected"
compare 'depends.tsv.gz depends_on, --rows' --header --column 2 --rows "$data/debian/depends.tsv.gz"

finish
