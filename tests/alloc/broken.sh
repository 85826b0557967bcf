#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The suite finds the bug of an allocator of alloc/plain.h.
#   broken.sh PROGRAM ALLOCATOR TEST    PROGRAM, the promises with these allocators, fails for ALLOCATOR, and the test
#                                       of the promise that is broken is among those that failed
#   broken.sh PROGRAM ALLOCATOR --race  PROGRAM, built with ThreadSanitizer, reports a data race
set -euo pipefail
program=$1 allocator=$2 expected=$3

die() {
    printf '%s\n' "$output" | tail -n 40
    echo "broken.sh: $allocator: $1" >&2
    exit 1
}

# Races, and the memory that a failed test leaves behind, are no reason to exit with another status.
export QUARRY_TEST_ALLOCATOR=$allocator QUARRY_TEST_SEEDS=20 ASAN_OPTIONS=detect_leaks=0
if [ "$expected" = --race ]; then
    export TSAN_OPTIONS=halt_on_error=1
else
    export TSAN_OPTIONS=report_bugs=0
fi
status=0
output=$("$program" 2>&1) || status=$?

[ "$status" -ne 0 ] || die 'nothing was found'
if [ "$expected" = --race ]; then
    grep -q 'ThreadSanitizer: data race' <<<"$output" || die 'no race was reported'
    exit 0
fi
[ "$status" -eq 1 ] || die "the exit status is $status, not that of failed tests"
if grep -q 'Test failed with exception' <<<"$output"; then
    die 'a test crashed'
fi
grep -qxF "[  FAILED  ] $expected" <<<"$output" || die "$expected did not fail"
echo "$allocator: found, by $expected"
