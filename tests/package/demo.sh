#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A fresh folder is configured without a warning, and after what ./demo builds there, `cmake --install` has all that it needs.
# The compiler is quick here: what it makes is empty, and what it links calls the command of this build.
#
#   demo.sh cpu SETTINGS
# shellcheck source=tests/package/common.sh
. "$(dirname "$0")/common.sh"

cat >"$scratch/quick" <<END
#!/bin/sh
case \$PWD/ in */CMakeFiles/*) exec "\$@" ;; esac # a probe of CMake's
link=yes
while [ \$# -gt 1 ]; do
    case \$1 in
    -c) link=no ;;
    -o) made=\$2 ;;
    esac
    shift
done
if [ \$link = no ]; then
    : >"\$made"
else
    printf '#!/bin/sh\nexec "%s/quarry" "\$@"\n' "$BUILD" >"\$made"
    chmod +x "\$made"
fi
END
chmod +x "$scratch/quick"
make -C "$SOURCE" groupby BUILD="$scratch/build" CMAKE_FLAGS="-DQUARRY_CUDA=OFF -DCMAKE_C_COMPILER_LAUNCHER=$scratch/quick \
    -DCMAKE_C_LINKER_LAUNCHER=$scratch/quick -DCMAKE_INSTALL_PREFIX=$scratch/installed" >"$scratch/log" 2>&1 ||
    { cat "$scratch/log"; fail 'make groupby'; }
! grep -i -A 5 'warning' "$scratch/log" || fail 'make groupby: a warning'
cmake --install "$scratch/build" >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail 'cmake --install after ./demo'; }
[ -f "$scratch/installed/share/bash-completion/completions/quarry" ] || fail 'no completion is installed'
