#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `quarry report` and `quarry bench --report`: the page's structure, files that are broken or have gaps, and what it refuses.
#
#   report.sh QUARRY          the binary
#   report.sh QUARRY PAGE     PAGE: tests/cli/report_page.py, which looks at the page in a browser; nothing else is tested
set -u

quarry=$1
look=${2:-}
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"

# The interpreter that has a module, as the command finds it.
python_with() {
    local python
    for python in python3 /usr/bin/python3; do
        "$python" -c "import sys, importlib.util as u; sys.exit(not u.find_spec('$1'))" 2>/dev/null && echo "$python" && return
    done
}
python=$(python_with matplotlib)
if [ -z "$python" ]; then
    run 1 report --output "$scratch/page" "$scratch/none.csv"
    says 'with matplotlib, and there is none: install python3-matplotlib'
    run 1 bench --backend cpu --report "$scratch/page"
    says 'install python3-matplotlib'
    [ -z "$look" ] || { echo 'skipped: no matplotlib here'; exit 77; }
    finish
    exit
fi

# structure FILE: an HTML page whose elements are closed, whose ids differ, and which names no other file.  Prints its
# numbers of drawings, points and tables.
structure() {
    "$python" - "$1" 2>&1 <<'EOP'
import html.parser, re, sys
VOID = {"meta", "link", "br", "html", "body", "head"}
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.count = [], [], [], {}
    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        self.open += [tag] if tag not in VOID else []
    def handle_startendtag(self, tag, attributes):
        self.count[tag] = self.count.get(tag, 0) + 1
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [value for name, value in attributes if name in ("href", "src", "xlink:href", "srcset", "data", "action")]
        assert not any(name.startswith("on") for name in values), values
    def handle_endtag(self, tag):
        assert tag in VOID or self.open.pop() == tag, tag
text = open(sys.argv[1], encoding="utf-8").read()
page = Page()
page.feed(text)
page.close()
assert not page.open, page.open
assert len(set(page.ids)) == len(page.ids), sorted(page.ids)
for link in page.links:
    assert link == "data:," or (link[:1] == "#" and link[1:] in page.ids), link
for name in re.findall(r"url\(([^)]*)\)", text):
    assert name[:1] == "#" and name[1:] in page.ids, name
# Nothing is cut at the axes: what is clipped lies within.
for svg in re.findall("<svg.*?</svg>", text, re.S):
    clips = {name: tuple(map(float, box)) for name, *box in
             re.findall(r'<clipPath id="(\w+)"><rect x="([-0-9.]+)" y="([-0-9.]+)" width="([0-9.]+)" height="([0-9.]+)"', svg)}
    for path, clip in re.findall(r'<path d="([^"]*)" clip-path="url\(#(\w+)\)"', svg):
        left, top, wide, high = clips[clip]
        for x, y in re.findall(r"([-0-9.]+) ([-0-9.]+)", path):
            assert left - 1 <= float(x) <= left + wide + 1 and top - 1 <= float(y) <= top + high + 1, f"cut at the axes: {path}"
assert "script" not in page.count and "@import" not in text and len(text.encode()) < 3 << 20
print(page.count.get("svg", 0), page.count.get("use", 0), page.count["table"])
EOP
}

# has TEXT: the page has it.
has() {
    checks=$((checks + 1))
    grep -qF -- "$1" "$page" || fail "the page has no '$1'"
}
has_not() {
    checks=$((checks + 1))
    ! grep -qF -- "$1" "$page" || fail "the page has '$1'"
}

page=$scratch/a/index.html
csv=$scratch/a/results.csv
bench=(bench --backend cpu --quick --allocator 'rw,corw,scatter' --test 'alloc,mixed,frag,fill,oom,init,write' --heap 16M
    --runs 2 --steps)

if [ -n "$look" ]; then
    python=$(python_with selenium)
    [ -n "$python" ] || { echo 'skipped: no Selenium here'; exit 77; }
    mkdir "$scratch/a"
    run 0 "${bench[@]}" --csv="$csv"
    # With the columns of eight allocators.
    awk -F, 'BEGIN { OFS = "," } { print } NR > 1 && $3 == "rw" { split("rw-bm,crw,rw-malloc,ring,cuda", names, ",")
        for (i in names) { $3 = names[i]; us = $9; $10 = us / 10; $11 = us * 10; $9 *= i; print; $9 = us } }' "$csv" >"$scratch/wide.csv"
    run 0 report -o "$scratch/a" "$scratch/wide.csv"
    "$python" "$look" "$page"
    exit
fi

# ---- page ----

run 0 "${bench[@]}" --report "$scratch/a"
prints '^rw +malloc '
# alloc: 2 sizes over threads, 2 numbers of threads over sizes, and 2 sizes each of TAS and WAS.  One each, and of TAS and WAS, of the
# mallocs of mixed and of oom; one each of the frees of mixed, frag, fill, create and reset, write and packed.  A table for each operation,
# one for all.
structure "$page" >"$out" || fail 'the structure of the page'
prints '^21 [0-9]+ 11$'
same "$(cut -d' ' -f1 "$out")" "$(grep -o '<figure>' "$page" | wc -l)" 'drawings in figures'
same "$(basename -a "$scratch"/a/*)" "$(printf 'index.html\nresults.csv')" 'files of a report'
for text in '<h1>Quarry benchmark: ' "quarry bench --backend cpu --quick --allocator rw,corw,scatter" 'Times are by the host' \
    'Every thread allocates one block.' 'TAS: random probes of a thread, over threads' 'WAS: the most of a warp' \
    'Time of a kernel, over threads' 'Time of a kernel, over size of a block' 'Address range over the bytes of live blocks, over rounds' \
    'Bandwidth of writes, over size of a block' 'Bytes asked for at the first NULL' 'prefers-color-scheme:dark' 'results were verified' '<dt>Options of corw</dt><dd>probes=' '>a store</text>' '>one counter</text>' \
    "$(tail -1 "$csv" | sed 's/"[^"]*"//g' | cut -d, -f44)"; do
    has "$text"
done
# Each result with a value is a point over threads, and says what it is.
awk -F, '$32 == "alloc" && $33 == "ok" { print $3 ", " ($5 == 4096 ? "4K" : $5) " threads: " }' "$csv" | sort >"$scratch/wanted"
grep -oE '<title>[a-z]+, [0-9K]+ threads: ' "$page" | sed 's/<title>//' | sort -u >"$scratch/found"
same "$(comm -23 <(sort -u "$scratch/wanted") "$scratch/found")" '' 'results that are no points'

# From the file, it is the same page; and in another order of the options.
run 0 report -o "$scratch/b" "$csv"
same "$(wc -c <"$out")$(wc -c <"$err")" 00 'bytes printed'
cmp -s "$page" "$scratch/b/index.html" || fail 'the page made of the file is another'
# Two files, one for each test, and a module's name in the current folder.
for test in alloc write fill; do
    awk -F, -v test=$test 'NR == 1 || $32 == test' "$csv" >"$scratch/$test.csv"
done
echo 'raise SystemExit("wrong module")' >"$scratch/csv.py"
(cd "$scratch" && exec "$quarry" report write.csv fill.csv --output c) >"$out" 2>&1 || fail 'two files'
page=$scratch/c/index.html
has 'id="fill"'
has_not 'id="frag"'

# A bandwidth: the most is best, and floors are none of it.
run 0 report -o "$scratch/c" "$scratch/write.csv"
has_not 'a store</t'
best=$(awk -F, '$4 == "write" && $6 == 16 && $37 / $9 > most { most = $37 / $9; name = $3 } END { print name }' "$csv")
same "$(grep -oE '<th scope="col">[a-z]+</th>|<td class="h[0-6]" title="[0-9.]+ GB/s \([0-9.]+ GB/s to ' "$page" |
    awk -v best="$best" -F'[<>"]' '/<th/ { name[n++] = $5 } /<td/ && !found { found = name[n - 3 + k++] == best ? $3 : "" } END { print found }')" h0 \
    'the best bandwidth'

# ---- gaps ----

# A GPU whose name has markup; results that hang, and some that are not there.
sed -E '2,$s/^"[^"]*",cpu,/"<b>""X"" \& Y<\/b>",cuda,/' "$csv" |
    awk -F, 'BEGIN { OFS = "," } $3 == "corw" && $32 == "alloc" && $5 == 256 { $9 = $10 = $11 = $22 = $23 = ""; $12 = 0; $14 = 0; $33 = "hung" }
        !($3 == "scatter" && $6 == 16) && (NR == 1 || $32 ~ /alloc|frag/)' | sed '/hung/s/,"","quarry bench/,"ended after <30 s>","quarry bench/' >"$scratch/gpu.csv"
run 0 report -o "$scratch/d" "$scratch/gpu.csv"
page=$scratch/d/index.html
structure "$page" >"$out" || fail 'the structure of a page with gaps'
has '&lt;b&gt;&quot;X&quot; &amp; Y&lt;/b&gt;'
has_not '<b>"X"'
has 'Times are of single kernels between two events'
has "<summary>$(grep -c hung "$scratch/gpu.csv") of $(($(wc -l <"$scratch/gpu.csv") - 1)) results are missing</summary>"
has 'ended after &lt;30 s&gt;'
has '>hung</td>'
# One allocator; one result; none that is ok.
awk -F, 'NR == 1 || $3 == "rw" && $32 ~ /mixed|frag|init/' "$csv" >"$scratch/one.csv"
run 0 report -o "$scratch/e" "$scratch/one.csv"
structure "$scratch/e/index.html" >"$out" || fail 'the structure of a page of one allocator'
head -2 "$csv" >"$scratch/one.csv"
run 0 report -o "$scratch/e" "$scratch/one.csv"
structure "$scratch/e/index.html" >"$out" || fail 'the structure of a page of one result'
prints '^3 [0-9]+ 2$'
(head -1 "$csv"; grep hung "$scratch/gpu.csv") >"$scratch/one.csv"
run 0 report -o "$scratch/e" "$scratch/one.csv"
structure "$scratch/e/index.html" >"$out" || fail 'the structure of a page of no result'
prints '^0 0 3$'
# An older file has no command, nor what came after it.
sed -E 's/,(command|"[^"]*"),[a-z]*$//' "$scratch/write.csv" >"$scratch/old.csv"
run 0 report -o "$scratch/e" "$scratch/old.csv"
page=$scratch/e/index.html
has '<code>not recorded</code>'

# Many allocators: no two have the same mark in the same colour, which the ids of marks stand for, and names stay within the drawing.
awk -F, 'BEGIN { OFS = "," } NR == 1 { print } $3 == "rw" && $32 == "alloc" && $6 == 16 { for (i = 10; i < 34; i++) { $3 = "a" i; $10 = $9 / 10; $11 = $9 * 10; print } }' \
    "$csv" >"$scratch/many.csv"
run 0 report -o "$scratch/f" "$scratch/many.csv"
structure "$scratch/f/index.html" >"$out" || fail 'the structure of a page of 24 allocators'
"$python" - "$scratch/f/index.html" >"$out" 2>&1 <<'EOP' || fail 'the drawings of 24 allocators'
import re, sys
for svg in re.findall("<svg.*?</svg>", open(sys.argv[1], encoding="utf-8").read(), re.S):
    marks = dict(re.findall(r'<use xlink:href="#(\w+)"[^>]*><title>(a[0-9]+), ', svg))
    assert sorted(marks.values()) == [f"a{i}" for i in range(10, 34)], marks
    height = float(re.search(r'viewBox="0 0 \S+ (\S+)"', svg)[1])
    assert all(0 < float(y) < height for y in re.findall(r'<text[^>]* y="([-0-9.]+)"', svg)), "names outside"
EOP
same "$(cat "$out")" '' 'what the drawings of 24 allocators lack'

# ---- refused ----

# refused SED PATTERN: the file, changed so, is refused, and there is no page.
refused() {
    sed -E "$1" "$scratch/alloc.csv" >"$scratch/bad.csv"
    run 1 report -o "$scratch/no" "$scratch/bad.csv"
    says "$2"
    same "$(ls -A "$scratch/no" 2>/dev/null)" '' "files after '$1'"
}
refused '1s/,status,/,state,/' "bad.csv: line 1: there is no column 'status'"
refused '3s/,1000+,/,x&/;3s/,16,16,/,x,16,/' "bad.csv: line 3: bytes: 'x' is no number"
refused '3s/,16,16,/,0,16,/' "bad.csv: line 3: bytes: '0' is no number"
refused '3s/,16,16,/,nan,16,/' "bad.csv: line 3: bytes: 'nan' is no number"
refused '4s/,alloc,ok,/,alloc,fine,/' "bad.csv: line 4: status: 'fine' is none of ok, "
refused '4s/^[^,]*,//' 'bad.csv: line 4: 46 values, but 47 columns'
refused '4s/^"/"a"b/' "bad.csv: line 4: ','"
refused '4s/cpu/cuda/' 'bad.csv: line 4: measured on .*: a report is of one device'
refused '5p' 'bad.csv: line 6: the result of .*bad.csv, line 5 again'
refused '1!d' 'bad.csv: there are no results'
refused 'd' "bad.csv: line 1: there is no column 'device'"
head -c 900 /dev/urandom >"$scratch/noise"
run 1 report -o "$scratch/no" "$scratch/noise"
says 'noise: line 1: '
run 1 report -o "$scratch/no" "$scratch/alloc.csv" "$scratch/alloc.csv"
says 'line 2: the result of .*alloc.csv, line 2 again'
run 1 report -o "$scratch/no" "$scratch/nonesuch.csv"
says 'nonesuch.csv: can.t be read: No such file'
run 1 report -o "$scratch/alloc.csv" "$csv"
says 'alloc.csv: is no directory'
# What was there stays, and nothing is measured for a report that can't be made.
cp "$scratch/b/index.html" "$scratch/kept.html"
run 1 report -o "$scratch/b" "$scratch/bad.csv"
cmp -s "$scratch/b/index.html" "$scratch/kept.html" || fail 'the page of before is gone'
run 1 bench --backend cpu --test alloc --csv="$scratch/fine" --report "$scratch/alloc.csv"
says 'alloc.csv: is no directory'
same "$(ls "$scratch/fine" 2>/dev/null)" '' 'files of a run whose report can not be made'
PYTHONHOME=$scratch/nonesuch run 1 report -o "$scratch/no" "$csv"
says 'with matplotlib, and there is none: install python3-matplotlib'
mkdir "$scratch/fake"
echo 'raise ImportError' >"$scratch/fake/matplotlib.py"
PYTHONPATH=$scratch/fake run 1 report -o "$scratch/no" "$csv"
says 'matplotlib, which this Python lacks: install python3-matplotlib'

run 2 report "$csv"
says 'name a folder with --output'
run 2 report -o "$scratch/no"
says 'name a CSV file'
run 2 report -o '' "$csv"
says 'name a folder'
run 2 bench --report=
says '--report=: name a folder'
run 2 bench --compare --report "$scratch/no" "$csv" "$csv"
says '.quarry report. draws files'
finish
