#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command's frame: --help, --version, list, info and their usage errors.  All on the CPU backend.
#
#   tool.sh QUARRY     the binary
set -u

quarry=$1
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"

# json NAME=TEXT... <<FACTS: Python says that each line is true of the members of the JSON that the last command printed.
json() {
    local untrue
    # shellcheck disable=SC2016 # Python
    untrue=$(python3 -c 'import json, re, sys
path, *texts = sys.argv[1:]
names = {"re": re, **json.load(open(path)), **dict(text.split("=", 1) for text in texts)}
facts = sys.stdin.read().splitlines()
print(*[fact for fact in facts if not eval(fact, dict(names))] if facts else ["nothing"], sep="\n", end="")' "$out" "$@" 2>&1)
    same "$untrue" '' 'untrue of the JSON'
}

# ---- help, version, no such command ----

run 0 --help
prints '^Usage: quarry '
cp "$out" "$scratch/commands"
for command in groupby join bench report model replay tune info list help; do
    prints "^  $command +[a-z]"
done
for way in -h help; do
    run 0 $way
    same "$(<"$out")" "$(<"$scratch/commands")" "$way"
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
run 2 help frobnicate
says "'frobnicate'"
run 2 help list info
says "'list' and 'info'"

# Help of a command, and what letters mean: each the same option in all commands, which has that letter in all.
sed -n '/^Commands:$/,/^$/s/^  \([a-z]*\) .*/\1/p' "$scratch/commands" >"$scratch/names"
while read -r command; do
    run 0 "$command" --help
    prints "^Usage: quarry $command"
    prints '^  -h, --help '
    sed -nE 's/^ +(-(.), )?--([a-z-]+).*/\2 \3/p' "$out" >>"$scratch/letters"
    cp "$out" "$scratch/help"
    for way in "$command -h" "$command -?" "help $command" "--help $command" "$command nonesuch --hel"; do
        # shellcheck disable=SC2086 # several words
        run 0 $way
        same "$(<"$out")" "$(<"$scratch/help")" "$way"
    done
done <"$scratch/names"
sort -u "$scratch/letters" >"$scratch/options"
same "$(sed -n 's/^\(.\) .*/-\1/p' "$scratch/options" | uniq -d)" '' 'letters of two options'
same "$(sed 's/.* /--/' "$scratch/options" | sort | uniq -d)" '' 'options of two letters, or of one that not all have'
checks=$((checks + 1))
[ "$(wc -l <"$scratch/options")" -gt 40 ] || fail 'options are missing'
run 0 join --usage
prints '^ +\[-m SIZE\]'

# ---- list ----

run 0 list
prints '^allocators$'
prints '^  rw '
prints '^  corw '
same "$(sed -n '/^allocators$/,/^backends$/p' "$out" | grep -vc '^  [a-z]')" 2 'lines that are no allocator'
prints '^backends$'
prints '^  cuda +(built in|not built in)'
prints '^  cpu +built in$'
prints '^devices$'
prints '^  cpu:0 .*[0-9] cores.* [0-9.]+ [KMGT]iB memory'
same "$(wc -c <"$err")" 0 'bytes on standard error'
# The JSON tells what the text does.
cp "$out" "$scratch/text"
run 0 list --json
json text="$(<"$scratch/text")" told="$("$quarry" --version)" \
    names="$(sed -nE '/^allocators$/,/^backends$/s/^  ([a-z-]+) .*/\1/p' "$scratch/text")" <<'END'
version in told
names.split() == [a["name"] for a in allocators]
all(a["summary"] in text for a in allocators)
all(o["least"] <= o["most"] and o["help"] for a in allocators for o in a["options"])
[b["name"] for b in backends] == ["cuda", "cpu"] and not backends[1]["problem"]
backends[0]["built_in"] == ("cuda" in told)
all("%s, %d " % (v["name"], v["multiprocessors"]) in text for v in devices)
sum(":" in line.split()[0] for line in text.splitlines()) == len(devices) > 0
END
run 0 list --long
prints '^  corw '
prints '^ +blocks are pages; aligned to 16 bytes, by option to 1 MiB$'
prints '^ +blocks smaller and larger than a page; aligned '
prints '^ +NULL proves that the heap is full, or infers it; freed space serves any size$'
prints '^ +at most [0-9]+ registers in a kernel that mallocs, on a GPU$'
prints '^ +blocks outside the heap.s pool, not counted$'
prints '^ +--set probe_lanes=16: lanes of a warp '
run 2 list --json --long
says '--json writes all there is: leave out --long$'
run 2 list rw
says 'no arguments'
run 2 list --frobnicate
says "'--frobnicate': no such option, .*; .quarry list --help. shows all$"
run 2 info --probe-lanes 4
says "'--probe-lanes': no such option, .* shows all; options of allocators are pairs of --set$"

# ---- info ----

run 0 info --backend cpu
same "$(sed '/^$/,$d; s/  .*//' "$out" | tr '\n' ' ')" \
    'reserve pool alignment creation distribution out of memory debug mode statistics ' 'policies of a heap'
prints '^reserve pool   67108864 bytes of host memory$'
prints '^ +offset +bytes +share  section$'
prints '^ +0 +256 +0.00 %  head$'
prints '^ +[0-9]+ +[0-9]+ +9[0-9.]+ %  pages$'
prints '^alignment      natural: .* 16 bytes$'
prints '^creation       quarry, .* pages of 32768 bytes, blocks of up to [0-9]+$'
prints_not '^options'
prints '^distribution   none: '
prints '^out of memory  null: .*nothing was free$'
prints '^debug mode     off$'
prints '^statistics     off$'
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
prints '^options        probes=[0-9]+$'
run 0 info --backend cpu --allocator cuda --heap 1M
prints "^reserve pool   1048576 bytes of the C library's heap$"
prints '^creation       cuda, .*: blocks of up to [0-9]*$'
run 2 info --backend cpu --allocator cuda --page 64
says '--page: allocator cuda has no pages'
run 0 info --backend cpu --allocator cuda --page 64 --distribute warp
run 2 info --page 8
says "--page '8': give a multiple of 16 from 16 to 1M"
run 0 info --backend cpu --allocator ring
prints_not '^options'

# The JSON tells what the text does.
for options in '' '--allocator corw --heap 1M --page 1K --align 64 --distribute warp --oom wait --set word_bits=64' \
    '--allocator scatter --oom trap --pool malloc' '--debug --pool pinned' '--allocator cuda --heap 1M'; do
    # shellcheck disable=SC2086 # several words
    run 0 info --backend cpu $options
    cp "$out" "$scratch/text"
    # shellcheck disable=SC2086
    run 0 info --backend cpu $options --json
    json text="$(<"$scratch/text")" words="$options" <<'END'
f"reserve pool   {pool_bytes} bytes of " in text
pool in words or pool == "device"
f"creation       {allocator}, " in text and backend == "cpu" and device == 0
f"{pages} pages of {page_bytes} bytes" in text or not sections
f"blocks of up to {max_block_bytes}\n" in text or "blocks of up" not in text
f" multiples of {alignment} bytes\n" in text
f"distribution   {distribution}: " in text
f"out of memory  {oom}: " in text
f"tries {oom_tries} times" in text or oom_tries == 0
"debug mode     " + ("off", "on")[debug] in text
"statistics     " + ("off", "on")[statistics] in text
full == "proven" and low_free == 0
"".join(f" {n}={v}" for n, v in options.items()) == "".join(re.findall("options       (.*)", text))
[[str(s["offset"]), str(s["bytes"]), s["name"]] for s in sections] == [[*w[:2], w[4]] for w in map(str.split, text.splitlines()) if len(w) == 5 and w[3] == "%"]
END
done

QUARRY_STATS=1 run 0 info --backend cpu --json
json <<<'statistics is True and debug is False'

# ---- options of allocators ----

run 0 info --backend cpu --allocator scatter
prints '^options        probes=16 access_blocks=8 region_pages=16 waste_factor=2 hash_size=38183 hash_sm=17497 hash_warp=1 hash_pages=1 keep_pages=0 serial=0'
run 0 info --backend cpu --allocator scatter --heap 1M --set access_blocks=1,region_pages=1,waste_factor=3
prints ' access_blocks=1 region_pages=1 waste_factor=3 hash_size=38183 '
run 0 info --backend cpu --allocator corw --set word_bits=64,probe_lanes=4
prints '^options        probes=[0-9]+ word_bits=64 probe_lanes=4'
run 2 info --backend cpu --set waste_factor=3
says 'allocator quarry has no option "waste_factor": it has none$'
run 2 info --backend cpu --allocator rw-malloc --set waste_factor=3
says 'allocator rw-malloc has no option "waste_factor": it has probes'
run 2 info --backend cpu --allocator cuda --set probes=3
says 'allocator cuda has no option "probes": it has none$'
run 2 info --backend cpu --allocator scatter --set waste_factor=4097
says 'option waste_factor is 4097: it must be 1 to 4096 '
run 2 info --backend cpu --allocator corw --set word_bits=48
says 'option word_bits is 48: it must be 32 or 64'
traces=$(dirname "$0")/../data
for command in 'bench --test alloc' 'groupby --synthetic 9' 'join --synthetic 9' "replay $traces/groupby.trace" \
    "tune $traces/groupby.trace"; do
    # shellcheck disable=SC2086 # words
    run 2 $command --backend cpu --set word_bits=48
    says 'option word_bits is 48: it must be 32 or 64'
done
for wrong in '' x probes probes= =1 probes=x probes=1. probes=-1 'probes=1,' ',probes=1' 'probes=99999999999999999999' 'probes 1'; do
    run 2 info --set "$wrong"
    says "--set '$wrong': give NAME=VALUE"
done
run 2 info --set probes=1,probes=2
says "--set 'probes=1,probes=2': probes is there twice"
run 2 info --backend cpu --align 128 --page 64
says 'page_bytes is 64, which is no multiple of the alignment of 128'
run 2 info --backend cpu --distribute warp --debug
says 'debug was given'
for wrong in '--align 24' '--align 2M' '--align x' '--distribute block' '--oom hook' '--pool buffer'; do
    # shellcheck disable=SC2086 # two words
    run 2 info $wrong
    says "${wrong% *} '${wrong#* }': give "
done
# Described, not made: no machine has so much.
run 0 info --backend cpu --heap 100T --debug
prints '^reserve pool   109951162777600 bytes of host memory$'
prints '^debug mode     on'
prints '^ +[0-9]+ +[0-9]+ +[0-9.]+ %  pages$'
run 0 info --backend cpu --heap 9223372036854775807 --json
prints '"pool_bytes": 9223372036854775807,$'
run 2 info --heap 9223372036854775808 # a number that JSON does not have
says "--heap '9223372036854775808': give a size"
run 2 info corw
says 'no arguments'
run 1 info --backend cpu --heap 1
says 'too small'

finish
