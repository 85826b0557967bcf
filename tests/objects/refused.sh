#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Schemas that can't be: each is refused by the compiler, with a sentence that names the type or the field.
#
#   refused.sh COMPILER
set -eu
cd "$(dirname "$0")/../.."
compiler=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# look SENTENCE TYPES...: a schema of these lines; '' is compiled.
look() {
    sentence=$1
    shift
    {
        echo '#include "quarry/schema.h"'
        printf '%s\n' "$@"
        echo 'QUARRY_SCHEMA(world, WORLD)'
    } >"$scratch/schema.c"
    if "$compiler" -std=c11 -Iinclude -fsyntax-only "$scratch/schema.c" 2>"$scratch/said"; then
        [ -z "$sentence" ] || { echo "refused.sh: compiled, but not '$sentence'" && failed=1; }
    elif [ -z "$sentence" ] || ! grep -qF "$sentence" "$scratch/said"; then
        echo "refused.sh: not '$sentence':"
        head -3 "$scratch/said"
        failed=1
    fi
}

a='#define A(FIELD, T) FIELD(T, double, x) FIELD(T, char, c)'
look '' "$a" '#define WORLD(TYPE) TYPE(a, object, A)'
look 'field x of type a must stand before' '#define A(FIELD, T) FIELD(T, char, c) FIELD(T, double, x)' \
    '#define WORLD(TYPE) TYPE(a, object, A)'
look '' 'struct wide { _Alignas(64) char c[64]; };' '#define A(FIELD, T) FIELD(T, struct wide, x)' \
    '#define WORLD(TYPE) TYPE(a, object, A)'
look 'field x of type a is aligned to at most 64 bytes' 'struct wide { _Alignas(128) char c[128]; };' \
    '#define A(FIELD, T) FIELD(T, struct wide, x)' '#define WORLD(TYPE) TYPE(a, object, A)'
look '' "$a" '#define B(FIELD, T) FIELD(T, double, y)' '#define WORLD(TYPE) TYPE(a, object, A) TYPE(b, a, B)'
look 'objects of type b have at least one field' "$a" '#define B(FIELD, T)' \
    '#define WORLD(TYPE) TYPE(a, object, A) TYPE(b, object, B)'
look 'an object of type b has at most 64 times' "$a" '#define B(FIELD, T) FIELD(T, double, y, 72) FIELD(T, char, c)' \
    '#define WORLD(TYPE) TYPE(a, object, A) TYPE(b, object, B)'
look '' "$a" '#define B(FIELD, T) FIELD(T, double, y, 72)' '#define WORLD(TYPE) TYPE(a, object, A) TYPE(b, object, B)'
look 'an object of type b has at most 16368 bytes' '#define A(FIELD, T) FIELD(T, double, x, 100)' \
    '#define B(FIELD, T) FIELD(T, double, y, 2047)' '#define WORLD(TYPE) TYPE(a, object, A) TYPE(b, object, B)'
look '' '#define A(FIELD, T) FIELD(T, double, x, 2046)' '#define WORLD(TYPE) TYPE(a, object, A)'
look 'schema world has a type that is not abstract' "$a" '#define WORLD(TYPE) TYPE(a, object, A, abstract)'
sixteen="#define SIXTEEN(TYPE, p) $(for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do printf 'TYPE(p##%s, object, A) ' $i; done)"
look '' "$a" "$sixteen" '#define WORLD(T) SIXTEEN(T, a) SIXTEEN(T, b) SIXTEEN(T, c) SIXTEEN(T, d)'
look 'schema world has at most 64 types' "$a" "$sixteen" \
    '#define WORLD(T) SIXTEEN(T, a) SIXTEEN(T, b) SIXTEEN(T, c) SIXTEEN(T, d) T(one, object, A)'
exit "$failed"
