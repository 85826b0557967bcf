#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What programs see of the library.  libquarry.so, built for the CPU, exports what the headers declare and nothing else.
# libquarry.a marks the same as visible, so a shared library that links it exports no more.  All that a program could collide
# with begins with quarry_ or simt_.  And warnings are errors only where they were asked to be.
#
#   shared.sh cpu SETTINGS
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"

# The functions that the headers declare, and the one variable; but not what only the build of mode weak has.
for header in quarry.h trace.h object.h simt/cpu.h; do
    sed -nE '/^(static|typedef)/d; /simt_cpu_(forget|note_[a-z]+)\(/d; s/^[a-z].*[ *]((quarry|simt)_[a-z0-9_]+)(\(| __attribute__).*/\1/p' \
        "$SOURCE/include/quarry/$header"
done | sort >"$scratch/declared"
[ "$(wc -l <"$scratch/declared")" -gt 40 ] || fail 'this test finds no functions in the headers'

# same NAME: the names on standard input are those that the headers declare.
same() {
    sort >"$scratch/seen"
    diff "$scratch/declared" "$scratch/seen" || fail "$1: < only in the headers, > only in the library"
    echo "$1: $(wc -l <"$scratch/seen") names"
}

cd "$scratch"
# configure SOURCE FOLDER OPTION...
configure() {
    cmake -S "$1" -B "$2" -DQUARRY_CUDA=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "${@:3}" >log 2>&1 || { cat log; fail "$2"; }
    grep -q -e '-Wall' "$2/compile_commands.json" || fail "$2: no warnings"
}
configure "$SOURCE" strict -DQUARRY_TESTS=OFF -DQUARRY_WERROR=ON
grep -q -e '-Werror' strict/compile_commands.json || fail 'QUARRY_WERROR=ON changes nothing'
# In a folder of a project, as docs/guide/linking.md says; for the CPU, where cmake.sh part takes what there is.
enter cmake-part
ln -s "$SOURCE" quarry
block cmake-part >CMakeLists.txt
# Without -O gcc compiles all inline functions that a source sees, which takes it seven times as long.
configure . build -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O1
! grep -e '-Werror' build/compile_commands.json || fail "a stranger's compiler may warn"
cmake --build build >log 2>&1 || { cat log; fail cmake-part; }
runs build/app cpu
[ ! -e build/quarry/quarry ] || fail 'cmake-part: the command was built, too'
cd build/quarry

version=$("$BUILD/quarry" --version | cut -d ' ' -f 2)
readelf -d libquarry.so | grep -qF "soname: [libquarry.so.${version%.*}]" || fail 'libquarry.so: another soname'
nm -D --defined-only libquarry.so | sed 's/.* //' | same libquarry.so

[ "$SHARED" = no ] || exit 0
nm -g --defined-only "$BUILD/libquarry.a" | sed -n 's/^[0-9a-f]* [A-Z] //p' >global
! grep -vE '^(quarry|simt)_' global || fail 'libquarry.a: names that a program may have, too'
readelf -sW "$BUILD/libquarry.a" | awk '$5 ~ /GLOBAL|WEAK/ && $6 == "DEFAULT" && $7 != "UND" { print $8 }' | same libquarry.a
