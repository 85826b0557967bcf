#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs as docs/guide/linking.md says, moves the tree to where the other tests use it, and looks at what is there.
#
#   install.sh cpu SETTINGS
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"

# Every block of the page belongs to a test.
grep -B 1 -E '^```(sh|cmake|c)$' "$page" | grep -E '^<!-- ' | sed 's/<!-- \(.*\) -->/\1/' >"$scratch/named"
[ "$(wc -l <"$scratch/named")" -eq "$(grep -cE '^```[a-z]' "$page")" ] || fail 'a block of docs/guide/linking.md has no name'
while read -r name; do
    cat "$programs"/*.sh | grep -qE "(by_page|block|build_by_cmake) $name\b" || fail "no test uses the block '$name'"
done <"$scratch/named"

# Whoever copies a command has kernels without assertions.
grep -hE '^(cc|gcc|g\+\+|nvcc) .*\.(c|cu|cpp)( |$)' "$SOURCE"/docs/guide/*.md >"$scratch/compiles"
[ -s "$scratch/compiles" ] || fail 'this test finds no commands'
! grep -v -e '-O2 -DNDEBUG ' "$scratch/compiles" || fail 'a command in docs/guide compiles with assertions'

cd "$scratch"
ln -s "$BUILD" build
PREFIX=$scratch/first
block install >commands.sh
cat commands.sh
bash -eu commands.sh >log || { cat log; fail 'install'; }
rm -rf "$INSTALLED"
mkdir -p "${INSTALLED%/*}"
mv "$PREFIX" "$INSTALLED"

cd "$INSTALLED"
for file in bin/quarry include/quarry/quarry.h include/quarry/{device.h,quarry.hpp} include/quarry/alloc/list.def \
    "$LIBDIR"/cmake/quarry/{quarryConfig,quarryConfigVersion,quarryTargets,QuarryKernel,QuarryBoostContext}.cmake \
    "$LIBDIR/pkgconfig/quarry.pc" share/doc/quarry/LICENSE share/bash-completion/completions/quarry; do
    [ -f "$file" ] || fail "$file is not installed"
done
if command -v help2man >/dev/null; then
    while read -r command _; do
        [ -f "share/man/man1/quarry-$command.1" ] || fail "no man page of $command"
    done < <(bin/quarry --help | sed -n '/^Commands:$/,/^$/s/^  //p')
    [ -f share/man/man1/quarry.1 ] || fail 'no man page of quarry'
fi
# The public headers, all of them and nothing else.
diff -r "$SOURCE/include/quarry" include/quarry
# The examples as the build has them, which tests run.
diff -r "$SOURCE/examples" share/doc/quarry/examples
# But for where the build found libboost_context, wherever that is.
if grep -rIF -e "$BUILD" -e "$SOURCE" -e "$scratch" "$LIBDIR/cmake" "$LIBDIR/pkgconfig" include |
    sed "s|${BOOST:-/nowhere}||g" | grep -F -e "$BUILD" -e "$SOURCE" -e "$scratch"; then
    fail 'installed files name folders of the build'
fi
bin/quarry list
[ "$(stat -c %s bin/quarry)" -lt 45000000 ] || fail 'bin/quarry has 45 MB or more'
