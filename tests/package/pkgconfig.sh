#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs that find the installed tree by pkg-config, as docs/guide/linking.md says.
#
#   pkgconfig.sh cpu|cuda SETTINGS
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"

if ! command -v pkg-config >/dev/null; then
    echo 'skipped: no pkg-config here'
    exit 77
fi
if [ "$backend" = cpu ]; then
    enter pkgconfig-c
    by_page pkgconfig-c
    runs ./app cpu
    if command -v g++ >/dev/null; then
        enter cxx
        by_page pkgconfig-cxx
        runs ./app cpu
    fi
fi
if [ "$WITH_NVCC" = yes ]; then
    enter cuda
    by_page pkgconfig-cuda
    runs ./app cuda
    enter both
    by_page pkgconfig-both
    # With libquarry.so nvcc would have to be told to share the CUDA runtime.
    if [ "$SHARED" = no ]; then runs ./app cpu cuda; fi
fi
