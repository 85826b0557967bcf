#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The GPUs that are compiled for by default: this machine's, by what nvidia-smi says, or else the newest.
#
#   architectures.sh SOURCE NVCC
set -u

source=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
PATH=$scratch:$(dirname "$2"):$PATH
failures=0

# expect ARCHITECTURES SCRIPT: when that is nvidia-smi.
expect() {
    printf '#!/bin/sh\n%s\n' "$2" >"$scratch/nvidia-smi"
    chmod +x "$scratch/nvidia-smi"
    cmake -S "$source" -B "$scratch/build" -U QUARRY_CUDA_ARCHITECTURES -U QUARRY_GPUS -DQUARRY_CUDA=ON -DQUARRY_TESTS=OFF >"$scratch/log" 2>&1
    if ! grep -q "^-- GPU backend: CUDA .*, architectures $1\$" "$scratch/log"; then
        echo "FAILED: not $1 when nvidia-smi is: $2"
        sed 's/^/    /' "$scratch/log"
        failures=$((failures + 1))
    fi
}

expect '90' 'echo 9.0'
expect '89;120' "printf '8.9\n12.0\n8.9\n'"
expect '90' 'echo No devices were found; exit 6'
expect '90' 'echo 99.0'
expect '90' 'echo 7.0; echo 8.0'
expect '90' 'echo "[N/A]"'
exit "$((failures > 0))"
