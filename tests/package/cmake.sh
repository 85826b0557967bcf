#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs that find the installed tree by find_package(quarry), or have the sources in a folder, as docs/guide/linking.md says.
#
#   cmake.sh cpu|cuda SETTINGS [part]     part: only the sources in a folder, built as they are, which takes long
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"

build_by_cmake() {
    enter "$1"
    ln -s "$SOURCE" quarry
    block "$1" >CMakeLists.txt
    block cmake-build >commands.sh
    bash -eu commands.sh >log 2>&1 || { cat log; fail "$1"; }
    # nvcc says so where there is no GPU to be native to.
    ! grep -v -e '-arch=native' log | grep -i 'warning' || fail "$1: warnings"
}

both=cpu
if [ "$WITH_CUDA" = yes ]; then both='cpu cuda'; fi

if [ "${3:-}" = part ]; then
    build_by_cmake cmake-part
    # shellcheck disable=SC2086 # a list of words
    runs build/app $both
    [ ! -e build/quarry/quarry ] || fail 'cmake-part: the command was built, too'
    exit 0
fi
build_by_cmake cmake-c
# shellcheck disable=SC2086
runs build/app $both
if command -v g++ >/dev/null; then
    build_by_cmake cmake-cxx
    # shellcheck disable=SC2086
    runs build/app $both
    if [ "$WITH_NVCC" = yes ]; then
        build_by_cmake cmake-cuda
        runs build/app cuda
    fi
fi
[ "$backend" = cpu ] || exit 0

# Quarry's C is not the project's, and the toolkit that Quarry does not look for is found by the project.
enter part
ln -s "$SOURCE" quarry
part() {
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\nadd_subdirectory(quarry)\n%s\n' "$1" >CMakeLists.txt
    cmake -S . -B build --fresh -DQUARRY_CUDA=OFF >log 2>&1
}
if command -v g++ >/dev/null; then
    if part 'add_library(app STATIC)
quarry_add_kernel(app kernel.c)'; then fail 'part: C in a project of C++'; fi
    tr -s '\n ' ' ' <log | grep -qF "kernel.c: the project doesn't enable the language C" || { cat log; fail 'part: not said'; }
    if [ "$WITH_CUDA" = yes ]; then
        part 'find_package(CUDAToolkit REQUIRED)' || { cat log; fail 'part: no toolkit'; }
    fi
fi

# Kernels in libraries of the user's, from a folder beside it: one with a definition, and a shared one with all that uses
# Quarry, which may be the static one.  Each is a program's.
enter libraries
mkdir app
cp app.cpp kernel.h app/
printf 'int app(int, char **);\nint main(int n, char **arguments) { return app(n, arguments); }\n' >app/main.cpp
cat >app/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES C CXX)
find_package(quarry REQUIRED)
foreach(type $([ "$SHARED" = no ] || echo SHARED) STATIC)
    add_library(kernels_\${type} \${type})
    quarry_add_kernel(kernels_\${type} ../kernel.c)
    target_compile_definitions(kernels_\${type} PUBLIC JOB_THREADS=1000u)
    target_link_libraries(kernels_\${type} PUBLIC quarry::quarry)
    add_executable(app_\${type} app.cpp)
    target_link_libraries(app_\${type} PRIVATE kernels_\${type})
endforeach()
add_library(whole SHARED app.cpp)
quarry_add_kernel(whole ../kernel.c)
target_compile_definitions(whole PRIVATE main=app)
target_link_libraries(whole PRIVATE quarry::quarry)
add_executable(app_whole main.cpp)
target_link_libraries(app_whole PRIVATE whole)
END
{ cmake -S app -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$PREFIX" -DQUARRY_CUDA_ARCHITECTURES=90 && cmake --build build; } >log 2>&1 ||
    { cat log; fail libraries; }
for program in build/app_*; do
    # shellcheck disable=SC2086
    runs "$program" $both
done

# An example with a project of its own, as it is installed, finds what it needs.  Quarry's own build has all of the same files
# (install.sh), and runs them.
enter particles
{ cmake -S "$PREFIX/share/doc/quarry/examples/particles" -B build -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$PREFIX" -DQUARRY_CUDA_ARCHITECTURES=90; } >log 2>&1 || { cat log; fail particles; }
! grep -i 'warning' log || fail 'particles: warnings'

# What is missing is said in one sentence.
refuses() {
    local what=$1 project=$2
    shift 2
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES C)\n%s\n' "$project" >CMakeLists.txt
    rm -rf build
    if cmake -S . -B build -DCMAKE_PREFIX_PATH="$PREFIX" "$@" >log 2>&1; then fail "not refused: $what"; fi
    # CMake breaks lines.
    tr -s '\n ' ' ' <log | grep -qF -- "$what" || { cat log; fail "not said: $what"; }
    echo "refused: $what"
}
enter refused
refuses 'compatible with requested version "99"' 'find_package(quarry 99 REQUIRED)'
refuses 'call find_package(quarry) in this folder' "include($PREFIX/$LIBDIR/cmake/quarry/QuarryKernel.cmake)
add_executable(app)
quarry_add_kernel(app app.c)"
refuses 'app is an OBJECT library' 'find_package(quarry REQUIRED)
add_library(app OBJECT)
quarry_add_kernel(app app.c)'
if [ "$SHARED" = no ]; then
    refuses 'libboost_context was not found: install libboost-context-dev' \
        'set(CMAKE_FIND_LIBRARY_PREFIXES no)
set(CMAKE_FIND_LIBRARY_SUFFIXES .no)
find_package(quarry REQUIRED)'
fi
if [ "$WITH_CUDA" = yes ]; then
    refuses 'programs that use it need the CUDA toolkit' 'find_package(quarry REQUIRED)' \
        -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON
fi
