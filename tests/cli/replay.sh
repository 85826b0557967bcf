#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `quarry replay`, `quarry tune` and --trace of `quarry groupby` and `quarry join` promise.
#
#   replay.sh QUARRY [QUARRY_WITH_BROKEN]
#     QUARRY              the binary
#     QUARRY_WITH_BROKEN  one that also has the allocators of tests/alloc/plain.h, which break a promise each; without it
#                         those checks are left out, and the last line says so
#
# QUARRY_TEST_BACKEND picks the backend (cpu).
set -u
export LC_ALL=C

quarry=$1
with_broken=${2:-}
backend=${QUARRY_TEST_BACKEND:-cpu}
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
data=$(dirname "$0")/../data
made=$scratch/made.trace

# What `quarry list` names, but for the platform's own.
allocators=$("$quarry" list | sed -nE '/^allocators$/,/^backends$/s/^  ([-a-z_0-9]+) .*/\1/p' | grep -vx cuda)

# ---- replay: the traces of the repository ----

run 0 replay --backend "$backend" --runs 2 --check "$data/groupby.trace"
prints '^trace .*allocator corw on cpu .*, heap of 1 MiB$'
prints '^events +1234: 617 mallocs, 617 frees; 0 mallocs failed'
prints '^batches +5 of 5 launches$'
prints '^peak +21\.4 KiB in 342 blocks$'
prints '^heap +1 MiB, allocator corw, [0-9]+ pages of 64 bytes$'
prints '^occupied +18\.8 KiB by blocks of 18\.8 KiB,'
prints '^utilisation +2\.1 %'
prints '^checked +every block'
prints '^time +[0-9.]+ ms .*, n 2\)$'
[ "$backend" != cpu ] || prints '^times +by the host.s clock; .*, not how fast a GPU is$'
prints '^floor +[0-9.]+ ms'
same "$(wc -c <"$err")" 0 'bytes on standard error'

# From standard input: a pipe, and a file.
grep -vE '^(time|floor) ' "$out" >"$scratch/named"
sed -i "s|^\(trace *\)[^:]*:|\1-:|" "$scratch/named"
run 0 replay --backend "$backend" --runs 2 --check - < <(cat "$data/groupby.trace")
same "$(grep -vE '^(time|floor) ' "$out" | diff - "$scratch/named")" '' 'a replay of standard input'
run 0 tune --backend "$backend" --runs 1 - <"$data/groupby.trace"
run 1 replay --backend "$backend" - </dev/null
says 'standard input: byte 0: the file ends in its header'
run 1 replay --backend "$backend" - < <(head -c 64M /dev/zero 2>/dev/null; echo $? >"$scratch/read")
says 'standard input: byte 0: this is no trace of Quarry'
wait $!
same "$([ "$(cat "$scratch/read")" = 0 ] || echo no)" no 'what is no trace is read to its end'
run 1 replay --backend "$backend" - <&-
says "standard input: can't read: "

others=$(grep -vx corw <<<"$allocators")
# shellcheck disable=SC2086 # words
for allocator in $(few $others cuda corw); do
    for trace in groupby join; do
        run 0 replay --backend "$backend" --runs 1 --check --allocator "$allocator" --heap 16M "$data/$trace.trace"
        prints "^heap .*allocator $allocator,"
    done
done
run 0 replay --backend "$backend" --runs 1 --distribute warp --align 64 --check --window 100 "$data/groupby.trace"
prints '^batches +1[0-9] of 5 launches$'

# --check finds blocks that overlap, and those that are aligned to 8.
for broken in 'plain 0' 'plain-narrow 1 0 blocks .* [1-9][0-9]* were overwritten' 'plain-crooked 1 [1-9][0-9]* blocks are misaligned'; do
    [ -n "$with_broken" ] || break
    read -r allocator code sentence <<<"$broken"
    quarry=$with_broken run "$code" replay --backend cpu --runs 1 --page 256 --heap 128K --check \
        --allocator "$allocator" "$data/join.trace"
    [ "$code" = 0 ] || says "$sentence"
done

# A heap in which not all fits; pages that are too small.
run 1 replay --backend "$backend" --runs 1 --heap 4K "$data/groupby.trace"
says '[1-9][0-9]* of 617 mallocs failed, 0 of them .*, in a heap of 4 KiB: this is not what the program did; use a larger --heap$'
run 0 replay --backend "$backend" --runs 1 --allocator rw-malloc --page 16 "$data/groupby.trace"
prints '^heap .* pages of 16 bytes$'
run 0 replay --backend "$backend" --runs 1 --set word_bits=64,probe_lanes=2 "$data/groupby.trace"
prints '^its options +probes=[0-9]+ word_bits=32 probe_lanes=16'
prints '^options +probes=[0-9]+ word_bits=64 probe_lanes=2'
run 2 replay --backend "$backend" --set serial=1 "$data/groupby.trace"
says 'allocator corw has no option "serial": it has probes, word_bits, probe_lanes'
run 1 replay --backend "$backend" --runs 1 --page 32 "$data/groupby.trace"
says '617 of 617 mallocs failed, 617 of them as larger than any block, .*; use a larger --page$'
# A heap in which all fits where few threads run at the same time, as then less lives at one time than in the trace.
if "$quarry" replay --backend "$backend" --runs 1 --heap 21K "$data/groupby.trace" >"$out" 2>"$err"; then
    prints '^utilisation +none: the peak is more than the heap'
fi

# All commands obey the environment of the race finder.
if [ "$backend" = cpu ]; then
    export QUARRY_SEED=7
    run 0 replay --backend cpu --runs 1 --check "$data/groupby.trace"
    prints '^checked +every block'
    export QUARRY_SEED=x
    run 2 replay --backend cpu --runs 1 "$data/groupby.trace"
    says 'QUARRY_SEED is "x": it must be a number'
    export QUARRY_SEED=7 QUARRY_WEAK=2
    run 2 replay --backend cpu --runs 1 "$data/groupby.trace"
    says 'QUARRY_WEAK is "2": it must be 0 or 1$'

    # So do the options before the command, which come first.
    export QUARRY_SEED=x QUARRY_WEAK=2
    run 2 --seed 7 replay --backend cpu --runs 1 "$data/groupby.trace"
    says 'QUARRY_WEAK is "2"'
    unset QUARRY_WEAK
    for way in '--seed 7' --seed=18446744073709551615; do
        # shellcheck disable=SC2086 # two words
        run 0 $way replay --backend cpu --runs 1 --check "$data/groupby.trace"
        prints '^checked +every block'
    done
    export QUARRY_SEED=7 QUARRY_WEAK=1
    "$quarry" replay --backend cpu --runs 1 "$data/groupby.trace" >/dev/null 2>"$scratch/said"
    code=$?
    unset QUARRY_WEAK
    run $code --weak replay --backend cpu --runs 1 "$data/groupby.trace"
    same "$(<"$err")" "$(<"$scratch/said")" 'said with --weak'
    unset QUARRY_SEED
    run $code --weak --seed=7 replay --backend cpu --runs 1 "$data/groupby.trace"
    same "$(<"$err")" "$(<"$scratch/said")" 'said with --weak --seed'
    run 2 --weak replay "$data/groupby.trace"
    says '--weak does nothing without a seed; give --seed, too$'
    for seed in x 0 -1 7x 7K 18446744073709551616 ''; do
        run 2 --seed "$seed" replay "$data/groupby.trace"
        says "--seed '$seed': give a number from 1 to 2\^64 - 1$"
    done
    run 2 --seed
    says '--seed: give a number$'
    run 2 --weak=1 list
    says "unknown option '--weak=1'"
    run 2 --seed 7
    says 'no command given'
fi

# A heap of 64 TiB was recorded: no more is taken than four times what can live at one time, in a batch more than in the
# order of the trace.
recorded=$scratch/recorded.trace
cp "$data/groupby.trace" "$recorded"
printf '\0\0\0\0\0\100\0\0' | dd of="$recorded" bs=1 seek=64 conv=notrunc status=none
tail -c +17 "$recorded" | head -c 496 | gzip | tail -c 8 | head -c 4 | dd of="$recorded" bs=1 seek=12 conv=notrunc status=none
for heap in '16 MiB,' '140.8 MiB, --page 64K' '85.5 MiB, --page 64K --window 1' '140.8 MiB, --allocator rw-malloc --align 64K' \
    '1 MiB, --heap 1M'; do
    # shellcheck disable=SC2086 # words
    run 0 replay --backend "$backend" --runs 1 ${heap#*,} "$recorded"
    prints '^trace .*, heap of 64 TiB$'
    prints "^heap +${heap%%,*}, "
done

# ---- replay: what is refused ----

run 0 replay --help
prints '^Usage: quarry replay'
run 2 replay
says 'no trace given'
run 2 replay ''
says "'' is no trace"
run 2 replay a b
says "two traces given, 'a' and 'b'"
for wrong in '--window 0' '--runs 0' '--runs x' '--allocator none' '--heap x' '--page 24' '--align 24'; do
    # shellcheck disable=SC2086 # two words
    run 2 replay $wrong "$data/join.trace"
    says "${wrong% *}:? '${wrong#* }'"
done
run 2 replay --backend "$backend" --align 128 --page 64 "$data/join.trace"
says 'no multiple of the alignment'
run 1 replay --backend "$backend" --heap 1 "$data/join.trace"
says 'too small'
run 1 replay "$scratch/nothing"
says "nothing: can't read"
for size in 0 100 512 1000; do
    head -c $size "$data/join.trace" >"$made"
    run 1 replay "$made"
    says "made\.trace: byte $size: the file ends"
    run 1 tune "$made"
    says "made\.trace: byte $size: the file ends"
done
cp "$data/join.trace" "$made"
printf x | dd of="$made" bs=1 seek=70 conv=notrunc status=none
run 1 replay "$made"
says 'made\.trace: byte 12: the header is damaged'
cp "$data/join.trace" "$made"
printf '\377\377\377\377' | dd of="$made" bs=1 seek=556 conv=notrunc status=none
run 1 replay "$made"
says 'made\.trace: byte [0-9]+.* (compressed )?events'
run 1 replay "$data/debian-sections.tsv.gz"
says 'byte 0: this is no trace of Quarry'

# ---- tune ----

for objective in $(few time memory product); do
    trace=$data/groupby.trace
    [ "$objective" != product ] || trace=$data/join.trace # the least heaps of a shorter one
    run 0 tune --backend "$backend" --runs 1 --objective "$objective" "$trace"
    prints "^objective +$objective: "
    [ "$backend" != cpu ] || prints '^times +by the host.s clock; .*, not how fast a GPU is$'
    for allocator in $allocators; do
        prints "^ *([0-9]+|-)  $allocator "
    done
    prints '^ +1  [a-z]'
    same "$(sed -nE 's/^ *([0-9]+|-)  ([-a-z]+ +[0-9]+  [a-z]+) .*/\2/p' "$out" | sort | uniq -d)" '' 'candidates that are there twice'
    if [ "$objective" = time ]; then
        prints_not 'utilisation$| %$' # a least heap is not looked for
    else
        prints ' least heap  utilisation$'
    fi
    # What is printed to paste works.
    paste=$(sed -n 's/^quarry replay *//p' "$out")
    same "$(wc -w <<<"$paste")" 8 'words to paste'
    prints '^kernels +-DQUARRY_ALLOCATOR=[a-z_]+ -DQUARRY_DISTRIBUTION=(none|warp)$'
    prints '^ +options\.allocator = "'
    if [ "$objective" = memory ]; then
        awk '$1 ~ /^[0-9]+$/ && $2 ~ /^[a-z]/ { share = $(NF - 1); if (n++ && share > last + 0.05) exit 1; last = share }' "$out" ||
            fail 'not in the order of the least heaps'
    fi
    # A heap of random walks may be too small for one run of many: those get more.
    # shellcheck disable=SC2046 # words
    run 0 replay --backend "$backend" --runs 1 $(sed -E 's/--heap [0-9]+/--heap 1M/' <<<"$paste") "$trace"
done
# A pair goes to those that have it, and is there to paste if the best is one of them.
run 0 tune --backend "$backend" --runs 1 --set probes=5 "$data/groupby.trace"
best=$(sed -nE 's/^ +1  ([-a-z]+) .*/\1/p' "$out")
probes=$("$quarry" list --long | awk -v name="$best" '/^  [a-z]/ { mine = $1 == name } mine && /--set probes=/')
same "$(sed -nE 's/^quarry replay .* (--set .*)/\1/p; s/^ +(const .*)/\1/p; s/^ +(options\.set.*)/\1/p' "$out" | tr '\n' ' ')" \
    "$([ -z "$probes" ] || echo '--set probes=5 const struct quarry_option set[] = {{"probes", 5}}; options.set = set; options.set_count = 1; ')" \
    "options of $best to paste"
run 2 tune --backend "$backend" --set banana=1 "$data/groupby.trace"
says "--set: there is no option 'banana': the allocators have probes, word_bits, probe_lanes, "
run 2 tune --objective speed "$data/groupby.trace"
says "--objective 'speed': give time, memory or product"
run 1 tune --backend "$backend" --heap 4K "$data/groupby.trace"
says 'no allocator runs the trace in a heap of 4 KiB'
run 0 tune --backend "$backend" --runs 1 "$recorded"
prints '^heap +16 MiB$'
prints_not '^ +-  [^u]' # 64 chunks of 256 KiB are too few for ualloc, if lanes share blocks

# Whoever has had a second gets no more runs; here a millisecond.
export QUARRY_TUNE_BUDGET_MS=1
run 0 tune --backend "$backend" --runs 1000 "$data/groupby.trace"
same "$(awk '$1 ~ /^[0-9]+$/ && $6 >= 1000' "$out")" '' 'candidates with all runs'
unset QUARRY_TUNE_BUDGET_MS

# A bar on a terminal.
if command -v python3 >/dev/null 2>&1; then
    export QUARRY_PROGRESS_US=1
    on_terminal 80 "$quarry" tune --backend cpu --runs 1 "$data/groupby.trace"
    tr '\r' '\n' <"$out" | grep -Eq '^tuning \[#+\.*\] +[0-9]+%, [0-9]+:[0-9]{2} left' || fail 'no bar of tune'
    on_terminal 80 "$quarry" replay --backend cpu --runs 5 "$data/groupby.trace"
    unset QUARRY_PROGRESS_US
    tr '\r' '\n' <"$out" | grep -Eq '^replaying \[#+\.*\] +[0-9]+%, [0-9]+:[0-9]{2} left' || fail 'no bar of replay'
    checks=$((checks + 2))
fi

# Interrupted: what is done is ranked.
for signal in INT TERM; do
    env --default-signal=INT "$quarry" tune --backend cpu --runs 1000 "$data/groupby.trace" >"$out" 2>"$err" &
    # Until it has a handler: it, and not the shell that becomes it, which has some.  From then on it runs for a second for
    # each of more than 50 candidates.
    while kill -0 $! 2>/dev/null; do
        caught=$(sed -n 's/^SigCgt:[[:space:]]*/0x/p' /proc/$!/status 2>/dev/null)
        [ /proc/$!/exe -ef "$quarry" ] && ((${caught:-0} >> ($(kill -l $signal) - 1) & 1)) && break
        sleep 0.1
    done
    sleep 2
    kill -$signal $!
    wait $!
    same $? $((128 + $(kill -l $signal))) "exit code after SIG$signal"
    same "$(wc -l <"$err")" 1 'lines about an interrupted run'
    read -r missing all < <(sed -nE 's/^quarry: interrupted: ([0-9]+) of ([0-9]+) candidates are missing$/\1 \2/p' "$err")
    same "$(grep -cE '^ *([0-9]+|-)  [a-z]' "$out")" $((${all:-0} - ${missing:--1})) 'candidates of an interrupted run'
    [ "${missing:-}" = "${all:-}" ] || prints '^quarry replay '
done

# ---- --trace ----

others=$(grep -vx scatter <<<"$allocators")
# shellcheck disable=SC2086 # words
for allocator in $(few $others cuda scatter); do
    run 0 groupby --backend "$backend" --allocator "$allocator" --heap 2M --synthetic 2000 --count --stats --trace "$made"
    pages=$(sed -n 's/^pages allocated *//p' "$err")
    run 0 replay --backend "$backend" --runs 1 "$made"
    prints "^trace .*allocator $allocator on $backend"
    prints "^events .*: $pages mallocs, $pages frees; 0 mallocs failed"
done
run 0 groupby --backend "$backend" --heap 4M --prefill 20 --header --column section --top 1 --stats \
    --trace "$made" "$data/debian-sections.tsv.gz"
pages=$(sed -n 's/^pages allocated *//p' "$err")
run 0 replay --backend "$backend" --runs 1 --check "$made"
prints "^events .*: $pages mallocs, $pages frees"
run 0 join --backend "$backend" --heap 4M --synthetic 4K --count --stats --runs 2 --trace "$made"
pages=$(sed -nE 's/^pages allocated *([0-9]+),.*/\1/p' "$err")
run 0 replay --backend "$backend" --runs 1 --check "$made"
prints "^events .*: $((2 * pages)) mallocs, $((2 * pages)) frees"
prints ' of 4 launches$'

# Lost events are told, and replay wants to be told.
export QUARRY_TRACE_ROOM=50
run 0 join --backend "$backend" --heap 4M --synthetic 4K --count --trace "$made"
unset QUARRY_TRACE_ROOM
checks=$((checks + 1))
grep -qE '^quarry: .*made\.trace: [1-9][0-9]* events were lost' "$err" || fail 'nothing said about lost events'
run 1 replay "$made"
says 'made\.trace: [1-9][0-9]* events were lost and [0-9]+ do not match, .*--lossy'
run 0 replay --backend "$backend" --runs 1 --lossy "$made"
prints '^incomplete +[1-9][0-9]* events lost, '

# What fails leaves no file.
rm "$made"
run 1 groupby --backend "$backend" --heap 64K --synthetic 20000 --trace "$made"
run 1 join --backend "$backend" --heap 4M --synthetic 4K --count --trace "$scratch/no/such/folder"
says "no/such/folder: can't write"
run 2 join --method two-pass --synthetic 4K --count --trace "$made"
says '--trace are about the pages of --method paged'
: >"$scratch/empty"
run 0 groupby --backend "$backend" --trace "$made" "$scratch/empty"
same "$(find "$scratch" -name 'made.trace*' | wc -l)" 0 'files of traces'

[ -n "$with_broken" ] || echo 'left out: the allocators that break a promise'
finish
