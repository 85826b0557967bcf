#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each call of quarry_group and of quarry_group_alike has a site of its own, out of the list of core/share.h: so lanes
# that come from different calls are never one group.  And nothing but these asks who arrives together.
#
#   sites.sh   checks this repository, then plants one violation of each kind in a copy and requires that it is found
set -eu
cd "$(dirname "$0")/../.."
list=include/quarry/core/share.h
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# All violations in the tree of folder $1, one a line.
violations() {
    (
        cd "$1"
        sed -nE 's/^    (QUARRY_SITE_[A-Z0-9_]+),$/\1/p' "$list" | sort >"$scratch/sites"
        # A line for each statement with a call: calls may go over several lines.
        grep -rlE 'quarry_group|QUARRY_SITE_' include src bench tool --include='*.[ch]' | grep -vxF "$list" | while read -r file; do
            tr -s '[:space:]' ' ' <"$file" | tr ';{}' '[\n*]' | grep -E 'quarry_group(_alike)?\(|QUARRY_SITE_' | sed "s|^|$file: |" || true
        done >"$scratch/calls"
        grep -oE 'QUARRY_SITE_[A-Z0-9_]+' "$scratch/calls" | sort >"$scratch/used" || true
        uniq -d "$scratch/used" | sed 's/$/: of more than one call/'
        sort -u "$scratch/used" | comm -23 "$scratch/sites" - | sed 's/$/: of no call/'
        sort -u "$scratch/used" | comm -13 "$scratch/sites" - | sed 's/$/: is not in the list/'
        grep -vE '^[^:]*:.*quarry_group(\(.*, QUARRY_SITE_[A-Z0-9_]+\)|_alike\(.*, QUARRY_SITE_[A-Z0-9_]+, )' "$scratch/calls" | sed 's/$/: a call without a site/'
        grep -E 'quarry_group(_alike)?\(.*quarry_group(_alike)?\(' "$scratch/calls" | sed 's/$/: two calls in a statement/' || true
        grep -rEn 'simt_active\(' include/quarry --include='*.h' | grep -Ev "^(include/quarry/simt/|$list:)" |
            sed 's/$/: quarry_group does that, with a site/' || true
    )
}

violations . >"$scratch/found"
if [ -s "$scratch/found" ]; then
    cat "$scratch/found"
    exit 1
fi
count=$(wc -l <"$scratch/sites")
[ "$count" -ge 10 ] || { echo "sites.sh: found no list of sites in $list"; exit 1; }

# plant FILE TEXT: appends TEXT to FILE of a fresh copy, and requires that something is found.
failed=0
plant() {
    rm -rf "$scratch/tree"
    mkdir "$scratch/tree"
    cp -r include src bench tool "$scratch/tree/"
    printf '%s\n' "$2" >>"$scratch/tree/$1"
    violations "$scratch/tree" >"$scratch/found"
    [ -s "$scratch/found" ] || { echo "sites.sh: planted '$2' in $1, and it was not found"; failed=1; }
}
plant include/quarry/policy.h '{ uint32_t group = quarry_group(h, QUARRY_SITE_SLOTS); }'
plant include/quarry/alloc/ring.h '{ uint32_t group = quarry_group(h, (enum quarry_site)1); }'
plant include/quarry/alloc/ring.h '{ uint32_t group = quarry_group(h, QUARRY_SITE_OF_MY_OWN); }'
plant include/quarry/alloc/ring.h '{ uint32_t group = simt_match_u64(simt_active(), 1); }'
plant include/quarry/alloc/ring.h '{ uint32_t same, group = quarry_group_alike(h, (enum quarry_site)1, 2, &same); }'
plant include/quarry/core/share.h '    QUARRY_SITE_UNUSED,'
[ "$failed" -eq 0 ] && echo "each of $count sites has one call; all planted violations were found"
exit "$failed"
