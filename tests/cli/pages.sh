#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docs/reference: options.md has each option of each allocator as `quarry list --long` tells it, and no other; commands.md has each
# command, and the letters of options.
#
#   pages.sh QUARRY     the binary
set -u

quarry=$1
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
reference=$(realpath "$(dirname "$0")/../../docs/reference")

# `quarry list --long` has the name of an allocator, and below it lines such as "--set probes=16: what it is".
run 0 list --long
sed -n '/^allocators$/,/^backends$/p' "$out" |
    sed -nE 's/^  ([a-z][a-z-]*) .*/name \1/p; s/^ +--set ([a-z_]+)=([0-9]+): (.*)/\1 \2 \3/p' |
    while read -r option standard help; do
        if [ "$option" = name ]; then
            allocator=$standard
        else
            echo "| \`$allocator\` | \`$option\` | $standard | $help |"
        fi
    done >"$scratch/told"
checks=$((checks + 2))
[ -s "$scratch/told" ] || fail 'no option is listed'
# shellcheck disable=SC2016 # backquotes of Markdown
grep -E '^\| `[a-z-]+` \| `[a-z_]+` \| [0-9]+ \|' "$reference/options.md" | diff "$scratch/told" - ||
    fail 'docs/reference/options.md (>) has other options than quarry list --long (<)'

run 0 --help
while read -r command; do
    checks=$((checks + 1))
    grep -Eq "^\| \`quarry ${command}( |\`)" "$reference/commands.md" || fail "docs/reference/commands.md lacks $command"
done < <(sed -n '/^Commands:$/,/^$/s/^  \([a-z]*\) .*/\1/p' "$out")
[ "$checks" -gt 8 ] || fail 'no commands are listed'

# The letters.
# shellcheck disable=SC2016 # backquotes of Markdown
sed -n '/^Commands:$/,/^$/s/^  \([a-z]*\) .*/\1/p' "$out" | while read -r command; do
    "$quarry" help "$command" | sed -nE 's/^  (-[a-zA-Z]), (--[a-z-]+).*/`\1` | `\2`/p'
done | LC_ALL=C sort -u >"$scratch/letters"
# shellcheck disable=SC2016
same "$(grep -oE '`-[a-zA-Z]` \| `--[a-z-]+`' "$reference/commands.md" | LC_ALL=C sort | diff - "$scratch/letters")" '' \
    'letters in docs/reference/commands.md (<) and of the commands (>)'
finish
