#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh BUILD COMPILER VERSION - installs BUILD into a temporary prefix, moves that tree, and builds
# and runs main.c against it through find_package and through pkg-config, shared and static.
set -eu
build=$1 compiler=$2 version=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

expect() { # PROGRAM...: prints the version of the library
    found=$("$@") || { echo "$1: exit $?"; exit 1; }
    [ "$found" = "$version" ] || { echo "$1: '$found' instead of '$version'"; exit 1; }
}

cmake --install "$build" --prefix "$work/first" >"$work/log" || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/prefix" # nothing installed may remember where it was put
prefix=$work/prefix

cmake -S "$here" -B "$work/user" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="-Wall -Wextra -Wpedantic -Werror" \
    -DCSREC_EXPECT="$version" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work/user" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
expect "$work/user/with_shared"
expect "$work/user/with_static"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name csrec.pc)")
export PKG_CONFIG_PATH
library=$(dirname "$PKG_CONFIG_PATH")
[ "$(pkg-config --modversion csrec)" = "$version" ] || { echo "csrec.pc: wrong version"; exit 1; }
# Unquoted on purpose: pkg-config prints a list of words.
# shellcheck disable=SC2046
"$compiler" -o "$work/pc_shared" "$here/main.c" $(pkg-config --cflags --libs csrec)
expect env LD_LIBRARY_PATH="$library" "$work/pc_shared"
# shellcheck disable=SC2046
"$compiler" -o "$work/pc_static" "$here/main.c" \
    $(pkg-config --static --cflags --libs csrec | sed 's/-lcsrec/-l:libcsrec.a/')
expect "$work/pc_static"

for part in "$prefix"/include/csrec/*.h; do # each can be included alone
    echo "#include <csrec/${part##*/}>" | "$compiler" -std=c11 -Wall -Wextra -Wpedantic -Werror \
        -fsyntax-only -I"$prefix/include" -x c - || { echo "$part: not self-contained"; exit 1; }
done

for tool in "$prefix"/bin/cs*; do # the tools find their library without LD_LIBRARY_PATH
    name=${tool##*/}
    env -u LD_LIBRARY_PATH "$tool" --help >/dev/null || { echo "$tool --help: exit $?"; exit 1; }
    for file in "man/man1/$name.1" "bash-completion/completions/$name" "fish/*/$name.fish" \
        "zsh/*/_$name"; do
        # Unquoted on purpose: the folder may be another.
        # shellcheck disable=SC2086
        [ -s "$prefix"/share/$file ] || { echo "not installed: share/$file"; exit 1; }
    done
done
[ -s "$prefix/share/doc/csrecover/docs/solvers.md" ] || { echo "no handbook"; exit 1; }
echo "installed tree works: find_package and pkg-config, shared and static, manual, completions"
