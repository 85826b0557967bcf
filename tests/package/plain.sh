#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs that are compiled by hand against the installed tree, as docs/guide/linking.md says.
#
#   plain.sh cpu|cuda SETTINGS
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"

if [ "$WITH_CUDA" = no ]; then
    enter c
    by_page plain-gcc-cpu
    runs ./app cpu
    if command -v g++ >/dev/null; then
        enter cxx
        by_page plain-gxx-cpu
        runs ./app cpu
    fi
    exit 0
fi
if [ "$backend" = cpu ]; then
    enter c
    by_page plain-gcc
    runs ./app cpu
    enter cxx
    by_page plain-gxx
    runs ./app cpu
fi
enter cuda
by_page plain-nvcc
runs ./app cuda
