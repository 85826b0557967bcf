#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds everything on a machine with a GPU and runs what only runs there:
#
#   test       the tests with the label gpu, group-bys and joins of the real files in QUARRY_DATA among them;
#              prints how many ran
#   sanitize   compute-sanitizer: memcheck and initcheck with up to 512 threads, racecheck for what uses
#              block-shared memory
#   bench      the tables of `quarry bench`, with the floors of the same run; and bench.csv
#   paper      the measurements behind docs/reproduction, as CSV: scripts/figures.py, and mallocs that fail; not
#              unless named
#
#   scripts/gpu.sh [STAGE...]          all stages unless some are named; exits 1 if any failed
#
# Environment, all optional
#   OUT          folder for logs (default: the build folder)
#   BUILD        build folder (build-gpu)
#   DEPS_DIR     folder with include/ and lib/ of the libraries that the machine has no packages of; make it
#                elsewhere with scripts/setup.sh unpack DIR
#   QUARRY_DATA  folder with the large data sets
#   ARCH         GPU architecture, such as 90 (that of the first GPU)
#   JOBS         parallel compilations (all cores)
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

build=${BUILD:-build-gpu}
jobs=${JOBS:-$(nproc)}
stages=${*:-test sanitize bench}
PATH=$PATH:/usr/local/cuda/bin
mkdir -p "$build"
out=${OUT:-$build}
failures=0

fail() {
    echo "gpu.sh: FAILED: $*"
    failures=$((failures + 1))
}

say() {
    printf '\n== %s (%d s)\n' "$*" "$SECONDS"
}

if ! gpu=$(nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null); then
    echo 'gpu.sh: nvidia-smi shows no GPU here' >&2
    exit 1
fi
echo "GPU: $gpu"
arch=${ARCH:-$(echo "$gpu" | sed -n '1s/.*, *\([0-9]*\)\.\([0-9]*\)$/\1\2/p')}

say "build for sm_$arch"
if ! { cmake -S . -B "$build" -DQUARRY_CUDA=ON -DQUARRY_TESTS=ON -DQUARRY_CUDA_ARCHITECTURES="$arch" \
    -DCMAKE_PREFIX_PATH="${DEPS_DIR:-}" && cmake --build "$build" --parallel "$jobs"; } >"$out/build.log" 2>&1; then
    grep -E 'error|Error' "$out/build.log" | head -n 40
    tail -n 20 "$out/build.log"
    exit 1
fi
quarry=$build/quarry
"$quarry" list || fail 'quarry list'

# The value of an attribute of the first element in a JUnit file.
junit() {
    sed -n "s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" "$out/gpu-tests.xml" | head -n 1
}

stage_test() {
    ctest --test-dir "$build" -L gpu --output-on-failure --no-tests=error --output-junit "$(realpath "$out")/gpu-tests.xml" \
        >"$out/gpu-tests.log" 2>&1 || fail 'gpu tests'
    grep -avE '^ *Start ' "$out/gpu-tests.log" | tail -n 80
    grep -aE '^equal: ' "$build/Testing/Temporary/LastTest.log"
    total=$(junit tests)
    skipped=$(junit skipped)
    failed=$(junit failures)
    ran=$((${total:-0} - ${skipped:-0}))
    echo "gpu tests: $ran ran ($((ran - ${failed:-0})) passed, ${failed:-0} failed), ${skipped:-0} skipped"
    [ "$ran" -gt 0 ] || fail 'no gpu test ran'
}

# sanitize TOOL COMMAND...: prints one line; exits 1 if the tool complained.
sanitize() {
    local options=(--tool "$1" --error-exitcode 86) log status=0
    local name="$1 ${2##*/} ${3:-}"
    # Tests make CUDA calls fail on purpose.
    [ "$1" != memcheck ] || options+=(--report-api-errors no)
    shift
    log=$(mktemp)
    # A program that skips itself exits with 77, which must not pass for clean here.
    if timeout 300 compute-sanitizer "${options[@]}" "$@" >"$log" 2>&1; then
        echo "$name: $(grep -aE 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -n 1 | sed 's/^=* *//') ($SECONDS s)"
    else
        status=1
        echo "$name: FAILED ($SECONDS s)"
        grep -aE '^=========|rror' "$log" | head -n 30
    fi
    { echo "---- $name"; cat "$log"; } >>"$out/sanitize.log"
    rm -f "$log"
    return $status
}

# A few at a time: they share the GPU by time slices, and kernels that wait for each other take long then.
stage_sanitize() {
    export QUARRY_TEST_BACKEND=cuda QUARRY_TEST_THREADS=512
    local tool program
    local bench="bench --backend cuda --heap 64M --runs 2 --threads 32,1024 --size 16,256 --watchdog 300"
    bench+=' --test alloc,free,shuffled,churn,producer-consumer,frag,workload,write'
    local groupby='groupby --backend cuda --heap 64M --column 2 tests/data/debian-sections.tsv.gz'
    local join='join --backend cuda --synthetic 16K --count'
    : >"$out/sanitize.log"
    export -f sanitize
    export out
    {
        for tool in memcheck initcheck; do
            for program in "$build"/tests/test_*; do
                [[ $program == *_races || $program == *_model ]] || echo "$tool $program"
            done
            echo "$tool $quarry $bench"
            echo "$tool $quarry $groupby"
            echo "$tool $quarry $join --heap 64M"
            echo "$tool $quarry $join --method two-pass"
        done
        for program in simt launch; do
            echo "racecheck $build/tests/test_$program"
        done
    } | xargs -P 4 -I{} bash -c 'sanitize {}' || fail 'compute-sanitizer'
}

stage_bench() {
    "$quarry" bench --backend cuda --csv="$out/bench.csv" >"$out/bench.txt" 2>&1 || fail 'quarry bench'
    cat "$out/bench.txt"
}

# The set-up of Pham et al., section 5.1: pages of 256 B, a pool of 10 GB.
stage_paper() {
    local run=("$quarry" bench --backend cuda --test alloc --heap 10G --size 256 --csv --free 0 --threads '1,1024,131072,1048576')
    python3 scripts/figures.py "$quarry" "$out" || fail 'figures'
    "${run[@]}" >"$out/full-proven.csv" || fail 'mallocs that fail'
    "${run[@]}" --low-free 0.5 >"$out/full-inferred.csv" || fail 'mallocs that fail by inference'
    wc -l "$out"/figure*.csv "$out"/full-*.csv
}

for stage in $stages; do
    case $stage in
    test | sanitize | bench | paper)
        say "$stage"
        "stage_$stage"
        ;;
    *) fail "no stage '$stage'" ;;
    esac
done

say "done, $failures failures"
[ "$failures" -eq 0 ]
