#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scripts/standing.py: docs/reproduction/standing.md is what it prints; its arithmetic, on a survey of three rows; the picture, where
# matplotlib is installed; a survey as the command writes it today, and as scripts/survey.sh does; and what it refuses.
#
#   standing.sh QUARRY     the binary
set -u

quarry=$1
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
script=$(realpath "$(dirname "$0")/../../scripts/standing.py")
folder=$(realpath "$(dirname "$0")/../../docs/reproduction")
survey=$scratch/survey.csv

if ! command -v python3 >/dev/null 2>&1; then
    echo 'skipped: no python3 here'
    exit 77
fi

# standing CODE FILE...: runs the script and checks its exit code.
standing() {
    quarry=$script run "$@"
}

# refuses PATTERN: the last call printed one such sentence, and no page.
refuses() {
    checks=$((checks + 1))
    if [ -s "$out" ] || [ "$(wc -l <"$err")" -ne 1 ] || ! grep -q "^standing.py: .*$1" "$err"; then
        fail "not one sentence like '$1'"
    fi
}

standing 0
checks=$((checks + 1))
cmp -s "$out" "$folder/standing.md" || fail 'docs/reproduction/standing.md is not what scripts/standing.py prints: let it print the page again'

# Twice and half the best peer's time, at four times the floor; a cell measured twice, of which the later counts, but not one of a heap with
# a policy, or with --set.  What hung has no time.
cat >"$survey" <<'END'
device,driver,backend,allocator,test,op,threads,bytes_least,bytes,draw,free_percent,lanes,heap_bytes,status,median_us,store_floor_us,utilisation,registers,fault,commit,command,debug,alignment,distribution,oom,page
GPU,1,cuda,slow,alloc,malloc,131072,16,16,one,100,32,1073741824,ok,14.2,3.55,,,,c0ffee,quarry bench,0,16,none,null,16
GPU,1,cuda,fast,alloc,malloc,131072,16,16,one,100,32,1073741824,ok,99,3.55,,,,c0ffee,quarry bench,0,16,none,null,16
GPU,1,cuda,fast,alloc,malloc,131072,16,16,one,100,32,1073741824,ok,3.55,3.55,,,,c0ffee,quarry bench,0,16,none,null,16
GPU,1,cuda,slow,alloc,malloc,131072,64,64,one,100,32,1073741824,hung,,3.55,,,ended after 30 s,c0ffee,quarry bench,0,16,none,null,64
GPU,1,cuda,fast,alloc,malloc,131072,64,64,one,10,32,1073741824,ok,1,3.55,,,,c0ffee,quarry bench,0,16,none,null,64
GPU,1,cuda,slow,fill,fill,16384,16,16,one,100,32,1073741824,ok,,,.99999,,,c0ffee,quarry bench,0,16,none,null,16
GPU,1,cuda,fast,alloc,malloc,131072,16,16,one,100,32,1073741824,ok,1,3.55,,,,c0ffee,quarry bench,0,16,warp,null,16
GPU,1,cuda,fast,alloc,malloc,131072,16,16,one,100,32,1073741824,ok,1,3.55,,,,c0ffee,quarry bench --set probes=1,0,16,none,null,16
END
standing 0 "$survey"
prints '^\| 131072 x 16 \| ScatterAlloc 7.1 us \| 2.4x \| 3,780x \| 4.0x · 2.00 \| \*\*1.0x · 0.50\*\* \| 0.50 \|$'
prints '^\| 131072 x 64 \| ScatterAlloc 7.6 us \| 2.5x \| 3,780x \| — \| — \| — \|$'
prints '^\| ahead in, mean \|  \|  \|  \| 0 of 1, 2.00 \| 1 of 1, 0.50 \| 1 of 1, 0.50 \|$'
prints '^The best of ours is ahead of every peer in 1 of 1 cells\.$'
prints '^quarry bench --backend cuda --test mixed --threads 1048576 --size 4-64 --csv$'
prints '^\| .slow. \| 0.9999 \| — \|'
prints_not '^\| .fast. \|'
prints_not '^## Sizes that change'
prints_not ' MiB, the peers'
prints_not ', best page|\*best page\*'
prints ' Pages are as large as blocks\. In mixed'
# What an allocator's pages are by default is what rows have whose command names none.
sed 's/\(,slow,.*\),[0-9]*$/\1,4096/' "$survey" >"$scratch/fixed.csv"
standing 0 "$scratch/fixed.csv"
prints ' Pages are as large as blocks, but 4096 bytes with .slow.\. In mixed'
prints '^\| 131072 x 16 \|.*\| 4.0x · 2.00 \| \*\*1.0x · 0.50\*\* \| 0.50 \|$'
prints_not ', best page|\*best page\*'
sed -i '/,fast,/d' "$survey"
standing 0 "$survey"
prints '^- 131072 x 16: .slow. takes 14.2 us, 2.00 times ScatterAlloc.s 7.1\.$'

# Sizes that change: those who have times, with their usual pages; the later ones of a cell.
{
    cat "$survey"
    while read -r name op cell result command; do
        echo "GPU,1,cuda,$name,changing,$op,$cell,uniform,100,32,1073741824,$result,3.55,,,,c0ffee,$command"
    done <<'END'
slow malloc 131072,4,64 ok,9.25 quarry bench,0,16,none,null,64
slow malloc 131072,4,64 ok,8.25 quarry bench,0,16,none,null,64
slow free 131072,4,64 ok,7 quarry bench,0,16,none,null,64
slow free 131072,4,64 ok,1 quarry bench --page 16,0,16,none,null,16
fast malloc 131072,4,64 ok,123.4 quarry bench,0,16,none,null,64
fast free 131072,4,64 hung, quarry bench,0,16,none,null,64
quick free 131072,4,64 hung, quarry bench,0,16,none,null,64
quick malloc 1048576,4,1024 ok,1234 quarry bench,0,16,none,null,1024
quick free 1048576,4,1024 ok,20 quarry bench,0,16,none,null,1024
END
} >"$scratch/changing.csv"
standing 0 "$scratch/changing.csv"
prints '^## Sizes that change$'
prints '^\| threads x bytes \| .slow. \| .fast. \| .quick. \|$'
prints '^\| 131072 x 4-64 \| 8\.2, 7\.0 \| 123, — \| — \|$'
prints '^\| 1048576 x 4-1024 \| — \| — \| 1,230, 20\.0 \|$'
prints '^\| threads x bytes \| best peer \| of the floor \| CUDA malloc \| .slow. \| best of ours / best peer \|$'

# Rows of other pages are a column of their own, which names the best of them, the default's among them; a page measured twice counts as the
# later; the fullest is the best where no time is compared.
cat >"$scratch/pages.csv" <<'END'
device,driver,backend,allocator,test,op,threads,bytes_least,bytes,draw,free_percent,lanes,heap_bytes,status,median_us,store_floor_us,utilisation,registers,fault,commit,command,debug,alignment,distribution,oom,page
GPU,1,cuda,rw-malloc,alloc,malloc,131072,16,16,one,100,32,8589934592,ok,14.2,3.55,,,,c0ffee,quarry bench --csv=a.csv,0,16,none,null,64
GPU,1,cuda,rw-malloc,alloc,malloc,131072,16,16,one,100,32,8589934592,ok,1,3.55,,,,c0ffee,quarry bench --csv=b.csv --page 32,0,16,none,null,32
GPU,1,cuda,rw-malloc,alloc,malloc,131072,16,16,one,100,32,8589934592,ok,7.81,3.55,,,,c0ffee,quarry bench --csv=b.csv --page 32,0,16,none,null,32
GPU,1,cuda,rw-malloc,alloc,malloc,131072,16,16,one,100,32,8589934592,ok,9,3.55,,,,c0ffee,quarry bench --page 16,0,16,none,null,16
GPU,1,cuda,rw-malloc,alloc,malloc,131072,256,256,one,100,32,8589934592,ok,5.45,3.55,,,,c0ffee,quarry bench,0,16,none,null,64
GPU,1,cuda,rw-malloc,alloc,malloc,131072,256,256,one,100,32,8589934592,ok,6,3.55,,,,c0ffee,quarry bench --csv=b.csv --page 32,0,16,none,null,16
GPU,1,cuda,rw-malloc,alloc,malloc,131072,1024,1024,one,100,32,8589934592,ok,5.45,3.55,,,,c0ffee,quarry bench --csv=b.csv --page 32,0,16,none,null,1024
GPU,1,cuda,rw-malloc,fill,fill,1024,16,16,one,100,32,268435456,ok,,,.249,,,c0ffee,quarry bench,0,16,none,null,64
GPU,1,cuda,rw-malloc,fill,fill,1024,16,16,one,100,32,1073741824,ok,,,.98765,,,c0ffee,quarry bench --csv=b.csv --page 32,0,16,none,null,16
GPU,1,cuda,rw-malloc,fill,fill,1024,64,64,one,100,32,1073741824,ok,,,.99,,,c0ffee,quarry bench,0,16,none,null,64
GPU,1,cuda,rw-malloc,init,create,1,16,16,one,100,32,8589934592,ok,777000,,,,,c0ffee,quarry bench,0,16,none,null,64
GPU,1,cuda,rw-malloc,init,create,1,16,16,one,100,32,8589934592,ok,999000,,,,,c0ffee,quarry bench --csv=b.csv --page 32,0,16,none,null,16
END
standing 0 "$scratch/pages.csv"
prints '^- \*\*Ours\*\*: .quarry bench. and 2 more, which the rows name, GPU, driver 1, commit .c0ffee.;$'
prints '^  pages\.csv\.$'
prints '^\| threads x bytes \|.*\| .rw-malloc. \| .rw-malloc., best page \| best of ours'
prints '^\| 131072 x 16 \|.*\| 4.0x · 2.00 \| 2.2x · 1.10 · 32 B \| 1.10 \|$'
prints '^\| 131072 x 256 \|.*\| \*\*1.5x · 0.50\*\* \| \*\*1.5x · 0.50\*\* · 64 B \| 0.50 \|$'
prints '^\| 131072 x 1024 \|.*\| — \| \*\*1.5x · 0.50\*\* · 1024 B \| 0.50 \|$'
prints '^- 131072 x 16: .rw-malloc. with pages of 32 bytes takes 7\.8 us, 1\.10 times ScatterAlloc.s 7.1\.$'
prints '^The best of ours is ahead of every peer in 2 of 3 cells and behind'
prints '^\| .rw-malloc. \| 0.2490 \| 0.9900 \| — \|'
prints '^\| .rw-malloc., best page \| 0.9876 · 16 B \| 0.9900 · 64 B \| — \|'
prints '^Ours is of heaps of 256 MiB and 1 GiB, the peers. of 1 GiB\.$'
prints '^quarry bench --backend cuda --test fill --size 16,1000,1024,4096 --heap 1G --csv$'
prints '^\| ms \|.* 777 \|'
prints_not ' 999 \|'
prints_not 'heaps of 8 GiB'
prints ' another kind of device'
sed '/,init,/d; s/8589934592/1073741824/; s/^GPU/NVIDIA H100 80GB HBM3/; 3d' "$scratch/pages.csv" >"$scratch/same.csv"
standing 0 "$scratch/same.csv"
prints ' the same kind of device'
prints_not 'Measured were'
prints '^Ours is of heaps of 1 GiB, the peers. of 8 GiB\.$'
standing 0 "$scratch/pages.csv" "$scratch/same.csv"
prints ' several kinds of device'
prints '^  Measured were .rw-malloc. on the GPU; .rw-malloc. on the NVIDIA H100 80GB HBM3\.$'
prints '^  pages.csv, same.csv\.$'

# The survey beside the page is linked, however it is named, and any file may begin with a byte order mark.
standing 0 "$folder"/survey-*.csv.gz
prints '^  \[(survey-[^]]*)\]\(survey-.*\)\.$'
{
    printf '\357\273\277'
    cat "$survey"
} >"$scratch/marked.csv"
standing 0 "$scratch/marked.csv"

# The picture: the best page of a cell, the peers by name; the heap, the devices and the commits of the
# rows that are drawn; no other rows.
chart=$scratch/chart.svg
if python3 -c 'import matplotlib' 2>/dev/null; then
    sed 's/^GPU,\(.*,256,256,.*,\)64$/Other,\1128/; s/,rw-malloc,/,quarry,/' "$scratch/pages.csv" >"$scratch/drawn.csv"
    sed -n 's/^GPU,\(.*\),rw-malloc,\(alloc,malloc,131072,\)16,16,\(.*c0ffee\)\(.*\),64$/GPU,\1,quarry,\24096,4096,\3e\4,64/p' "$scratch/pages.csv" >>"$scratch/drawn.csv"
    standing 0 --chart "$chart" "$scratch/drawn.csv"
    [ ! -s "$out" ] || fail 'a page beside the picture'
    cp "$chart" "$out"
    prints '<svg'
    prints '>ScatterAlloc<'
    prints '>Ouroboros P-S<'
    prints '>hangs at 4096<'
    prints '>quarry, best page<'
    prints 'an empty heap of 8 GiB<'
    prints '>quarry: GPU, commit c0ffee, commit c0ffeee<'
    prints_not 'Gallatin|Other'
    standing 1 --chart "$scratch/none/chart.svg" "$scratch/drawn.csv"
    refuses "chart.svg: can't be written: No such file"
else
    standing 1 --chart "$chart" "$folder"/quarry-h100.csv.gz
    refuses 'drawn by matplotlib'
fi
rm -f "$chart"
standing 1 --chart "$chart" "$survey"
refuses 'too few cells of quarry'
[ ! -e "$chart" ] || fail 'a picture of too few cells'

# Times of a CPU are beside nobody's; but the columns are those of today.
nice "$quarry" bench --backend cpu --quick --allocator rw --runs 1 --test init,registers --csv="$scratch/cpu.csv" >/dev/null
standing 1 "$scratch/cpu.csv"
refuses 'cpu.csv: not all of it was measured on a GPU'
sed 's/,cpu,/,cuda,/' "$scratch/cpu.csv" >"$scratch/gpu.csv"
standing 0 "$scratch/gpu.csv"
prints '^\|  \|.* .rw. \|'

# The list of what is measured, with little of it, on the CPU.
cat >"$scratch/little" <<END
#!/bin/bash
all=" \$*"
all=\${all/ cuda/ cpu} all=\${all/ [18]G/ 32M} all=\${all/ 131072,1M/ 32,64} all=\${all/ 1,1024,16384/ 1,33}
exec '$quarry' \$all --runs 1
END
chmod +x "$scratch/little"
nice "$(dirname "$script")/survey.sh" "$scratch/little" quarry >"$scratch/cpu.csv" 2>"$err" || fail 'scripts/survey.sh'
same "$(grep -c '^device,' "$scratch/cpu.csv")" 1 'heads of the columns'
sed 's/,cpu,/,cuda,/' "$scratch/cpu.csv" >"$scratch/gpu.csv"
standing 0 "$scratch/gpu.csv"
prints '^\| (32|64) x 4-8192 \| [0-9,.]+, [0-9,.]+ \|$'
prints '^\| .quarry. \| 0\.[0-9]+ \| 0\.[0-9]+ \| 0\.[0-9]+ \| 0\.[0-9]+ \| 0\.[0-9]+ \|$'
prints '^\|  \|.* .quarry. '
"$(dirname "$script")/survey.sh" false quarry >"$out" 2>&1 && fail 'scripts/survey.sh does not tell that something went wrong'
checks=$((checks + 2))

standing 1 "$scratch/none.csv"
refuses "none.csv: can't be read: No such file"
sed 's/,page$/,pages/' "$survey" >"$scratch/bad.csv"
standing 1 "$scratch/bad.csv"
refuses "bad.csv: there is no column 'page'"
sed 's/,median_us,/,mean_us,/' "$survey" >"$scratch/bad.csv"
standing 1 "$scratch/bad.csv"
refuses "bad.csv: there is no column 'median_us'"
sed 's/14\.2/x/' "$survey" >"$scratch/bad.csv"
standing 1 "$scratch/bad.csv"
refuses "bad.csv: could not convert string to float: 'x'"
sed 's/14\.2/-1/' "$survey" >"$scratch/bad.csv"
standing 1 "$scratch/bad.csv"
refuses "bad.csv: '-1' is no number it can have"
sed '3s/,[^,]*$//' "$survey" >"$scratch/bad.csv"
standing 1 "$scratch/bad.csv"
refuses 'bad.csv: row 3: not as many values as columns'
sed 's/,3\.55,/,,/' "$survey" >"$scratch/bad.csv"
standing 1 "$scratch/bad.csv"
refuses 'bad.csv: no row has a store floor'
sed '2s/,3\.55,/,0,/; s/,1073741824,/,,/' "$survey" >"$scratch/bad.csv"
standing 0 "$scratch/bad.csv"
head -1 "$survey" >"$scratch/bad.csv"
standing 1 "$survey" "$scratch/bad.csv"
refuses 'bad.csv: there are no results'
head -c 999 /dev/urandom >"$scratch/bad.csv.gz"
standing 1 "$scratch/bad.csv.gz"
refuses 'bad.csv.gz: can.t be read: '
finish
