#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command's frame: --help, --version, list, info and their usage errors.  All on the CPU backend.
#
#   tool.sh QUARRY     the binary
set -u

quarry=$1
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"

# ---- help, version, no such command ----

run 0 --help
prints '^Usage: quarry '
for command in groupby join bench model replay tune info list; do
    prints "^  $command +[a-z]"
done
run 0 --version
prints '^quarry [0-9]+\.[0-9]+\.[0-9]+ \(backends: (cuda, )?cpu\)$'
same "$(wc -l <"$out")" 1 'lines of --version'
run 2
says 'no command'
run 2 frobnicate
says "'frobnicate'"
run 2 --frobnicate
says "'--frobnicate'"
run 2 --version list
says '--version'
for command in bench model info list; do
    run 0 $command --help
    prints "^Usage: quarry $command"
done

# ---- list ----

run 0 list
prints '^allocators$'
prints '^  rw '
prints '^  corw '
prints '^ +pages of 16 B to 1 MiB, each a block$'
prints '^ +aligned to 16 bytes, by option to 1 MiB; counts slots; frees blocks one by one$'
prints '^backends$'
prints '^  cuda +(built in|not built in)'
prints '^  cpu +built in$'
prints '^devices$'
prints '^  cpu:0 .*[0-9] cores.* [0-9.]+ [KMGT]iB memory'
same "$(wc -c <"$err")" 0 'bytes on standard error'
run 2 list rw
says 'no arguments'
run 2 list --frobnicate
says "'--frobnicate': no such option"

# ---- info ----

run 0 info --backend cpu
same "$(sed '/^$/,$d; s/  .*//' "$out" | tr '\n' ' ')" \
    'reserve pool alignment creation distribution out of memory debug mode ' 'policies of a heap'
prints '^reserve pool   67108864 bytes of host memory$'
prints '^ +offset +bytes +share  section$'
prints '^ +0 +256 +0.00 %  head$'
prints '^ +[0-9]+ +[0-9]+ +9[0-9.]+ %  pages$'
prints '^alignment      natural: .* 16 bytes$'
prints '^creation       rw-malloc, .* pages of 64 bytes, blocks of up to [0-9]+, words of 32 bits$'
prints '^distribution   none: '
prints '^out of memory  null: .*nothing was free, after [0-9]+ probes and a sweep$'
prints '^debug mode     off$'
run 0 info --backend cpu --allocator rw --heap 1M --page 1K --align 128 --distribute warp --oom wait
prints '^reserve pool   1048576 bytes'
prints '^alignment      shrink: .* 128 bytes$'
prints '^creation       rw, .* [0-9]+ pages of 1024 bytes$'
prints '^distribution   warp: '
prints '^out of memory  wait: .* 1000 times more'
run 0 info --backend cpu --oom trap --debug
prints '^out of memory  trap: '
prints '^debug mode     on'
for pool in device stream managed pinned; do
    run 0 info --backend cpu --pool "$pool"
    prints '^reserve pool   67108864 bytes of host memory$'
done
run 0 info --backend cpu --pool malloc --heap 1M
prints '^reserve pool   1048576 bytes of host memory, from malloc$'
run 0 info --backend cpu --allocator rw-malloc --page 16
prints '^creation       rw-malloc, .*: [0-9]* pages of 16 bytes, '
run 0 info --backend cpu --allocator cuda --heap 1M
prints "^reserve pool   1048576 bytes of the C library's heap$"
prints '^creation       cuda, .*: blocks of up to [0-9]*$'
run 2 info --page 8
says "--page '8': give a multiple of 16 from 16 to 1M"
run 0 info --backend cpu --allocator scatter
prints '^creation       scatter, .*, 8 access blocks, regions of 16 pages, waste factor 2, hash factors 38183 17497 1 1$'
run 0 info --backend cpu --allocator scatter --heap 1M \
    --scatter blocks=1,region=1,waste=3,hash-size=4294967295,hash-sm=5,hash-warp=6,hash-pages=7,keep,serial
prints ', 1 access block, regions of 1 page, waste factor 3, hash factors 4294967295 5 6 7, pages keep .*, serial search'
run 0 info --backend cpu --scatter waste=3
prints_not 'waste'
run 2 info --backend cpu --allocator scatter --scatter waste=4097
says 'waste_factor 4097: each must be at most 4096'
for wrong in '' x waste waste= waste=0 waste=x waste=4294967296 waste=99999999999 wast=1 serial=1 'serial,' ',serial'; do
    run 2 info --scatter "$wrong"
    says "--scatter '$wrong': give "
done
run 2 info --backend cpu --align 128 --page 64
says 'page_bytes is 64, which is no multiple of the alignment of 128'
run 2 info --backend cpu --distribute warp --debug
says 'debug was given'
for wrong in '--align 24' '--align 2M' '--align x' '--distribute block' '--oom hook' '--pool buffer'; do
    # shellcheck disable=SC2086 # two words
    run 2 info $wrong
    says "${wrong% *} '${wrong#* }': give "
done
run 2 info corw
says 'no arguments'
run 1 info --backend cpu --heap 1
says 'too small'

finish
