# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the tests of the command share; sourced.  The last command's output lies in $out and $err, which run()
# writes; $checks and $failures count.
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
out=$scratch/out
err=$scratch/err
true >"$out" 2>"$err"
checks=0
failures=0

# fail TEXT: reports with what the last command printed.
fail() {
    failures=$((failures + 1))
    echo "FAILED: $1"
    head -c 2000 "$out" | cat -v | cut -c 1-200 | sed 's/^/    out: /' | head -20
    head -c 2000 "$err" | sed 's/^/    err: /'
}

# run CODE ARGUMENT...: runs $quarry, the command or another program, and checks its exit code.
# shellcheck disable=SC2154 # quarry: the sourcing script has it
run() {
    local expected=$1 code
    shift
    "$quarry" "$@" >"$out" 2>"$err"
    code=$?
    checks=$((checks + 1))
    [ "$code" -eq "$expected" ] || fail "${quarry##*/} $*: exit code $code instead of $expected"
}

# run_on_heap COMMAND CODE ARGUMENT...: the same of a command on $backend, whose heap, if there is one, is small, for
# speed.
# shellcheck disable=SC2154 # backend, likewise
run_on_heap() {
    local command=$1 expected=$2 code heap=--heap=16M
    shift 2
    [[ " $* " != *' --method two-pass '* ]] || heap=
    timeout 600 "$quarry" "$command" --backend "$backend" $heap "$@" >"$out" 2>"$err"
    code=$?
    checks=$((checks + 1))
    [ "$code" -eq "$expected" ] || fail "$command $*: exit code $code instead of $expected"
}

# prints PATTERN: the last command's standard output has such a line.
prints() {
    checks=$((checks + 1))
    grep -Eq -- "$1" "$out" || fail "no line like '$1'"
}

prints_not() {
    checks=$((checks + 1))
    ! grep -Eq -- "$1" "$out" || fail "a line like '$1'"
}

# says PATTERN: the last command printed one line on standard error, like that, and nothing else.
says() {
    checks=$((checks + 1))
    if [ "$(wc -l <"$err")" -ne 1 ] || ! grep -Eq -- "^quarry(-overhead|-blocks)?: .*$1" "$err"; then
        fail "not one sentence like '$1'"
    fi
    [ ! -s "$out" ] || fail 'an error, but also output'
}

# same ACTUAL EXPECTED WHAT
same() {
    checks=$((checks + 1))
    [ "$1" = "$2" ] || fail "$3: '$1' instead of '$2'"
}

# on_terminal COLUMNS PROGRAM ARGUMENT...: runs it on a terminal of so many columns, which $out is then all of.
on_terminal() {
    # shellcheck disable=SC2016 # sh expands it
    python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' sh -c 'stty cols "$0" && exec "$@"' "$@" >"$out" 2>"$err" </dev/null
    same $? 0 'exit code on a terminal'
}

# few WORD...: all of them, or the last where QUARRY_TEST_THREADS asks for less, as .ci/run does under sanitizers.
few() {
    [ -z "${QUARRY_TEST_THREADS:-}" ] || set -- "${@: -1}"
    echo "$*"
}

# finish: the last line, and the exit code.
finish() {
    echo "$checks checks, $failures failures"
    [ "$failures" -eq 0 ]
}
