# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the tests of the programs beside the command share; sourced, with the script's arguments.
#
#   PROGRAM     QUARRY_TEST_BACKEND: cpu or cuda
quarry=$1
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck disable=SC2034 # for who sources this
backend=${QUARRY_TEST_BACKEND:-cpu}

# rows PROGRAM: what awk prints for the rows, without the device, variants in one word each.
rows() {
    sed '1d; s/^"[^"]*",//; s/, once a warp"/ by warp"/' "$out" | awk -F, "$1"
}

# refuses LIST OPTION...: wrong options, each with its value, and a list that is too long.
refuses() {
    local list=$1 wrong
    shift
    for wrong in "$@"; do
        # shellcheck disable=SC2086 # an option and its value
        run 2 $wrong
        says "${wrong%% *} '${wrong#* }': give"
    done
    run 2 "$list" "$(seq -s, 65)"
    says "$list"
    run 2 --frobnicate
    says "'--frobnicate'"
    run 2 --runs
    says "'--runs'"
    run 2 16
    says "'16'"
}

run 0 -h
cp "$out" "$scratch/help"
run 0 --help
same "$(<"$out")" "$(<"$scratch/help")" -h
prints "^Usage: ${quarry##*/} "
