#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The man pages: one of each command, with all of its options, and nothing in them that mandoc warns of.
#
#   man.sh QUARRY FOLDER     the binary; where the pages are
set -u

quarry=$1
pages=$2
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
[ -d "$pages" ] || { echo 'skipped: no man pages were made, as there is no help2man'; exit 77; }
command -v mandoc >/dev/null || { echo 'skipped: no mandoc'; exit 77; }

# help2man gives no day.
mandoc -Tlint -W warning "$pages"/* >"$out"
same "$(grep -v 'cannot parse date' "$out")" '' 'what mandoc warns of'

run 0 --help
sed -n '/^Commands:$/,/^$/s/^  \([a-z]*\) .*/\1/p' "$out" >"$scratch/commands"
same "$(cd "$pages" && echo *)" "$(sed 's/.*/quarry-&.1/; $s/$/\nquarry.1/' "$scratch/commands" | LC_ALL=C sort | xargs)" 'pages'
while read -r command; do
    run 0 "$command" --help
    sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p' "$out" | sort >"$scratch/options"
    mandoc -Tascii "$pages/quarry-$command.1" | sed 's/.\x08//g' >"$out"
    prints "^ +quarry-$command - [a-z]"
    prints "^ +quarry $command (\[|[A-Z])"
    same "$(sed -nE 's/^ {7}(-., )?(--[a-z-]+).*/\2/p' "$out" | sort | diff - "$scratch/options")" '' "options of $command"
    prints '^ +quarry\(1\)$'
done <"$scratch/commands"
mandoc -Tascii "$pages/quarry.1" | sed 's/.\x08//g' >"$out"
prints '^ +--seed=N'
prints '^ +--weak( |$)'
prints '^ +quarry-groupby\(1\), .*quarry-bench\(1\)'
while read -r command; do
    prints "^       $command( |$)"
done <"$scratch/commands"
finish
