#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `quarry groupby` promises, on small files.
#
#   groupby.sh QUARRY [QUARRY_WITH_NULL]
#     QUARRY            the binary
#     QUARRY_WITH_NULL  one that also has the allocator of tests/alloc/null.h; without it those checks are
#                       left out, and the last line says so
#
# QUARRY_TEST_BACKEND picks the backend (cpu).
#
# Strategy: the expected groups of good input come from cut, sort and uniq, or are written out; each refusal
# must be one sentence that names what is wrong, with the right exit code and without output.
set -u
export LC_ALL=C

quarry=$1
backend=${QUARRY_TEST_BACKEND:-cpu}
with_null=
[ "$backend" != cpu ] || with_null=${2:-}
small=$(dirname "$0")/../data/debian-sections.tsv.gz
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
in=$scratch/in

# run CODE ARGUMENT...
run() {
    run_on_heap groupby "$@"
}

# gives TEXT: the last command printed these lines (as printf takes them), in any order, and no message.
gives() {
    checks=$((checks + 1))
    # shellcheck disable=SC2059
    if ! printf "$1" | sort | cmp -s - <(sort "$out") || [ -s "$err" ]; then
        fail "not the groups $1"
    fi
}

# counts of the lines of standard input, as groupby prints them, in uniq's order.
reference() {
    sort | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)$/\2\t\1/'
}

# matches FILE: the last command's groups are those of the keys in FILE.
matches() {
    checks=$((checks + 1))
    if ! reference <"$1" | sort | cmp -s - <(sort "$out") || [ -s "$err" ]; then
        fail "other groups than those of $(basename "$1")"
    fi
}

# ---- lines and keys ----

printf 'b\t1\na\t2\nb\t3\n' >"$in"
run 0 "$in"
gives 'a\t1\nb\t2\n'
run 0 --column 2 "$in"
gives '1\t1\n2\t1\n3\t1\n'
run 0 - <"$in"
gives 'a\t1\nb\t2\n'
run 0 --rows "$in"
gives 'a\t1\t2\nb\t2\t1,3\n'

printf 'b\t1\r\na\t1\r\nb\t1\r\n' >"$in"
run 0 --column 2 "$in"
gives '1\t3\n'
run 0 "$in"
gives 'a\t1\nb\t2\n'
printf 'a\r\n\r\na\r\r\na' >"$in"
run 0 "$in"
gives '\t1\na\r\t1\na\t2\n'
printf 'a\t1\nb\t2' >"$in"
run 0 --column 2 "$in"
gives '1\t1\n2\t1\n'
printf 'a\n\n\nb\n' >"$in"
run 0 "$in"
gives 'a\t1\n\t2\nb\t1\n'
run 0 --rows "$in"
gives 'a\t1\t1\n\t2\t2,3\nb\t1\t4\n'
printf '\tx\n\ty\nz\t\n' >"$in"
run 0 "$in"
gives '\t2\nz\t1\n'
run 0 --column 2 "$in"
gives 'x\t1\ny\t1\n\t1\n'
printf 'a\0b\nab\na\0b\na\0c\n\0\n' >"$in"
run 0 "$in"
gives 'a\0b\t2\nab\t1\na\0c\t1\n\0\t1\n'
printf 'a\nab\nabcdefgh\nabcdefg\nabcdefghi\nabcdefgh\0\nabcdefgh\n' >"$in"
run 0 "$in"
gives 'a\t1\nab\t1\nabcdefgh\t2\nabcdefg\t1\nabcdefghi\t1\nabcdefgh\0\t1\n'

# ---- delimiters ----

printf 'a,b\nc,b\n' >"$in"
run 0 --delimiter , --column 2 "$in"
gives 'b\t2\n'
run 0 --column 1 "$in"
gives 'a,b\t1\nc,b\t1\n'
printf 'a\\b\n' >"$in"
run 0 --delimiter \\ --column 2 "$in"
gives 'b\t1\n'
printf 'a\0b\tc\n' >"$in"
run 0 --delimiter '\0' --column 2 "$in"
gives 'b\tc\t1\n'
run 0 --delimiter '\t' --column 2 "$in"
gives 'c\t1\n'
printf 'a\rb\r\n' >"$in"
run 0 --delimiter $'\r' --column 3 "$in"
gives '\t1\n'
printf 'a\377b\n' >"$in"
run 0 --delimiter $'\377' --column 2 "$in"
gives 'b\t1\n'

# ---- headers ----

printf 'k\tv\r\na\tx\r\nb\tx\r\n' >"$in"
run 0 --header --column v "$in"
gives 'x\t2\n'
run 0 --header --column 1 --rows "$in"
gives 'a\t1\t1\nb\t1\t2\n'
printf 'k\tv' >"$in"
run 0 --header --column v "$in"
gives ''
run 0 --header --column 2 "$in"
gives ''
run 1 --header --column w "$in"
says "in:1: no column is named 'w'; the header is: k	v"
run 2 ''
says "'' is no file"
printf 'k\033[31m\tv\n' >"$in" # which would turn a terminal red
run 1 --header --column w "$in"
says "in:1: no column is named 'w'; the header is: k\\?\\[31m	v"
printf 'k\tv' >"$in"
run 1 --header --column 3 "$in"
says 'in:1: no column 3: the header has 2'
printf 'k\tk\na\tb\n' >"$in"
run 1 --header --column k "$in"
says "in:1: columns 1 and 2 are both named 'k'"

# ---- sizes ----

: >"$in"
run 0 "$in"
gives ''
run 0 --header "$in"
gives ''
run 0 --stats --rows --top 3 "$in"
run 1 --header --column v "$in"
says "in:1: the file is empty: no header names column 'v'"
printf x >"$in"
run 0 "$in"
gives 'x\t1\n'
printf '\n' >"$in"
run 0 "$in"
gives '\t1\n'
yes same | head -n 20000 >"$in"
run 0 "$in"
gives 'same\t20000\n'
most=30000
[ -z "${QUARRY_TEST_THREADS:-}" ] || most=3000 # sanitizers are slow
seq $most >"$in"
run 0 "$in"
matches "$in"
run 0 --page 32 "$in"
matches "$in"
run 0 --page 64K --heap 128M "$in"
matches "$in"
# One key that fills hundreds of pages, among keys that come once and twice: pages of one bucket hold both.
{ seq 15000; seq 5000 9999; yes hot | head -n 15000; } >"$in"
run 0 "$in"
matches "$in"
run 0 --page 1M --heap 512M "$in"
matches "$in"
for n in 1 59 60 61 62 120 121; do
    yes key | head -n $n >"$in"
    run 0 "$in"
    gives "key\t$n\n"
done
# Lines of megabytes, which differ in their last byte only, and one that is another's beginning.
{
    head -c 3000000 /dev/zero | tr '\0' z
    printf 'a\n'
    head -c 3000000 /dev/zero | tr '\0' z
    printf 'b\n'
    head -c 3000000 /dev/zero | tr '\0' z
    printf '\nshort\n'
    head -c 3000000 /dev/zero | tr '\0' z
    printf 'b\n'
} >"$in"
run 0 "$in"
same "$(sed 's/^zzz*//' "$out" | sort | tr '\n\t' ';:')" ':1;a:1;b:2;short:1;' 'groups of long keys'
same "$(wc -c <"$out")" 9000019 'length of the long keys'

# ---- gzip ----

seq 5000 | sed 's/.$//' >"$scratch/plain"
gzip -c "$scratch/plain" >"$in"
run 0 "$in"
matches "$scratch/plain"
run 0 - < <(cat "$in")
matches "$scratch/plain"
{ head -n 2000 "$scratch/plain" | gzip; tail -n +2001 "$scratch/plain" | gzip; } >"$in"
run 0 "$in"
matches "$scratch/plain"
head -c 1000 /dev/zero >>"$in"
run 0 "$in"
matches "$scratch/plain"
gzip -c /dev/null >"$in"
run 0 "$in"
gives ''
gzip -c "$scratch/plain" >"$in"
bytes=$(wc -c <"$in")
for cut in 3 12 $((bytes / 2)) $((bytes - 4)); do
    head -c "$cut" "$in" >"$scratch/cut"
    run 1 "$scratch/cut"
    says 'cut:[0-9]+: .*truncated'
done
{ cat "$in"; printf 'tail'; } >"$scratch/tail"
run 1 "$scratch/tail"
says 'tail:[0-9]+: .*not gzip'
{ cat "$in"; head -c 40 "$in"; } >"$scratch/tail"
run 1 "$scratch/tail"
says 'tail:[0-9]+: .*truncated'
{ head -c $((bytes / 2)) "$in"; printf 'xxxxxxxx'; tail -c +$((bytes / 2 + 9)) "$in"; } >"$scratch/broken"
run 1 "$scratch/broken"
says 'broken:[0-9]+: .*damaged'
run 0 --header --column section "$small"
matches <(zcat "$small" | tail -n +2 | cut -f2)
run 0 --column 5 "$small"
matches <(zcat "$small" | cut -f5)

# ---- allocators, pages, --rows, --top ----

zcat "$small" | tail -n +2 | cut -f2 >"$scratch/sections"
for allocator in $(few rw corw); do
    for page in $(few 32 256 4K 48); do
        run 0 --header --column section --allocator "$allocator" --page "$page" "$small"
        matches "$scratch/sections"
    done
done
run 0 --header --column section --rows "$small"
same "$(cut -f3 "$out" | tr ',' '\n' | sort -n | cmp - <(seq 5000) 2>&1)" '' 'all row numbers'
awk -F '\t' '{ rows[$1] = rows[$1] (n[$1]++ ? "," : "") NR }
    END { for (key in rows) print key "\t" n[key] "\t" rows[key] }' "$scratch/sections" | sort >"$scratch/rows"
same "$(sort "$out" | cmp - "$scratch/rows" 2>&1)" '' 'row numbers of each group'
run 0 --header --column section --top 1000 "$small"
reference <"$scratch/sections" | sort -t "$(printf '\t')" -k2,2nr -k1,1 >"$scratch/top"
same "$(cmp "$out" "$scratch/top" 2>&1)" '' 'order of --top'
run 0 --header --column section --top 4 "$small"
same "$(cat "$out")" "$(head -n 4 "$scratch/top")" '--top 4'
printf 'b\na\naa\n\nc\nc\n' >"$in"
run 0 --top 9 --rows "$in"
same "$(tr '\n\t' ';:' <"$out")" 'c:2:5,6;:1:4;a:1:2;aa:1:3;b:1:1;' 'order of equal counts'

# ---- hash collisions: a short hash makes different keys look alike ----

seq 3000 | sed 's/.$//' >"$scratch/plain"
for bits in $(few 1 2 8 9 17 5); do
    export QUARRY_GROUPBY_HASH_BITS=$bits
    head -n 300 "$scratch/plain" >"$in"
    [ "$bits" -lt 8 ] || cp "$scratch/plain" "$in"
    run 0 --stats "$in"
    grep -q '^hash rounds  *[2-9]' "$err" || grep -q '^hash rounds  *[1-9][0-9]' "$err" || [ "$bits" -eq 17 ] ||
        fail "hash of $bits bits: no second round"
    run 0 "$in"
    matches "$in"
    run 0 --rows "$in"
    same "$(cut -f3 "$out" | tr ',' '\n' | sort -n | cmp - <(seq "$(wc -l <"$in")") 2>&1)" '' \
        "row numbers with a hash of $bits bits"
done
unset QUARRY_GROUPBY_HASH_BITS

# ---- other interleavings (CPU only) ----

if [ "$backend" = cpu ]; then
    { seq 300; yes hot | head -n 700; } >"$in"
    for seed in $(few 1 2 3 4); do
        for allocator in $(few rw corw); do
            QUARRY_GROUPBY_SEED=$seed run 0 --allocator "$allocator" --page 32 --heap 256K "$in"
            matches "$in"
        done
    done
fi

# ---- --output and --stats ----

printf 'a\nb\na\n' >"$in"
run 0 --output "$scratch/result" "$in"
gives ''
same "$(sort "$scratch/result" | tr '\n\t' ';:')" 'a:2;b:1;' 'the file of --output'
same "$(stat -c %a "$scratch/result")" "$(printf '%o' $((0666 & ~$(umask))))" 'mode of a new file'
chmod 640 "$scratch/result"
ln -s result "$scratch/link"
printf 'c\n' >"$in"
run 0 --output "$scratch/link" "$in"
same "$(tr '\n\t' ';:' <"$scratch/result")" 'c:1;' 'the file behind a link'
same "$(stat -c %a "$scratch/result")" 640 'mode of an existing file'
same "$(readlink "$scratch/link")" result 'the link'
run 0 --output "$in" "$in"
same "$(tr '\n\t' ';:' <"$in")" 'c:1;' 'the input as output'
printf 'a\tb\nc\n' >"$in"
run 1 --column 2 --output "$scratch/result" "$in"
says 'in:2: too few columns: this row has 1, and column 2'
same "$(tr '\n\t' ';:' <"$scratch/result")" 'c:1;' 'the file after a failure'
run 1 --column 2 --output "$scratch/new" "$in"
run 1 --output "$scratch/none/result" "$in"
says "none/result: can't .*No such file"
run 1 --output "$scratch" "$in"
says 'is a directory'
# The file system refuses in the middle of the file; with XFSZ not ignored, a signal ends the command there.
seq 20000 >"$in"
for action in "trap '' XFSZ" 'trap - XFSZ'; do
    (
        eval "$action"
        ulimit -f 8
        "$quarry" groupby --backend "$backend" --heap 16M --output "$scratch/result" "$in" >"$out" 2>"$err"
    ) 2>/dev/null && fail "a full file system ($action)"
    [ "$action" = 'trap - XFSZ' ] || says 'result: .*File too large'
done
same "$(tr '\n\t' ';:' <"$scratch/result")" 'c:1;' 'the file after a failed write'
same "$(find "$scratch" -name 'result*' -o -name 'new*' | tr '\n' ' ')" "$scratch/result " 'files left behind'
if [ -c /dev/full ]; then
    run 1 --output /dev/full "$in"
    says '/dev/full: .*No space left'
    [ -c /dev/full ] || fail '/dev/full was replaced'
    "$quarry" groupby --backend "$backend" --heap 16M "$in" >/dev/full 2>"$err"
    same $? 1 'exit code with standard output full'
    : >"$out"
    says 'standard output: .*No space left'
fi
"$quarry" groupby --backend "$backend" --heap 16M "$in" >&- 2>"$err"
same $? 1 'exit code with standard output closed'

run 0 --stats --header --column section "$small"
for line in 'rows +5000' 'groups +[0-9]+' 'pages allocated +[0-9]+' 'pages freed +[0-9]+' 'peak heap use +.*iB' \
    '  read .* ms' '  upload .* ms' '  hash .* ms' '  pass 1 .* ms' '  passes .* ms' '  decide .* ms' '  resolve .* ms' '  output .* ms' \
    'mallocs per second [0-9]+'; do
    checks=$((checks + 1))
    grep -Eq "^$line" "$err" || fail "--stats: no line '$line'"
done
same "$(sed -n 's/^pages allocated *//p' "$err")" "$(sed -n 's/^pages freed *//p' "$err")" 'pages freed'
same "$(sed -n 's/^groups *//p' "$err")" "$(wc -l <"$out")" 'number of groups'

# ---- heaps that are too small ----

seq 20000 >"$in"
for heap in $(few 1K 40K 100K); do
    run 1 --heap "$heap" --output "$scratch/new" "$in"
    says "heap is too small.* at least [0-9.]+ KiB in pages; use --heap [0-9]+K, which is certainly enough"
    enough=$(sed -n 's/.*--heap \([0-9]*K\).*/\1/p' "$err")
    for allocator in $(few rw corw); do
        run 0 --heap "$enough" --allocator "$allocator" "$in"
        matches "$in"
    done
done
[ ! -e "$scratch/new" ] || fail 'a partial output file'
run 1 --page 1M --heap 600K "$in"
says 'heap is too small.* has 600 KiB, that is 0 pages'
if [ -n "$with_null" ]; then
    regular=$quarry
    quarry=$with_null
    run 1 --allocator null --output "$scratch/new" "$in"
    says 'allocator null gave no page'
    printf 'one row' >"$in"
    run 1 --allocator null "$in"
    says 'allocator null gave no page'
    : >"$in"
    run 0 --allocator null "$in"
    gives ''
    [ ! -e "$scratch/new" ] || fail 'a partial output file'
    quarry=$regular
fi

# ---- synthetic keys ----

# keys ARGUMENT...: prints the keys alone.
keys() {
    "$quarry" groupby "$@" --keys >"$out" 2>"$err"
    same $? 0 "exit code of $* --keys"
}

# without_heap ARGUMENT...: the arguments but for those about a heap.
without_heap() {
    sed -E 's/--(heap|page|allocator|prefill) [^ ]+//g' <<<"$*"
}

# synthetic ARGUMENT...: both methods' groups of --synthetic's keys are those of the keys that --keys prints.
synthetic() {
    # shellcheck disable=SC2046
    keys $(without_heap "$@" | sed -E 's/--runs [^ ]+//')
    cp "$out" "$scratch/plain"
    run 0 "$@"
    matches "$scratch/plain"
    # shellcheck disable=SC2046
    run 0 $(without_heap "$@") --method two-pass
    matches "$scratch/plain"
}

synthetic --synthetic 20000
# The mean of 20000 keys is within 5 of its own deviations, which is 2^20 / sqrt(20000) = 7415.
same "$(awk '{ s += $1; q += ($1 - 2^31)^2 } END { m = s / NR - 2^31; d = sqrt(q / NR) / 2^20
    print (m > -37000 && m < 37000 && d > 0.97 && d < 1.03) }' "$scratch/plain")" 1 'mean and deviation'
# Of a normal distribution 68.3 % are within one deviation, 4.6 % beyond two.
same "$(awk '{ z = ($1 - 2^31) / 2^20; one += z * z < 1; two += z * z > 4 }
    END { print (one > 13300 && one < 14000 && two > 780 && two < 1040) }' "$scratch/plain")" 1 'shape of the distribution'
keys --synthetic 20000
same "$(cmp "$out" "$scratch/plain" 2>&1)" '' 'keys of one seed'
keys --synthetic 20000 --seed 1
cmp -s "$out" "$scratch/plain" && fail 'another seed made the same keys'
for deviation in $(few 1 30 3000 128M); do
    synthetic --synthetic 3000 --deviation "$deviation" --heap 64M
done
for n in 1 31 60 61 120 121; do
    synthetic --synthetic $n --deviation 1
done
# Keys that differ in their first bits: the mean is between two buckets of the first pass, and a deviation of 2^27
# spans dozens.
keys --synthetic 3000 --deviation 128M
same "$(awk '{ n[int($1 / 2^24)] } END { for (b in n) k++; print (k > 40) }' "$out")" 1 'first bytes of wide keys'
for page in $(few 32 48 4K); do
    for allocator in $(few rw rw-bm crw corw); do
        synthetic --synthetic 2000 --deviation 40 --allocator "$allocator" --page "$page"
    done
done
run 0 --synthetic 2000 --deviation 40 --rows
sort "$out" >"$scratch/rows"
run 0 --synthetic 2000 --deviation 40 --rows --method two-pass
same "$(sort "$out" | cmp - "$scratch/rows" 2>&1)" '' 'row numbers by both methods'
same "$(cut -f3 "$out" | tr ',' '\n' | sort -n | cmp - <(seq 2000) 2>&1)" '' 'all row numbers of synthetic keys'
same "$(awk -F '\t' 'NR == FNR { key[NR] = $1; next }
    { n = split($3, rows, ","); for (i = 1; i <= n; i++) if (key[rows[i]] != $1) print }' "$scratch/plain" "$out")" '' \
    'rows of other keys'
cut -f1,2 "$out" | sort -t "$(printf '\t')" -k2,2nr -k1,1n >"$scratch/top"
run 0 --synthetic 2000 --deviation 40 --top 7
same "$(cat "$out")" "$(head -n 7 "$scratch/top")" '--top 7 of synthetic keys'
run 0 --synthetic 2000 --deviation 40 --count --stats --runs 3
same "$(cat "$out")" "$(wc -l <"$scratch/top")" '--count'
for line in 'rows +2000' 'hash rounds +1, passes 4' 'time, median of 3 runs' '  pass 4 .* 2000 rows into [0-9]+ new pages' \
    '  group, all these .* ms'; do
    checks=$((checks + 1))
    grep -Eq "^$line" "$err" || fail "--stats of synthetic keys: no line '$line'"
done
run 0 --synthetic 2000 --deviation 40 --count --stats --runs 3 --method two-pass
same "$(cat "$out")" "$(wc -l <"$scratch/top")" '--count, two-pass'
for line in 'method +two-pass' 'counts +[0-9.]+ [KM]iB' '  pass 4 .* ms, 2000 rows' '    counting .* ms' '    prefix sums .* ms' \
    '    writing .* ms' '  group, all these .* ms'; do
    checks=$((checks + 1))
    grep -Eq "^$line" "$err" || fail "--stats, two-pass: no line '$line'"
done
for percent in $(few 50 95); do
    synthetic --synthetic 2000 --prefill "$percent" --runs 2
    run 0 --synthetic 2000 --prefill "$percent" --stats
    same "$(awk -v p="$percent" '/^heap /{ pages = $6 } /^pages prefilled /{ taken = $3 }
        END { print (taken > pages * (p - 2) / 100 && taken < pages * (p + 2) / 100) }' "$err")" 1 \
        "pages taken by --prefill $percent"
done
printf 'a\nb\na\n' >"$in"
run 0 --prefill 95 --runs 2 "$in"
gives 'a\t2\nb\t1\n'
run 0 --count "$in"
gives '2\n'
for heap in $(few 20K 200K); do
    run 1 --synthetic 5000 --heap "$heap"
    says 'heap is too small.* at least [0-9.]+ KiB in pages; use --heap [0-9]+K, which is certainly enough'
    enough=$(sed -n 's/.*--heap \([0-9]*K\).*/\1/p' "$err")
    synthetic --synthetic 5000 --heap "$enough"
done
run 1 --synthetic 5000 --heap 3M --prefill 90
says 'heap is too small.* pages of 256 bytes, [1-9][0-9]* of them taken beforehand, and 5000 rows'
synthetic --synthetic 5000 --prefill 90 --heap "$(sed -n 's/.*--heap \([0-9]*K\).*/\1/p' "$err")"
if [ "$backend" = cpu ]; then
    for seed in $(few 1 2 3); do
        QUARRY_GROUPBY_SEED=$seed synthetic --synthetic 400 --deviation 20 --page 32 --heap 512K
        # The first byte makes two buckets.  As two chains they would take at most 102 pages of 4 rows.
        QUARRY_GROUPBY_SEED=$seed run 0 --synthetic 400 --deviation 20 --page 32 --heap 512K --count --stats
        same "$(sed -n 's/^  pass 1 .* 400 rows into \([0-9]*\) new pages/\1/p' "$err" | awk '{ print ($1 > 102) }')" 1 \
            'stripes where warps wait for one page'
    done
fi

# ---- refusals: data ----

printf 'a\tb\nc\td\ne\n' >"$in"
run 1 --column 2 "$in"
says 'in:3: too few columns: this row has 1, and column 2 was asked for'
run 1 --column 3 "$in"
says 'in:1: too few columns'
run 1 --column 2 - <"$in"
says 'standard input:3: too few columns'
run 1 --delimiter , --column 2 "$in"
says 'in:1: too few columns'
printf 'h\tk\na\tb\n\n' >"$in"
run 1 --header --column k "$in"
says 'in:3: too few columns'
run 1 "$scratch/nonesuch"
says 'nonesuch: no such file'
run 1 "$scratch"
says 'is a directory'
run 1 "$in/x"
says 'in/x: Not a directory'
printf 'a\n' >"$scratch/secret"
chmod 000 "$scratch/secret"
if [ ! -r "$scratch/secret" ]; then
    run 1 "$scratch/secret"
    says 'secret: Permission denied'
fi

# ---- refusals: usage ----

run 2
says 'no file'
run 2 "$in" "$in"
says 'two files'
run 2 --column 0 "$in"
says "--column '0'"
run 2 --column '' "$in"
says "--column ''"
run 2 --column 99999999999999999999 "$in"
says "--column '99999999999999999999'"
run 2 --column name "$in"
says "--column 'name' is a name: add --header"
for delimiter in '' ab '\n' é $'\n'; do
    run 2 --delimiter "$delimiter" "$in"
    grep -q -- '--delimiter' "$err" || fail "delimiter '$delimiter'"
done
run 2 --allocator nonesuch "$in"
says "--allocator 'nonesuch': there is none of that name; there are .*corw"
for size in 0 12Q -1 1.5 99999999T x; do
    run 2 --heap "$size" "$in"
    says "--heap '$size'"
done
for size in 0 16 31 40 2M 12Q; do
    run 2 --page "$size" "$in"
    says "--page '$size'"
done
for top in 0 -1 x 1.5 ''; do
    run 2 "--top=$top" "$in"
    says "--top '$top'"
done
for number in 0 -1 x '' 5G; do
    run 2 "--synthetic=$number"
    says "--synthetic: '$number' is no number from 1 to 4294967232"
done
run 2 --synthetic 5 "$in"
says "--synthetic needs no file, but '.*in' is given"
for option in --seed=1 --deviation=1 --keys; do
    run 2 $option "$in"
    says '--deviation, --seed and --keys need --synthetic'
done
for option in --top=1 --rows; do
    run 2 --count $option "$in"
    says '--top and --rows are about groups: --count prints only their number'
done
for option in --count --top=1 --rows --stats --backend=cpu --runs=2 --heap=1M --method=paged; do
    "$quarry" groupby --synthetic 5 --keys $option >"$out" 2>"$err"
    same $? 2 "exit code of --keys $option"
    says '--keys groups nothing: only --deviation, --seed and --output go with it'
done
run 2 --synthetic 5 --deviation 129M
says "--deviation: '129M' is no number from 1 to 134217728"
run 2 --synthetic 5 --deviation 0
says "--deviation: '0' is no number from 1 to 134217728"
run 2 --method two-pass "$in"
says '--method two-pass is for integers: it needs --synthetic'
run 2 --method three-pass "$in"
says "--method 'three-pass': give paged or two-pass"
for option in --prefill=50 --heap=1M --page=64 --allocator=rw --set=probes=1; do
    run 2 --synthetic 5 $option --method two-pass
    says '--allocator, --set, --heap, --page, --prefill and --trace are about the pages of --method paged'
done
run 0 --synthetic 1000 --count --set probe_lanes=2 --heap 1M --trace "$scratch/set.trace"
checks=$((checks + 1))
grep -aq ' probe_lanes=2' "$scratch/set.trace" || fail 'the recording of a heap with --set'
# What the environment asks of heaps.
QUARRY_DEBUG=1 run 0 --synthetic 1000 --count --heap 1M
same "$(<"$err")" '' 'what debug mode says'
QUARRY_STATS=1 run 0 --synthetic 1000 --count --heap 1M
grep -q '^  in total  *[1-9]' "$err" || fail 'no table of what the heap has done'
run 2 --synthetic 1000 --set probes=1 --set probe_lanes=2
says "--set 'probe_lanes=2': --set is there twice; give all pairs in one"
run 2 --synthetic 1000 --allocator ring --set probes=1
says "--set: there is no option 'probes': allocator ring has none"
run 2 --synthetic 1000 --set probe_lanes=33
says '--set: probe_lanes is 33, but may be 1 to 32 \(lanes'
for option in --column=2 --delimiter=x --header; do
    run 2 --synthetic 5 $option
    says '--column, --delimiter and --header are about files: --synthetic reads none'
done
run 2 --prefill 100 "$in"
says "--prefill: '100' is no number from 0 to 99"
run 2 --runs 0 "$in"
says "--runs: '0' is no number from 1 to 1000"
run 2 --backend gpu "$in"
says "--backend 'gpu'"
run 2 --frobnicate "$in"
says "'--frobnicate': no such option"
run 2 "$in" -Z
says "'-Z': no such option"
run 2 --column
says "'--column': .*value is missing"
run 2 --header=yes "$in"
says "'--header=yes': "
run 0 --help
grep -q '^Usage: quarry groupby ' "$out" || fail '--help'

[ -n "$with_null" ] || echo 'left out: the allocator that has no pages'
finish
