#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scripts/figures.py on the CPU backend: the CSV files of all figures, figures of the theory against values worked out
# by hand, simulations against what must hold, the drawings where matplotlib is installed, and what it refuses.
#
#   figures.sh QUARRY     the binary
set -u

quarry=$1
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
script=$(realpath "$(dirname "$0")/../../scripts/figures.py")
csv=$scratch/figures

if ! command -v python3 >/dev/null 2>&1; then
    echo 'skipped: no python3 here'
    exit 77
fi

# figures CODE ARGUMENT...: runs the script and checks its exit code.
figures() {
    quarry=$script run "$@"
}

# path N ENDING: the file of a figure.
path() {
    case $1 in *-*) echo "$csv/figure-$1.$2" ;; *) echo "$csv/figure$1.$2" ;; esac
}

# head_of N COLUMN,...: the header of a figure's CSV file begins so.
head_of() {
    checks=$((checks + 1))
    [[ "$(head -n 1 "$(path "$1" csv)")," == "$2,"* ]] || fail "figure $1: the header is not $2..."
}

# look N STATEMENTS WHAT: `good` is true in the end, when awk has run STATEMENTS for each row, whose columns are
# r["name"]; those in quotes are empty, for there are commas in them.
look() {
    checks=$((checks + 1))
    sed 's/"[^"]*"//g' "$(path "$1" csv)" | awk -F, "
        NR == 1 { for (i = 1; i <= NF; i++) name[i] = \$i; next }
        { for (i = 1; i <= NF; i++) r[name[i]] = \$i; $2 }
        END { exit !good }" || fail "figure $1: $3"
}

figures 0 "$quarry" "$csv" --quick --backend cpu
bench=device,backend,allocator,op,threads,bytes,page,free_percent
head_of 1 "$bench"
head_of 4 allocator,total,free_percent,threads,word_bits,tas_predicted,was_predicted
head_of 5 allocator,total,free_percent,threads,word_bits,tas_predicted,was_predicted,ratio
head_of 6 free_percent,pages,simulated,normal
head_of 8 allocator,total,free_percent,threads,word_bits,tas_predicted,was_predicted
head_of 9 allocator,free_percent,threads,was
for number in 11 12 16; do
    head_of "$number" "$bench"
done
head_of 14 "scenario,$bench"
head_of 15 "sizes,pages,$bench"
head_of 17 allocator,free_percent,rows,ms,paged_ms,pages,prefilled
cycles=device,backend,contestant,bytes,threads,runs
head_of 5.1 $cycles,malloc_cycles,slots_before,slots_after
head_of 5.2 $cycles,free_cycles,slots_before,slots_after
head_of B.1 $cycles,malloc_cycles,free_cycles,slots_before,slots_after
head_of 5.6 allocator,species,percent
head_of gelado-5 device,backend,measure,variant,threads
head_of gelado-6 device,backend,threads,writers,ratio,classical_us,delegating_us,speedup
head_of gelado-7 "$bench"
head_of ouro-sizes "sizes,$bench"
head_of ouro-threads "sizes,$bench"
for number in ouro-first ouro-range ouro-growth ouro-fill; do
    head_of "$number" "$bench"
done
drawn=(1 4 5 6 8 9 11 12 14 15 16 17 5.1 5.2 5.6 B.1 gelado-5 gelado-6 gelado-7
    ouro-sizes ouro-threads ouro-first ouro-range ouro-growth ouro-fill)
if [ -x "$(dirname "$quarry")/tests/particles/particles" ]; then
    head_of 5.3 allocator,backend,step
    head_of 5.4 allocator,backend,step
    head_of 5.5 allocator,percent,steps,median,mean
    drawn+=(5.3 5.4 5.5)
fi
for number in "${drawn[@]}"; do
    prints "^figure $number: [1-9][0-9]* rows$"
done

# (1) is 500.5 at N = 1000; (3) is 1000 (H_5000 - H_4000) = 223.12 there at 0.5 % free; (11) 10^6 / (32 * 5000) = 6.25.
# (14): 1 + 4999 / 9999 * 223.12 = 112.55.
# shellcheck disable=SC2016 # for awk
{
    look 4 'good += r["allocator"] == "queue" && r["threads"] == 1000 && r["tas_predicted"] == 500.5 && r["free_percent"] == ""' \
        'no queue of 1000'
    look 4 'good += r["free_percent"] == 0.5 && r["threads"] == 1000 && r["tas_predicted"] > 223.1 && r["tas_predicted"] < 223.2' \
        'TAS at 0.5 % free'
    look 5 'good += r["allocator"] == "corw" && r["free_percent"] == 1 && r["was_predicted"] == 6.25 && r["ratio"] == 1' \
        'rounds of corw at 1 % free'
    look 8 'good += r["allocator"] == "crw M = A" && r["free_percent"] == 0.5 && r["threads"] == 1000 &&
        r["tas_predicted"] > 112.5 && r["tas_predicted"] < 112.6' 'TAS of crw at 0.5 % free'
    # 500 steps of 1024 pages: the standard error of the mean is 0.14 % at half of the pages.
    look 6 'if (r["free_percent"] == 50) { sum += r["simulated"]; mean += r["pages"] * r["simulated"]; normal += r["normal"] }
        good = sum > 0.999 && sum < 1.001 && mean > 508 && mean < 516 && normal > 0.95 && normal < 1' 'distribution of pages'
    # Of 8 warps; the next page is free for 99 of 100 threads, or else for a few.
    look 9 'was[r["allocator"], r["free_percent"]] = r["was"]; good = was["crw M = A/100", 50] < was["crw M = A/2", 50] &&
        was["crw M = A/2", 50] < was["crw M = A", 50] && was["rw", 50] > 4 && was["rw", 50] < 9' 'WAS of crw'
    # Every measured row of rw is within a third of the theory, where a walk ends before its 1024 probes.
    look 11 'if (r["allocator"] == "rw" && r["free_percent"] >= 10) {
            rows++; near += r["tas"] / r["tas_predicted"] > 0.67 && r["tas"] / r["tas_predicted"] < 1.5 }
        good = rows == near && rows >= 4' 'TAS beside the theory'
    look 11 'good += r["threads"] == 256 && r["queue_tas_predicted"] == 128.5' 'the queue beside it'
    look 14 'seen[r["scenario"], r["free_percent"], r["op"]] += r["verified"] && r["page"] == 256
        good = seen["16 bytes", 100, "malloc"] == 2 && seen["4 to 8192 bytes", 50, "malloc"] == 2 &&
            seen["4096 bytes freed at once", 10, "malloc+free"] == 2' 'scenarios'
    # A block of 1050 bytes takes five pages of 256, and one of 16 bytes a page.
    look 15 'used[r["allocator"], r["pages"], r["bytes_least"], r["bytes"]] = r["utilisation"]
        at = used["rw-malloc", 256, 1050, 1050]; good = at > 0.8 && at < 0.8204 && used["rw-malloc", 256, 16, 16] < 0.0626 &&
            used["rw-malloc", 16, 16, 16] > 0.95 && used["corw", "as the block", 8192, 8192] > 0.9' 'utilisation'
    for number in 5.1 5.2; do
        look $number 'seen[r["contestant"]]++; wrong += r["runs"] != 2 || r["slots_before"] != r["slots_after"]
            good = !wrong && seen["bare"] == 8 && seen["direct"] == 8 && seen["composed"] == 8 && seen["cuda"] == 8' 'contestants'
    done
    look B.1 'seen[r["contestant"], r["bytes"]]++; good = seen["bare", 16] == 2 && seen["direct", 128] == 2' 'contestants'
    if [[ ${drawn[*]} == *5.4* ]]; then
        look 5.3 'seen[r["allocator"]]++; good = seen["ring"] == 3 && seen["cuda"] == 3' 'steps with the toolkit'
        look 5.4 'seen[r["allocator"]]++; good = seen["ring"] == 3 && seen["scatter"] == 3 && r["microseconds"] > 0' 'steps'
        look 5.5 'seen[r["allocator"]] += r["steps"]; good = seen["scatter"] == 3 && seen["corw"] == 3 && !seen["ring"]' 'steps'
    fi
    look 5.6 'good += r["species"] == 4 && r["percent"] == 25' 'a quarter for each of four'
    look gelado-5 'rows++; wrong += r["rate"] * r["median_us"] / r["threads"] > 1.001 || r["rate"] <= 0
        good = !wrong && rows == 14' 'rates'
    look gelado-6 'seen[r["ratio"]]++; wrong += r["threads"] != r["writers"] * r["ratio"] || r["speedup"] <= 0
        good = !wrong && seen[1] == 2 && seen[16] == 2' 'speedups'
    look gelado-7 'failed[r["bytes"]] = r["failed_percent"]; rows++
        good = rows == 16 && failed[512] == 15.23 && failed[1024] == 27.34 && failed[2048] == 50 && failed[4096] == 0' 'failures'
    look ouro-sizes 'if (r["op"] == "malloc") seen[r["allocator"], r["sizes"], r["threads"]]++
        good = seen["ouro-c-vl", "mixed", 256] == 1 && seen["cuda", "one size", 32] == 1 && seen["scatter", "one size", 256] == 1' 'allocators'
    look ouro-threads 'seen[r["bytes"]]++; good = seen[32] == 32 && seen[8192] == 28' 'sizes'
    look ouro-first 'seen[r["op"]]++; good = seen["first"] == 12 && seen["warm"] == 12' 'fresh and warm heaps'
    look ouro-range 'rows++; wrong += r["range_bytes"] < 4096 || r["rounds"] != 0; good = rows == 7 && !wrong' 'ranges'
    # Half of 256 blocks of 16 bytes stay in each round; a mebibyte has 65,536.
    look ouro-growth 'if (r["allocator"] == "ouro-c-s") { rows++; wrong += r["rounds"] <= last; last = r["rounds"]; kept = r["blocks"] }
        good = rows > 5 && !wrong && last > 400 && last < 560 && kept > 58000 && kept < 65536' 'rounds of growth'
    look ouro-fill 'wrong += r["utilisation"] < 0.7; good = ++rows == 7 && !wrong' 'utilisation'
    look 12 'seen[r["lanes"]]++; good = seen[1] == 12 && seen[32] == 12' 'lanes'
    look 16 'rows++; good += r["op"] == "free" && r["cycles"] > 0; if (good < rows) exit' 'cycles of a free'
    look 17 'seen[r["allocator"], r["free_percent"]] += r["paged_ms"] > 0 && r["ms"] >= r["paged_ms"] - 0.01
        if (r["pages"]) { taken = 100 * r["prefilled"] / r["pages"]; wrong += taken + r["free_percent"] < 99 || taken + r["free_percent"] > 101 }
        good = !wrong && seen["two-pass", ""] == 2 && seen["rw", 5] == 2 && seen["corw", 50] == 2' 'times of joins'
}

if python3 -c 'import matplotlib' 2>/dev/null; then
    for number in "${drawn[@]}"; do
        same "$(python3 -c 'import sys, xml.etree.ElementTree as x; print(x.parse(sys.argv[1]).getroot().tag[-3:])' \
            "$(path "$number" svg)" 2>&1)" svg "figure $number drawn"
    done
    grep -q 'crw M = A/100' "$csv/figure8.svg" || fail 'figure 8 has no legend'
    ! grep -Eq '<text[^>]* x="-|translate\(-' "$csv/figure15.svg" || fail 'figure 15 is narrower than its legend'
    cp "$csv/figure4.svg" "$scratch/"
    figures 0 "$csv" --figure 4
    cmp -s "$csv/figure4.svg" "$scratch/figure4.svg" || fail 'figure 4 drawn again is another'
else
    figures 1 "$csv"
    grep -q 'matplotlib is not installed' "$err" || fail 'nothing said about matplotlib'
fi

# From rows of a survey, with a command that measures nothing: those of the H200, of which one hung; then the CPU's, as they are today.
survey=$(dirname "$script")/../docs/reproduction/survey-h200.csv.gz
# shellcheck disable=SC2016 # for sh
printf '#!/bin/sh\n[ "$1" = model ] && exec "%s" "$@"\nexit 2\n' "$quarry" >"$scratch/theory"
chmod +x "$scratch/theory"
zcat "$survey" | sed '/,rw,malloc,1024,256,/s/,ok,/,hung,/' >"$scratch/survey.csv"
(head -1 "$scratch/survey.csv" && tail -n +2 "$scratch/survey.csv" | tac) | gzip >"$scratch/survey.csv.gz" # other draws first
measured=$csv
csv=$scratch/survey
figures 0 "$scratch/theory" "$csv" --survey "$scratch/survey.csv.gz" --figure 1,11,12,14,15,16,17
same "$(basename -a "$csv"/*.csv | xargs)" 'figure1.csv figure11.csv figure14.csv figure15.csv figure16.csv' 'figures of a survey'
for text in 'figure 11 has no rows of bench --test alloc --size 256 --lanes 32 with --free 50,1,0.5' 'no figure 12: no rows' \
    'figure 12 has no rows of .* --free 5,1,0.8,0.5 ' 'no figure 17: a survey' 'figure 14 has no rows of bench --test at-once .*--size 4096'; do
    checks=$((checks + 1))
    grep -q "^figures.py: $text" "$err" || fail "nothing said like '$text'"
done
# shellcheck disable=SC2016 # for awk
{
    look 1 'rows++; wrong += r["bytes"] != 256 || r["allocator"] != "rw" || r["threads"] == 1024; good = !wrong && rows == 20' 'rows'
    look 11 'rows++; near += r["free_percent"] == 10 && r["test"] == "used" && (r["tas_predicted"] > 0) == (r["allocator"] ~ "^(rw|rw-bm|corw)$")
        good = near == rows && rows == 4' 'rows'
    look 14 'seen[r["scenario"], r["free_percent"]]++; wrong += r["page"] != 64 || r["draw"] == "octaves"
        good = !wrong && seen["16 bytes", 100] == 3 && seen["256 bytes", 100] == 21 && seen["256 bytes", 10] == 1 && seen["4 to 8192 bytes", 100] == 1' \
        'scenarios'
    look 15 'used[r["allocator"], r["pages"], r["bytes"]] = r["utilisation"]; u = used["rw-malloc", 64, 1050]; good = u > 0.961 && u < 0.962
        u = used["scatter", 4096, 4096]; good = good && u > 0.998 && u < 0.999; u = used["corw", "as the block", 16]; good = good && u > 0.991 && u < 0.992' 'utilisation'
    look 16 'rows++; right += r["op"] == "free" && r["free_percent"] == 10; good = right == rows && rows == 4' 'frees'
}
# The figures in the documentation are those of the CSV beside them.
csv=$scratch/shipped
figures 0 "$scratch/theory" "$csv" --survey "${survey%/*}/figures-h200.csv.gz" --figure 1,11,12,14,15,16
for number in 1 11 12 14 15 16; do
    same "$(cmp "$csv/figure$number.csv" "${survey%/*}/figure$number.csv" 2>&1)" '' "figure $number of the documentation"
done
! grep -q 'has no rows' "$err" || fail 'the documentation lacks rows'
csv=$scratch/survey
run 0 bench --backend cpu --allocator rw --test alloc --size 256 --threads 32,64 --runs 1 --heap 1M --csv="$scratch/survey.csv"
figures 0 "$scratch/theory" "$csv" --survey "$scratch/survey.csv" --figure 1
# shellcheck disable=SC2016 # for awk
look 1 'threads = threads " " r["threads"]; good = r["backend"] == "cpu" && threads == " 32 64"' 'rows of the CPU'
csv=$measured
figures 1 "$quarry" "$scratch/bad" --survey "$scratch/nonesuch.csv"
grep -q '^figures.py: .*nonesuch.csv: no CSV file of quarry bench: ' "$err" || fail 'a survey that is not there'
figures 1 "$quarry" "$scratch/bad" --survey "$csv/figure6.csv"
grep -q "^figures.py: .*figure6.csv: no CSV file of quarry bench: there is no column 'backend'" "$err" || fail 'a CSV file of something else'
for column in 9 17; do # median_us, heap_bytes
    awk -F, -v OFS=, -v column=$column 'NR > 1 { $column = "x" } 1' "$scratch/survey.csv" >"$scratch/bad.csv"
    figures 1 "$quarry" "$scratch/bad" --survey "$scratch/bad.csv"
    grep -q "^figures.py: .*bad.csv: no CSV file of quarry bench: .*'x'" "$err" || fail "a survey whose column $column is no number"
done
figures 2 "$scratch/survey" --survey "$scratch/survey.csv"
grep -q -- '--survey takes the theory from QUARRY' "$err" || fail 'a survey without the command'

# From rows of quarry-blocks.
csv=$scratch/blocks
mkdir -p "$csv"
"$(dirname "$quarry")/quarry-blocks" --backend cpu --measures figure5,figure6 --threads 32,64 --ratios 4 --runs 1 >"$scratch/blocks.csv"
figures 0 "$csv" --blocks "$scratch/blocks.csv"
same "$(basename -a "$csv"/*.csv | xargs)" 'figure-gelado-5.csv figure-gelado-6.csv' 'figures of quarry-blocks'
# shellcheck disable=SC2016 # for awk
look gelado-6 'rows++; good = rows == 2 && r["writers"] == 16' 'rows'
figures 1 "$csv" --blocks "$measured/figure6.csv"
grep -q "^figures.py: .*figure6.csv: no CSV file of quarry-blocks: there is no column 'backend'" "$err" || fail 'a CSV file of something else'
figures 2 "$quarry" "$csv" --blocks "$scratch/blocks.csv"
csv=$measured

# One figure alone; one that fails, which leaves no file.
figures 0 "$quarry" "$scratch/one" --quick --backend cpu --figure 5
same "$(basename -a "$scratch"/one/*.csv)" figure5.csv 'files of one figure'
figures 1 "$scratch/none" "$scratch/bad" --figure 4
grep -q 'figure 4 failed: ' "$err" || fail 'a command that is not there'
same "$(ls "$scratch/bad")" '' 'files of a figure that failed'
figures 2 "$quarry" "$csv" --figure 4,2
grep -q "'4,2': give some of 1, 4, " "$err" || fail 'figure 2'
figures 2
finish
