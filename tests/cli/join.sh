#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `quarry join` promises, on small files.
#
#   join.sh QUARRY [QUARRY_WITH_NULL]
#     QUARRY            the binary
#     QUARRY_WITH_NULL  one that also has the allocator of tests/alloc/null.h; without it those checks are
#                       left out, and the last line says so
#
# QUARRY_TEST_BACKEND picks the backend (cpu).
#
# Strategy: the expected lines of good input are written out or come from coreutils' join; every good input is
# joined by both methods.  Each refusal must be one sentence that names what is wrong, with the right exit code
# and without output.
set -u
export LC_ALL=C

quarry=$1
backend=${QUARRY_TEST_BACKEND:-cpu}
with_null=
[ "$backend" != cpu ] || with_null=${2:-}
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
left=$scratch/left
right=$scratch/right
reference=$scratch/reference

# run CODE ARGUMENT...
run() {
    run_on_heap join "$@"
}

# joins TEXT ARGUMENT...: by both methods, $left and $right give these lines (as printf takes them), in this
# order and without a message.
joins() {
    local text=$1 method
    shift
    for method in paged two-pass; do
        run 0 --method $method "$@" "$left" "$right"
        checks=$((checks + 1))
        # shellcheck disable=SC2059
        if ! printf "$text" | cmp -s - "$out" || [ -s "$err" ]; then
            fail "$method: not the lines $text"
        fi
    done
}

# expect COLUMN COLUMN: writes what coreutils' join makes of those columns of $left and $right, sorted.  No key or
# line has the byte 1.
expect() {
    join -t $'\1' -o 1.2,2.2 <(paste -d $'\1' <(cut -f "$1" "$left") "$left" | sort -t $'\1' -k 1,1) \
        <(paste -d $'\1' <(cut -f "$2" "$right") "$right" | sort -t $'\1' -k 1,1) | tr '\1' '\t' | sort >"$reference"
}

# agrees COLUMN COLUMN ARGUMENT...: both methods give the lines of $reference, in the order of the row numbers that
# are the last columns of $left and $right.  Two-pass does without the arguments about the heap.
agrees() {
    local method on=$1=$2
    shift 2
    for method in paged two-pass; do
        # shellcheck disable=SC2046
        [ $method = paged ] || set -- $(sed -E 's/--(heap|page|allocator) [^ ]+//g' <<<"$*")
        run 0 --method $method --on "$on" "$@" "$left" "$right"
        checks=$((checks + 1))
        if ! sort "$out" | cmp -s "$reference" - || [ -s "$err" ]; then
            fail "$method $*: other lines than join's $(wc -l <"$reference")"
        fi
        sort -c -t "$(printf '\t')" -k 2,2n -k 4,4n "$out" || fail "$method $*: not in the order of the rows"
    done
}

# numbered: adds the line number as a last column.
numbered() {
    awk '{ print $0 "\t" NR }'
}

# ---- lines and keys ----

printf 'a\t1\nb\t2\nb\t3\nc\t4\n' >"$left"
printf 'x\tb\ny\tb\nz\ta\nw\tq\n' >"$right"
joins 'a\t1\tz\ta\nb\t2\tx\tb\nb\t2\ty\tb\nb\t3\tx\tb\nb\t3\ty\tb\n' --on 1=2
joins '' --on 2=1
joins '5\n' --on 1=2 --count
joins '0\n' --count
printf 'b\nc\n' >"$right"
joins 'b\t2\tb\nb\t3\tb\nc\t4\tc\n'
run 0 - "$right" <"$left"
same "$(wc -l <"$out")" 3 'lines with the left file from standard input'
run 0 "$left" - <"$right"
same "$(wc -l <"$out")" 3 'lines with the right file from standard input'
run 0 "$left" "$left"
same "$(tr '\n\t' ';:' <"$out")" 'a:1:a:1;b:2:b:2;b:2:b:3;b:3:b:2;b:3:b:3;c:4:c:4;' 'a file with itself'

printf 'a\t1\r\n\r\nb\r\n\n' >"$left"
printf 'a\n\n\r\nb\tx\r' >"$right"
joins 'a\t1\ta\n\t\n\t\nb\tb\tx\r\n\t\n\t\n'
printf 'a\0b\tx\nab\ty\n\377\tz\n' >"$left"
printf '\377\nab\na\0b\n' >"$right"
joins 'a\0b\tx\ta\0b\nab\ty\tab\n\377\tz\t\377\n'
printf 'abcdefgh\nabcdefg\nabcdefghi\nabcdefgh\0\n' >"$left"
printf 'abcdefgh\0\nabcdefghi\nabcdefgh\n' >"$right"
joins 'abcdefgh\tabcdefgh\nabcdefghi\tabcdefghi\nabcdefgh\0\tabcdefgh\0\n'
{ head -c 3000000 /dev/zero | tr '\0' z; echo a; } >"$left"
{ head -c 3000000 /dev/zero | tr '\0' z; echo b; head -c 3000000 /dev/zero | tr '\0' z; echo a; } >"$right"
run 0 "$left" "$right"
same "$(sed 's/zzz*//g' "$out" | tr '\t' :)" 'a:a' 'long keys'

# ---- delimiters and headers ----

printf 'a,b\tx\n' >"$left"
printf 'b\tx,c\n' >"$right"
joins 'a,b\tx\tb\tx,c\n' --delimiter , --on 2=1
printf 'k,v\r\na,1\r\nb,2\r\n' >"$left"
printf 'w,k\n9,b\n' >"$right"
joins 'b,2\t9,b\n' --delimiter , --header --on k=k
joins 'b,2\t9,b\n' --delimiter , --header --on 1=k
joins '' --delimiter , --header --on v=w
run 1 --delimiter , --header --on k=v "$left" "$right"
says "right:1: no column is named 'v'; the header is: w,k"
run 1 --delimiter , --header --on 3=1 "$left" "$right"
says 'left:1: no column 3: the header has 2; check --on and --delimiter'

# ---- integers ----

printf '007\t1\n+7\t2\n-1\t3\n0\t4\n9223372036854775807\t5\n-0\t6\n' >"$left"
printf '7\n0\n-01\n9223372036854775807\n-9223372036854775808\n' >"$right"
joins '007\t1\t7\n+7\t2\t7\n-1\t3\t-01\n0\t4\t0\n9223372036854775807\t5\t9223372036854775807\n-0\t6\t0\n' --integers
joins '0\t4\t0\n9223372036854775807\t5\t9223372036854775807\n'
printf '4294967295\n4294967296\n1\n' >"$left"
printf '1\n4294967296\n4294967297\n' >"$right"
joins '4294967296\t4294967296\n1\t1\n' --integers
for key in x '' 1.5 ' 1' + - 0x10 9223372036854775808 -9223372036854775809 99999999999999999999; do
    printf '1\n%s\n' "$key" >"$right"
    run 1 --integers "$left" "$right"
    says "right:2: '$([ "$key" = + ] && echo '\+' || echo "$key")' is no integer from"
done

# ---- sizes, duplicates, skew ----

printf 'a\n' >"$left"
for text in '' 'b\n'; do
    # shellcheck disable=SC2059
    printf "$text" >"$right"
    joins ''
    joins '0\n' --count
done
mv "$left" "$right"
: >"$left"
joins ''
joins '' --header
run 0 --stats "$left" "$right"
run 1 --header --on k=1 "$left" "$right"
says "left:1: the file is empty: no header names column 'k'"

# Every build tuple has its page's worth of matches, more or less: 30, 31 and 32 fill a page of 256 bytes.
for n in $(few 1 30 31 62 63 32); do
    yes k | head -n "$n" | numbered >"$left"
    yes k | head -n 3 | numbered >"$right"
    expect 1 1
    agrees 1 1
    agrees 1 1 --page 32
done
# One key that is more than a block's hash table holds, on either side and on both.
yes k | head -n 5000 | numbered >"$left"
printf 'j\nk\nk\nl\n' | numbered >"$right"
expect 1 1
agrees 1 1
yes k | head -n 10000 | numbered >"$right"
head -n 3 "$left" >"$scratch/few" && mv "$scratch/few" "$left"
expect 1 1
agrees 1 1
{ seq 1500; yes hot | head -n 2500; seq 1000 4000; } | numbered >"$left"
{ seq 500 3000; yes hot | head -n 40; seq 9000; } | numbered >"$right"
expect 1 1
agrees 1 1
agrees 1 1 --page 4K --heap 256M
agrees 1 1 --page 48
{ yes hot | head -n 2300; } | numbered >"$left"
{ yes hot | head -n 4500; } | numbered >"$right"
run 0 --count --heap 256M "$left" "$right"
same "$(cat "$out")" 10350000 'matches of one key with itself'
run 0 --count --method two-pass "$left" "$right"
same "$(cat "$out")" 10350000 'matches of one key with itself, two-pass'
seq 20000 | awk '{ print $1 * 7 % 5003 }' | numbered >"$left"
seq 30000 | awk '{ print $1 * 11 % 7001 }' | numbered >"$right"
expect 1 1
agrees 1 1
agrees 1 1 --integers
# The smaller table is the other one.
mv "$left" "$scratch/other" && mv "$right" "$left" && mv "$scratch/other" "$right"
expect 1 1
for allocator in $(few rw rw-bm crw corw); do
    agrees 1 1 --allocator "$allocator" --page 64
done
gzip -c "$right" >"$right.gz"
run 0 --count "$left" "$right.gz"
same "$(cat "$out")" "$(wc -l <"$reference")" 'lines with a compressed file'

# ---- hash collisions: a short hash makes different keys look alike ----

seq 700 | sed 's/.$//' | numbered >"$left"
seq 900 | sed 's/^.//' | numbered >"$right"
expect 1 1
for bits in $(few 1 9 17 5); do
    export QUARRY_JOIN_HASH_BITS=$bits
    agrees 1 1
done
export QUARRY_JOIN_HASH_BITS=3
for number in 1 4294967296; do
    seq 0 99 | awk -v n=$number '{ printf "%.0f\n", n * ($1 % 50) }' | numbered >"$left"
    seq 0 99 | awk -v n=$number '{ printf "%.0f\n", n * ($1 % 70) }' | numbered >"$right"
    expect 1 1
    agrees 1 1 --integers
done
unset QUARRY_JOIN_HASH_BITS
agrees 1 1 --integers

# ---- other interleavings (CPU only) ----

if [ "$backend" = cpu ]; then
    { seq 300; yes hot | head -n 100; } | numbered >"$left"
    { seq 200 400; yes hot | head -n 5; } | numbered >"$right"
    expect 1 1
    for seed in $(few 1 2 3 4); do
        for allocator in $(few rw corw); do
            QUARRY_JOIN_SEED=$seed agrees 1 1 --allocator "$allocator" --page 32 --heap 256K
        done
    done
fi

# ---- synthetic tables ----

# The key of every right row is that of one left row, so that each right row is in one line.
synthetic() {
    run 0 --synthetic "$@"
    same "$(cut -f 4 "$out" | sort -n | uniq | wc -l)" "$rows" "right rows of --synthetic $*"
    same "$(wc -l <"$out")" "$rows" "lines of --synthetic $*"
    same "$(awk -F '\t' '$1 != $3 || NF != 4' "$out" | head -n 1)" '' "keys of --synthetic $*"
}
rows=16384
synthetic 16K
cp "$out" "$reference"
synthetic 16K --method two-pass
same "$(cmp "$out" "$reference" 2>&1)" '' 'lines of both methods'
synthetic 16K --seed 1
cmp -s "$out" "$reference" && fail 'another seed made the same tables'
rows=20000
synthetic 100,20000
same "$(cut -f 2 "$out" | uniq -c | awk '$1 < 100 || $1 > 300' | wc -l)" 0 'rows far from 200 partners each'
# By Zipf's law over 100 rows the first has 20000 / 5.187 partners, the second half of that.
synthetic 100,20000 --distribution zipf
same "$(cut -f 2 "$out" | uniq -c | awk '$2 == 1 && $1 > 3600 && $1 < 4100 || $2 == 2 && $1 > 1800 && $1 < 2050' | wc -l)" \
    2 'rows with the partners of the law'
synthetic 100,20000 --distribution zipf --exponent 2
same "$(cut -f 2 "$out" | uniq -c | awk '$2 == 1 && $1 > 12000 && $1 < 12500' | wc -l)" 1 'rows with the partners of exponent 2'
synthetic 100,20000 --distribution zipf --exponent 0
same "$(cut -f 2 "$out" | uniq -c | awk '$1 < 100 || $1 > 300' | wc -l)" 0 'rows far from 200 partners each, exponent 0'
# Keys of more than 8 bits of partition.
run 0 --synthetic 300K,1K --count --runs 2
same "$(cat "$out")" 1024 'matches of large tables'
run 0 --synthetic 300K --count --method two-pass --stats
same "$(cat "$out")" 307200 'matches of large tables, two-pass'
for percent in $(few 50 95); do
    run 0 --synthetic 16K --prefill "$percent" --count --stats --runs 2 --heap 64M
    same "$(cat "$out")" 16384 "matches with $percent % of the pages taken"
    same "$(awk -v p="$percent" '/^heap /{ pages = $6 } /^pages prefilled /{ taken = $3 }
        END { print (taken > pages * (p - 2) / 100 && taken < pages * (p + 2) / 100) }' "$err")" 1 \
        "pages taken by --prefill $percent"
done

# ---- --output and --stats ----

printf 'a\t1\nb\n' >"$left"
printf 'a\n' >"$right"
run 0 --output "$scratch/result" "$left" "$right"
same "$(cat "$scratch/result" "$out")" "$(printf 'a\t1\ta')" 'the file of --output'
run 1 --on 2=1 --output "$scratch/result" "$left" "$right"
says 'left:2: too few columns: this row has 1, and column 2 was asked for; check --on and --delimiter'
same "$(cat "$scratch/result")" "$(printf 'a\t1\ta')" 'the file after a failure'
run 2 --output '' "$left" "$right"
says "--output '': name a file"
run 1 --output "$scratch/none/result" "$left" "$right"
says "none/result: can't .*No such file"
if [ -c /dev/full ]; then
    run 1 --output /dev/full "$left" "$right"
    says '/dev/full: .*No space left'
fi
for method in paged two-pass; do
    run 0 --stats --method $method --runs 2 "$left" "$right"
    for line in 'rows +2 left, 1 right' 'matches +1' "method +$method" 'partitions +1, items 1' '  read .* ms' \
        '  partition .* ms' '  join, all these .* ms' '  output .* ms' 'time, median of 2 runs'; do
        checks=$((checks + 1))
        grep -Eq "^$line" "$err" || fail "--stats, $method: no line '$line'"
    done
done
grep -Eq '^  second probe .* ms' "$err" || fail '--stats: no second probe'

# ---- heaps that are too small ----

seq 3000 | awk '{ print $1 % 100 }' | numbered >"$left"
seq 600 | awk '{ print $1 % 100 }' | numbered >"$right"
expect 1 1
for heap in $(few 10K 100K); do
    for page in $(few 32 256); do
        run 1 --heap "$heap" --page "$page" --output "$scratch/new" "$left" "$right"
        says "heap is too small: it has $heap*.*iB, that is [0-9]+ pages of $page bytes, 0 of them taken beforehand, and [0-9]+ matches take at least [0-9]+; use --heap [0-9]+K, which is certainly enough"
        enough=$(sed -n 's/.*--heap \([0-9]*K\).*/\1/p' "$err")
        for allocator in $(few rw corw); do
            agrees 1 1 --heap "$enough" --page "$page" --allocator "$allocator"
        done
    done
done
run 1 --heap 200K --prefill 90 "$left" "$right"
says 'heap is too small: .* pages of 256 bytes, [1-9][0-9]* of them taken beforehand'
enough=$(sed -n 's/.*--heap \([0-9]*K\).*/\1/p' "$err")
run 0 --count --heap "$enough" --prefill 90 "$left" "$right"
run 1 --page 1M --heap 600K "$left" "$right"
says 'heap is too small: 600 KiB have no room for a page of 1048576 bytes'
# More matches than the heap has room for, of a key in most rows of both tables, beside others and with hashes that
# are equal by chance.
{ yes 7 | head -n 6000; seq 1000; yes 8 | head -n 300; } | numbered >"$left"
{ yes 7 | head -n 4000; seq 1 2 1000; } | numbered >"$right"
for bits in $(few 32 8); do
    for keys in '' --integers; do
        # shellcheck disable=SC2086
        QUARRY_JOIN_HASH_BITS=$bits run 0 --count --stats $keys "$left" "$right"
        same "$(cat "$out")" 24010500 "matches that were counted, with a hash of $bits bits $keys"
        grep -q '^only counted ' "$err" || fail '--stats: no line that they are only counted'
    done
done
run 0 --count --method two-pass "$left" "$right"
same "$(cat "$out")" 24010500 'matches by two-pass'
yes 7 | head -n 100000 >"$left"
run 1 --output "$scratch/new" "$left" "$left"
says 'heap is too small: .* 10000000000 matches take at least [0-9]+; use --heap [0-9]+K'
if [ "$backend" = cpu ]; then # a GPU may have room for 75 GiB
    run 1 --method two-pass --output "$scratch/new" "$left" "$left"
    says 'there are 10000000000 matches, which take 74.5 GiB, and memory has room for [0-9]+; use --count'
fi
run 0 --count "$left" "$left"
same "$(cat "$out")" 10000000000 'matches of one key'
[ ! -e "$scratch/new" ] || fail 'a partial output file'
seq 3000 | awk '{ print $1 % 100 }' | numbered >"$left"
seq 600 | awk '{ print $1 % 100 }' | numbered >"$right"
if [ -n "$with_null" ]; then
    regular=$quarry
    quarry=$with_null
    run 1 --allocator null --output "$scratch/new" "$left" "$right"
    says 'allocator null gave no page'
    : >"$right"
    run 0 --allocator null "$left" "$right"
    [ ! -e "$scratch/new" ] || fail 'a partial output file'
    quarry=$regular
fi

# ---- refusals: data ----

printf 'a\n' >"$right"
run 1 "$left" "$scratch/nonesuch"
says 'nonesuch: no such file'
run 1 "$scratch/nonesuch" "$right"
says 'nonesuch: no such file'
run 1 "$scratch" "$right"
says 'is a directory'
run 1 --on 1=3 "$left" - <"$right"
says 'standard input:1: too few columns'
head -c 40 "$scratch/right.gz" >"$scratch/cut"
run 1 "$left" "$scratch/cut"
says 'cut:[0-9]+: .*truncated'

# ---- refusals: usage ----

run 2
says 'no file given'
run 2 "$left"
says 'only one file given'
run 2 "$left" "$left" "$right"
says 'three files'
run 2 - -
says 'both files are standard input'
for on in '' 1 = 1= =1 0=1 1=0 1=99999999999999999999; do
    run 2 --on "$on" "$left" "$right"
    says "--on '$on': give LEFT=RIGHT"
done
run 2 --on name=1 "$left" "$right"
says "--on: column 'name' is a name: add --header"
run 2 --on 1=name "$left" "$right"
says "--on: column 'name' is a name: add --header"
run 2 --method hash "$left" "$right"
says "--method 'hash': give paged or two-pass"
run 2 --synthetic 1K "$left"
says '--synthetic needs no files'
for size in 0 x '1,' ',1' 1,0 5000000000 1,2,3; do
    run 2 --synthetic "$size"
    says "--synthetic '$size'"
done
for option in --distribution=zipf --exponent=1 --seed=1; do
    run 2 $option "$left" "$right"
    says 'need --synthetic'
done
run 2 --synthetic 1K --distribution normal
says "--distribution 'normal'"
for exponent in '' -1 x 1.2.3 11 nan; do
    run 2 --synthetic 1K "--exponent=$exponent"
    says "--exponent '$exponent'"
done
for other in '' --distribution=uniform; do
    run 2 --synthetic 1K $other --exponent 1
    says '--exponent needs --distribution zipf'
done
for percent in 100 -1 x ''; do
    run 2 "--prefill=$percent" "$left" "$right"
    says "--prefill: '$percent'"
done
for option in --prefill=50 --heap=1M --page=64 --allocator=rw --set=probes=1; do
    run 2 $option --method two-pass "$left" "$right"
    says '--allocator, --set, --heap, --page, --prefill and --trace are about the pages of --method paged'
done
run 0 --synthetic 1K --count --set probe_lanes=2 --heap 1M --trace "$scratch/set.trace"
checks=$((checks + 1))
grep -aq ' probe_lanes=2' "$scratch/set.trace" || fail 'the recording of a heap with --set'
# What the environment asks of heaps.
QUARRY_DEBUG=1 run 0 --synthetic 1K --count --heap 1M
same "$(<"$err")" '' 'what debug mode says'
QUARRY_STATS=1 run 0 --synthetic 1K --count --heap 1M
grep -q '^  in total  *[1-9]' "$err" || fail 'no table of what the heap has done'
run 2 --synthetic 1K --allocator ring --set probes=1
says "--set: there is no option 'probes': allocator ring has none"
run 2 --synthetic 1K --set probe_lanes=33
says '--set: probe_lanes is 33, but may be 1 to 32 \(lanes'
for option in --on=2=1 --integers --delimiter=x --header; do
    run 2 --synthetic 1K $option
    says '--on, --integers, --delimiter and --header are about files: --synthetic reads none'
done
run 2 --runs 0 "$left" "$right"
says "--runs: '0'"
run 2 --seed x --synthetic 1K
says "--seed: 'x'"
run 2 --delimiter ab "$left" "$right"
says "--delimiter 'ab'"
run 2 --page 40 "$left" "$right"
says "--page '40'"
run 2 --allocator nonesuch "$left" "$right"
says "--allocator 'nonesuch'"
run 2 --backend gpu "$left" "$right"
says "--backend 'gpu'"
run 2 --frobnicate "$left" "$right"
says "'--frobnicate': no such option"
run 2 --on
says "'--on': .*value is missing"
run 0 --help
grep -q '^Usage: quarry join ' "$out" || fail '--help'

[ -n "$with_null" ] || echo 'left out: the allocator that has no pages'
finish
