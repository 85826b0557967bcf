#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ordering.sh PROGRAM: race_ordering, built with ThreadSanitizer, must be reported without a release and without an
# acquire, and not with both.
set -u
program=$1
failed=0
for variant in sound no-release no-acquire; do
    "$program" "$variant" >/dev/null 2>"$program.$variant.log"
    code=$?
    races=$(grep -c 'WARNING: ThreadSanitizer: data race' "$program.$variant.log")
    echo "$variant: exit code $code, $races data races reported"
    case $variant in
    sound) [ "$code" -eq 0 ] && [ "$races" -eq 0 ] || failed=1 ;;
    *) [ "$code" -ne 0 ] && [ "$races" -gt 0 ] || failed=1 ;;
    esac
done
exit "$failed"
