#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over the project's C sources as a configured build folder compiles them, shellcheck over its scripts.
#   lint.sh BUILD-FOLDER [CLANG-TIDY]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
tidy=${2:-clang-tidy}

# What it found, and nothing where it found nothing.
look() {
    local found
    if ! found=$("$tidy" -p "$build" --quiet "$1" 2>&1); then
        printf '%s\n' "$found" | grep -vE '^[0-9]+ warnings? generated|^Suppressed|^Use -header-filter'
        return 1
    fi
}
export -f look
export build tidy

# Sources that the build writes are left out: they include those that are read.
# shellcheck disable=SC2016 # for the inner shell
sed -n 's/^ *"file": "\(.*\)",*$/\1/p' "$build/compile_commands.json" | grep -v "^$(realpath "$build")/" | sort -u |
    xargs -P "${JOBS:-$(nproc)}" -I '{}' bash -c 'look "$1"' look '{}'

if command -v shellcheck >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -- demo check .ci/run '*.sh' | xargs shellcheck
else
    echo 'lint: shellcheck is not installed; scripts were not checked' >&2
fi
