#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# examples/objects on one backend: each application is right beside its sequential program, and what it refuses.
#
#   objects.sh OBJECTS     the binary; QUARRY_TEST_BACKEND: cpu or cuda
set -u

quarry=$1
# shellcheck source=tests/cli/common.sh
. "$(dirname "$0")/common.sh"
backend=${QUARRY_TEST_BACKEND:-cpu}

# Random worlds: narrow, empty, full.
worlds=('--width 120 --height 80 --steps 30' '--width 1 --height 200 --steps 5 --alive 50' '--width 40 --height 40 --steps 3 --alive 0'
    '--width 64 --height 33 --steps 10 --alive 100' '--width 90 --height 90 --steps 20 --seed 7 --alive 40')
seas=('--width 60 --height 40 --steps 40' '--width 1 --height 1 --steps 10' '--width 2 --height 7 --steps 20'
    '--width 90 --height 50 --steps 20 --seed 7')
backings='objects aos soa'
flight=9000 # long enough to reach the edge
if [ -n "${QUARRY_TEST_THREADS:-}" ]; then # sanitizers are slow: the applications' code is the same
    worlds=("${worlds[@]: -1}")
    seas=("${seas[@]: -1}")
    backings='objects aos'
    flight=300
fi
for backing in $backings; do
    checked=(--check --backend "$backend" --backing "$backing")
    for world in "${worlds[@]}"; do
        # shellcheck disable=SC2086 # words
        run 0 gol "${checked[@]}" $world
        prints 'every step is right$'
    done
    for sea in "${seas[@]}"; do
        # shellcheck disable=SC2086 # words
        run 0 wa-tor "${checked[@]}" $sea
        prints 'every step is right$'
    done
    for bodies in 1 2 300; do
        run 0 nbody "${checked[@]}" --steps 10 --bodies $bodies
        prints 'every step is right$'
    done
    run 0 linux-scalability "${checked[@]}" --threads 500 --objects 33 --rounds 3
    prints 'every slot once$'
    run 0 linux-scalability --backend "$backend" --backing "$backing" --threads 500 --objects 2
    prints '; a store for each [0-9.]+ us$'
    run 0 dust "${checked[@]}" --bodies 3000 --steps 5
    prints 'each was visited each time$'
done
# Gliders, which fly for ever.
# shellcheck disable=SC2016 # $ is of the pattern
printf '#C a glider\nx = 3, y = 3, rule = B3/S23\nbo$2bo$\n3o!\n' >"$scratch/glider.rle"
run 0 gol --backend "$backend" --check --width 60 --height 50 --pattern "$scratch/glider.rle" --copies 3 --steps 30
prints 'gol: 60 x 50, 45 alive, after 30 steps 45; .* every step is right$'
# How full blocks are.
run 0 gol --backend "$backend" --fragmentation --width 60 --height 40 --steps 2
same "$(grep -Ec '^after step [12]: [0-9]+ of [0-9]+ slots are used, 0\.[0-9]{3} are empty$' "$out")" 2 'slots of each step'
if [ "$backend" = cpu ] && [ -z "${QUARRY_TEST_THREADS:-}" ]; then # objects that come and go leave few slots empty: .45
    run 0 gol --backend cpu --fragmentation --width 160 --height 160 --steps 60
    same "$(grep -Ec '^after step 60: .*, 0\.[0-5][0-9]{2} are empty$' "$out")" 1 'blocks are filled'
fi
run 0 nbody --backend "$backend" --check --steps $flight --bodies 12 --seed 1
prints 'every step is right$'

# Each draws a picture, if libpng was there.
if "$quarry" gol --steps 0 --backend "$backend" --picture "$scratch/picture" >"$out" 2>"$err"; then
    for app in 'gol --steps 3' 'wa-tor --steps 3' 'nbody --steps 3' 'linux-scalability --threads 100'; do
        # shellcheck disable=SC2086 # words
        run 0 $app --backend "$backend" --picture "$scratch/${app% --*}.png"
        same "$(head -c 8 "$scratch/${app% --*}.png" | od -An -c | tr -d ' ')" '211PNG\r\n032\n' "the picture of $app"
    done
    run 1 gol --backend "$backend" --steps 0 --picture "$scratch/nowhere/gol.png"
    same "$(grep -c "^objects: cannot write the picture $scratch/nowhere/gol.png: " "$err")" 1 'a sentence about a picture'
    run 2 dust --picture "$scratch/dust.png"
    same "$(cat "$err")" 'objects: --picture is not for dust' 'a picture of dust'
else
    same "$(cat "$err")" 'objects: --picture: this program was built without libpng' 'without libpng'
fi

# refuses PATTERN ARGUMENT...: one sentence like that, and nothing else.
refuses() {
    local pattern=$1
    shift
    run 2 "$@"
    checks=$((checks + 1))
    if [ "$(wc -l <"$err")" -ne 1 ] || ! grep -Eq -- "^objects: $pattern\$" "$err" || [ -s "$out" ]; then
        fail "not one sentence like '$pattern'"
    fi
}
refuses 'there is no application "life": it must be gol, wa-tor, nbody, linux-scalability or dust' life
refuses 'which application\? gol, wa-tor, nbody, linux-scalability or dust'
refuses 'there is one application too many: gol' gol gol
refuses '--width is "0": it must be a number from 1 to 65535' gol --width 0
refuses '--steps is "1x": .*' gol --steps 1x
refuses '--bodies is "0": .*' nbody --bodies 0
refuses '--objects is "1025": .*' linux-scalability --objects 1025
refuses '--backing is "list": it must be objects, aos or soa' gol --backing list
refuses '--copies is for --pattern' gol --copies 2
refuses '--fragmentation is for --backing objects' gol --backing soa --fragmentation
refuses '--allocator is for --backing aos' gol --allocator rw-malloc
refuses '--bodies is not for gol' gol --bodies 5
refuses '--steps is not for linux-scalability' linux-scalability --steps 5
refuses '--seed is not for dust' dust --seed 5
refuses '--fragmentation is not for nbody' nbody --fragmentation
refuses '--backend is "gpu": it must be cuda or cpu' gol --backend gpu
# too_many SENTENCE ARGUMENT...
too_many() {
    local sentence=$1
    shift
    run 1 "$@" --backend "$backend"
    same "$(cat "$err")" "objects: so many objects need $sentence" "too many: $*"
}
blocks='blocks in the heap, but there can be at most 67108863'
places='places in a table, but there can be at most 2147483648'
too_many "356068642 $blocks" wa-tor --width 65535 --height 65535
too_many "352791141 $blocks" gol --width 65535 --height 65535
too_many "536870912 $blocks" linux-scalability --threads 16777216 --objects 1024
too_many "4294836225 $places" wa-tor --width 65535 --height 65535 --backing soa
too_many "4294836225 $places" gol --width 65535 --height 65535 --backing aos
too_many "17179869184 $places" linux-scalability --threads 16777216 --objects 1024 --backing aos
# no_pattern SENTENCE TEXT: a file with that text is none.
no_pattern() {
    # shellcheck disable=SC2059 # it is a format
    printf "$2" >"$scratch/wrong.rle"
    run 1 gol --backend "$backend" --steps 0 --pattern "$scratch/wrong.rle"
    same "$(cat "$err")" "objects: cannot read the pattern $scratch/wrong.rle: $1" "a pattern '$2'"
}
no_pattern 'it has no line such as "x = 3, y = 3, rule = B3/S23"' '#C nothing else\n'
no_pattern 'it has no line such as "x = 3, y = 3, rule = B3/S23"' 'x = 0, y = 3\n!'
no_pattern "its rule is not Conway's, B3/S23" 'x = 1, y = 1, rule = B36/S23\no!'
no_pattern 'it has no ! at its end' 'x = 1, y = 1\no'
no_pattern 'it has more cells than its first line says' 'x = 1, y = 1\n2o!'
# shellcheck disable=SC2016
no_pattern 'it has more cells than its first line says' 'x = 1, y = 1\no$o!'
no_pattern 'a number in it is too large' 'x = 1, y = 1\n99999o!'
no_pattern 'it has something else than b, o, $, ! and numbers' 'x = 1, y = 1\nA!'
run 1 gol --backend "$backend" --pattern "$scratch/glider.rle" --copies 20 --width 59 --height 60
same "$(cat "$err")" 'objects: 20 x 20 copies of the pattern need --width 60 and --height 60 at least' 'too little room'
run 1 gol --backend "$backend" --pattern "$scratch/nothing"
same "$(cat "$err")" "objects: cannot read the pattern $scratch/nothing: No such file or directory" 'no file'
run 1 gol --backend "$backend" --backing aos --allocator scatter --steps 0
same "$(cat "$err")" \
    'objects: kernel gol_begin_aos was compiled for allocator rw-malloc, the heap has allocator scatter' \
    'another allocator than the kernels have'
finish
