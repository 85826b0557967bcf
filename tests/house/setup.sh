#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scripts/setup.sh waits while another apt has a lock, and for nothing else: on a machine where nothing is installed, with an
# apt-get that only says what apt-get would.
set -eu
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fake() {
    printf '#!/bin/sh\n%s\n' "$2" >"$scratch/$1"
    chmod +x "$scratch/$1"
}
fake id 'echo 0'
fake dpkg-query 'exit 1'
fake sleep "echo \$1 >>$scratch/slept"

# expect STATUS SLEEPS SCRIPT: when that is apt-get, which has written its arguments into calls before.
expect() {
    local status=0
    fake apt-get "echo \$* >>$scratch/calls
$3"
    : >"$scratch/calls"
    : >"$scratch/slept"
    PATH=$scratch:$PATH scripts/setup.sh build >"$scratch/log" 2>&1 || status=$?
    if [ "$status" -ne "$1" ] || [ "$(wc -l <"$scratch/slept")" -ne "$2" ]; then
        cat "$scratch/log"
        echo "FAILED: status $status, slept $(wc -l <"$scratch/slept") times when apt-get is: $3"
        exit 1
    fi
}

lock="{ echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7' >&2; exit 100; }"
expect 0 0 ''
grep -qE '(^| )install .*libboost-context-dev' "$scratch/calls" || { echo 'FAILED: nothing was installed'; exit 1; }
expect 0 3 "[ \$(wc -l <$scratch/calls) -gt 3 ] || $lock" # three updates in vain
expect 0 2 "case \"\$*\" in *install*) [ \$(wc -l <$scratch/calls) -gt 4 ] || $lock ;; esac"
expect 1 60 "$lock"
[ "$(grep -c waiting "$scratch/log")" -eq 1 ] || { echo 'FAILED: the wait is not said once'; exit 1; }
expect 1 0 "echo 'E: Unable to locate package gcc' >&2; exit 100"
