#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program of two sources with quarry/override.h, compiled against the installed tree as docs/guide/drop-in.md says.
#
#   override.sh cpu|cuda SETTINGS [thrust]     with Thrust's headers, which take a third of the time, if it may run or is asked to
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"

page=$SOURCE/docs/guide/drop-in.md # for block()
export page
if [ "$WITH_CUDA" = no ] || [ "$SHARED" = yes ] || { [ "$WITH_NVCC" = no ] && [ "${3:-}" != thrust ]; }; then
    echo 'skipped: no static library with the GPU backend, or neither a GPU nor QUARRY_CUDA=ON'
    exit 77
fi
if [ "$backend" = cpu ] && [ "${3:-}" != thrust ]; then export NVCC_APPEND_FLAGS="${NVCC_APPEND_FLAGS:-} -DWITHOUT_THRUST"; fi
for way in whole relocatable; do
    enter "$way"
    cp "$programs"/override_* .
    by_page "$way"
    if nm -g override_main.o override_unit.o | grep -E ' [TVW] (_Zn[aw]m|_Zd[al]Pv|malloc|free)$'; then
        fail "$way: the host's own are replaced"
    fi
    runs ./app cuda
    export NVCC_APPEND_FLAGS="${NVCC_APPEND_FLAGS:-} -DWITHOUT_THRUST" # once is enough
done

# How often device code names the toolkit's malloc and free: never, but for a source without the include.  With the options
# that make nvcc quick it would keep what nobody calls.
export NVCC_APPEND_FLAGS=-DWITHOUT_THRUST
toolkits() {
    nvcc -arch=native -DQUARRY_ALLOCATOR=quarry -I"$PREFIX/include" -ptx "$1" -o look.ptx >log 2>&1 || { cat log; fail "$1: ptx"; }
    grep -cE '^ *(malloc|free), *$|\.func.* (malloc|free)( *;|$)' look.ptx || true
}
sed 's|quarry/override.h|quarry/device.h|' override_unit.cu >without.cu
# A comma of template arguments makes one argument look like two: an error, and not the toolkit's free.
sed 's|free(texts\[thread\])|free(id<int, int>(texts[thread]))|; s|^__global__ void make|template <class, class> __device__ void *id(void *p) { return p; }\n&|' \
    override_unit.cu >comma.cu
if nvcc -arch=native -DQUARRY_ALLOCATOR=quarry -I"$PREFIX/include" -ptx comma.cu -o comma.ptx >log 2>&1; then
    fail 'a comma of template arguments leads to another free'
fi
grep -q 'put the argument of malloc or free into parentheses' log || { cat log; fail 'comma.cu: another error'; }
[ "$(toolkits override_main.cu)" -eq 0 ] || fail "the toolkit's malloc or free in override_main.cu"
[ "$(toolkits override_unit.cu)" -eq 0 ] || fail "the toolkit's malloc or free in override_unit.cu"
[ "$(toolkits without.cu)" -gt 0 ] || fail 'this test sees nothing'
