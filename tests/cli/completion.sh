#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Completion for bash: what it offers behind a command line.
#
#   completion.sh QUARRY FILE     the binary; the completion, as it is installed
set -u

quarry=$1
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=/dev/null
. "$2"

# What bash has while it completes.
compopt() {
    nospace=" $*"
}

# offers LINE WORD...: at the end of the line.
offers() {
    nospace=
    COMP_LINE=$1
    COMP_POINT=${#1}
    _quarry quarry
    shift
    same "${COMPREPLY[*]}$nospace" "$*" "offered behind '$COMP_LINE'"
}

export LC_ALL=C

same "$(complete -p quarry)" 'complete -o bashdefault -o default -F _quarry quarry' 'how bash calls it'
commands=$("$quarry" --help | sed -n '/^Commands:$/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort)
# shellcheck disable=SC2046,SC2086 # words
offers 'quarry ' $("$quarry" --help | sed -nE 's/^ +(--[a-z]+=?).*/\1/p' | sort - <(printf '%s\n' --help --version)) $commands
for before in '--seed 7' '--seed=7' '--weak' '--weak --seed 7'; do
    offers "quarry $before gro" groupby
    offers "quarry $before info --oom=n" null
done
offers 'quarry --se' --seed= -o nospace
offers 'quarry --weak --v' --version
offers 'quarry --seed '
offers 'quarry --seed 7'
offers 'quarry --seed='
# shellcheck disable=SC2086
offers 'quarry help ' $commands
offers 'quarry gro' groupby
offers 'quarry  re' replay report
offers 'quarry --v' --version
offers 'quarry zzz'
offers 'quarry zzz --'

# Each long option of each command.
for command in $commands; do
    # shellcheck disable=SC2046
    offers "quarry $command --" $("$quarry" help "$command" |
        sed -nE 's/^ +(-., )?(--[a-z-]+)(\[=)?(=?).*/\2\3\4/p' | sed -E 's/(.*)\[=/\1\n\1=/' | sort)
done
offers 'quarry bench --he' --heap= --help
offers 'quarry bench --hea' --heap= -o nospace
offers 'quarry bench --backend cpu --deb' --debug
offers 'quarry groupby --heap 1M --cou' --count

# Values: of a word by itself, behind =, by letter; of lists; none of numbers and files.
allocators=$("$quarry" list --json | python3 -c 'import json, sys
print(*sorted(a["name"] for a in json.load(sys.stdin)["allocators"]))')
# shellcheck disable=SC2086
offers 'quarry info --allocator ' $allocators
# shellcheck disable=SC2086
offers 'quarry bench -a ' $allocators
offers 'quarry tune --allocator=' # it has none
offers 'quarry join --allocator=co' corw
offers 'quarry bench --allocator rw,rin' rw,ring
offers 'quarry bench --allocator=rw,rin' rw,ring
offers 'quarry info --allocator rw,rin'
offers 'quarry model -b c' cpu cuda
offers 'quarry info --oom=' null trap wait
offers 'quarry info --pool p' pinned
offers 'quarry replay --distribute ' none warp
offers 'quarry join --distribution ' uniform zipf
offers 'quarry groupby --method t' two-pass
offers 'quarry tune --objective ' memory product time
offers 'quarry bench --test alloc,chu' alloc,churn
offers 'quarry replay --set wo' word_bits= -o nospace
offers 'quarry replay --set word_bits=32,probe_' 32,probe_lanes= -o nospace
offers 'quarry replay --set=word_bits=32,probe_' 32,probe_lanes= -o nospace
offers 'quarry replay --set=waste' waste_factor= -o nospace
offers 'quarry bench --threads '
offers 'quarry replay trace'
for option in $("$quarry" list --json | python3 -c 'import json, sys
print(*{o["name"] for a in json.load(sys.stdin)["allocators"] for o in a["options"]})'); do
    offers "quarry groupby --set $option=1,$option" "1,$option= -o nospace"
done
finish
