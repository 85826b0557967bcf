#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# on-gpu.sh COMMAND...: runs the command where there is a GPU; skips it (77) elsewhere.
if ! nvidia-smi -L >/dev/null 2>&1; then
    echo 'skipped: no GPU here'
    exit 77
fi
exec "$@"
