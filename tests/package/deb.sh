#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Debian package: packed as docs/guide/linking.md says, installed by dpkg into a root of its own, and used from there.
# The system's packages are left alone; nobody has to be root.
#
#   deb.sh cpu SETTINGS
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"

PATH=$PATH:/usr/sbin:/sbin # dpkg insists on ldconfig
cd "$scratch"
mkdir build
# cpack would have make look at everything that there is to build, tests included: half of its time.
printf 'include("%s")\nset(CPACK_CMAKE_GENERATOR Ninja)\n' "$BUILD/CPackConfig.cmake" >build/CPackConfig.cmake
block deb >commands.sh
cat commands.sh
bash -eu commands.sh >log 2>&1 || { cat log; fail 'cpack'; }
package=$(ls libquarry-dev_*.deb)
if [ -e "$BUILD/_CPack_Packages" ]; then fail 'cpack wrote into the build folder'; fi

dpkg-deb -I "$package"
dpkg-deb -f "$package" Depends >depends
wanted='libc6 libc6-dev'
[ "$SHARED" = yes ] || wanted="$wanted libboost-context-dev zlib1g-dev"
# Libraries from elsewhere may be archives, which the command has in itself.
[ -n "$BOOST" ] || wanted="$wanted zlib1g libjansson4"
for name in $wanted; do
    grep -qE "(^|, )$name(,| |$)" depends || fail "the package doesn't depend on $name"
done
[ "$(dpkg-deb -f "$package" Version)" = "$("$BUILD/quarry" --version | cut -d ' ' -f 2)" ] || fail 'another version'
dpkg-deb -c "$package" | awk '$2 != "root/root" { print; bad = 1 } END { exit bad }' || fail 'files of other owners than root'

# dpkg itself says whether the system has what the package needs; then into a root of its own, which has no
# other packages.
if [ -z "$BOOST" ]; then
    dpkg --no-act --force-not-root -i "$package" >log 2>&1 || { cat log; fail 'dpkg would not install it here'; }
fi
root=$scratch/root
mkdir -p "$root"/var/lib/dpkg/{info,updates} "$root"/var/log
: >"$root/var/lib/dpkg/status"
dpkg --root="$root" --force-not-root --force-depends --log="$scratch/dpkg.log" -i "$package" >log 2>&1 ||
    { cat log; fail 'dpkg -i'; }
dpkg --root="$root" -s libquarry-dev | grep -q '^Status: install ok installed' || fail 'not installed'
PREFIX=$root/usr
if [ "$SHARED" = yes ]; then export LD_LIBRARY_PATH="$PREFIX/$LIBDIR"; fi
"$PREFIX/bin/quarry" list

# For the CPU: what nvcc makes of the same files is looked at in cmake.sh.
enter by-cmake
block cmake-c | sed 's/^quarry_add_kernel(app /target_sources(app PRIVATE /' >CMakeLists.txt
grep -q target_sources CMakeLists.txt || fail 'cmake-c is written in another way'
block cmake-build >commands.sh
bash -eu commands.sh >log 2>&1 || { cat log; fail 'find_package'; }
runs build/app cpu
if command -v pkg-config >/dev/null; then
    enter by-pkg-config
    by_page pkgconfig-c
    runs ./app cpu
    # The way of cross compilers, but this root has no CUDA.
    enter by-sysroot
    PKG_CONFIG_LIBDIR=$PREFIX/$LIBDIR/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root pkg-config --cflags --libs quarry >flags
    cat flags
    # shellcheck disable=SC2046 # a list of words
    LIBRARY_PATH="${LIBRARY_PATH:+$LIBRARY_PATH:}$CUDA/lib64" gcc -O1 app.c $(cat flags) -o app || fail 'pkg-config with a sysroot'
    runs ./app cpu
fi
dpkg --root="$root" --force-not-root --log="$scratch/dpkg.log" -r libquarry-dev >log 2>&1 || { cat log; fail 'dpkg -r'; }
[ ! -e "$PREFIX/$LIBDIR/libquarry.a" ] || fail 'still there after its removal'
