#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh BUILD COMPILER VERSION [--update] - README.md and docs/*.md hold: every sh block runs, in a
# folder of small inputs, and so does every example of a --help; every C block is compiled and run
# (what CONTRIBUTING.md quotes, by the tests of these files); links lead somewhere; the index names every page; tables made
# by a command are what it prints now (--update writes them instead); versions agree. The Python
# blocks are run by python/tests/test_readme.py.
#
# A block that cannot run here has a line above it: <!-- not run: the reason -->
set -uo pipefail
build=$(cd "$1" && pwd) compiler=$2 version=$3 update=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
export PATH=$build:$build/samples:$PATH
export OMP_WAIT_POLICY=passive # threads that spin while others of ctest work cost more than they save
wrong=0
bad() { echo "$*"; wrong=1; }

run_sh() { # PAGE LINE BLOCK
    (cd "$work/here" && timeout 600 bash -euo pipefail "$3") >"$work/log" 2>&1 </dev/null ||
        { bad "$1:$2: exit $? of:"; sed 's/^/    /' "$3" "$work/log"; }
}

compile() { # PAGE LINE BLOCK: a program against the public header
    local flags=(-std=c11 -Wall -Wextra -Wpedantic -Werror -D_POSIX_C_SOURCE=200809L
        -I"$source/include")
    if ! "$compiler" "${flags[@]}" -o "$work/here/program" "$3" -L"$build" -lcsrec -lm \
        -Wl,-rpath,"$build"; then
        bad "$1:$2: does not compile"
    elif ! (cd "$work/here" && ./program </dev/null) >"$work/log" 2>&1; then
        bad "$1:$2: the program fails: $(cat "$work/log")"
    fi
}

check_blocks() { # PAGE: its blocks run one after another in one folder
    local language line block reason
    fresh_inputs
    while IFS=$'\t' read -r language line block reason; do
        if [ -n "$reason" ]; then
            echo "$1:$line: not run: $reason"
        elif [ "$language" = sh ]; then
            run_sh "$1" "$line" "$block"
        elif [ "$language" = c ]; then
            compile "$1" "$line" "$block"
        elif [ "$language" != python ] && [ "$language" != cmake ]; then
            bad "$1:$line: nothing runs blocks of $language; begin it with one of sh, c, python, cmake"
        fi
    done < <(awk -v out="$work/blocks" -f "$here/blocks.awk" "$source/$1")
}

fresh_inputs() {
    rm -rf "$work/here" "$work/blocks"
    mkdir "$work/here" "$work/blocks"
    ln -s "$build" "$work/here/build" # as in a clone, for README.md
    ln -s "$source/samples" "$work/here/samples"
    (cd "$work/here" && "$build/tests/inputs") || bad "no inputs"
}

# The examples of one tool, one after another in one folder.
check_examples() { # TOOL
    local command line
    fresh_inputs
    {
        "$1" --help
        for command in $("$1" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z0-9]*\) .*/\1/p'); do
            "$1" "$command" --help
        done
    } | awk '/^Examples:/ { on = 1; next } /^[^ ]/ { on = 0 } on && NF && !seen[$0]++' >"$work/examples"
    while read -r line; do
        echo "$line" >"$work/blocks/example"
        run_sh "$1 --help" example "$work/blocks/example"
    done <"$work/examples"
}

check_links() { # PAGE: files that are named from its folder
    local folder target
    folder=$(dirname "$source/$1")
    while read -r target; do
        [ -e "$folder/${target%%#*}" ] || bad "$1: no file $target"
    done < <(grep -o '](\([^)]*\))' "$source/$1" | sed 's/^](//; s/)$//' | grep -v '^[a-z]*:\|^#')
}

# Files of the repository that the text names, as `src/solver/mp.c`, and functions.
check_names() { # PAGE
    local name
    while read -r name; do
        grep -qrwF "$name" include src kernels || bad "$1: nothing is called $name"
    done < <(grep -oE '`csrec_[a-z0-9_]+`' "$source/$1" | tr -d '`' | sort -u)
    while read -r name; do
        compgen -G "$source/$name" >/dev/null || bad "$1: no file or folder $name"
    done < <(grep -oE '`(src|include|kernels|shim|tests|bench|samples|docs|cmake|fuzz)/[^` ]*`' \
        "$source/$1" | tr -d '`' | grep -v '[<(]')
}

check_made() { # PAGE
    (cd "$source" && awk -f "$here/made.awk" "$1") >"$work/made" || bad "$1: a made part failed"
    cmp -s "$source/$1" "$work/made" && return
    if [ "$update" = --update ]; then
        cp "$work/made" "$source/$1" && echo "$1: written"
    else
        bad "$1: a made part is old; to write it: tests/docs/run.sh BUILD $compiler $version --update"
        diff "$source/$1" "$work/made" | head -n 20
    fi
}

check_figures() {
    mkdir "$work/figures"
    (cd "$work/figures" && "$build/samples/figures" .) || bad "samples/figures fails"
    for figure in "$work"/figures/*.svg; do
        cmp -s "$figure" "$source/docs/figures/${figure##*/}" && continue
        if [ "$update" = --update ]; then
            cp "$figure" "$source/docs/figures/" && echo "${figure##*/}: written"
        else
            bad "docs/figures/${figure##*/} is not what samples/figures draws; see --update"
        fi
    done
}

# Every solver has its section.
check_solvers() {
    local name
    for name in $(csrecover --list | awk '/^[A-Z]/ { on = /^Solvers/ } on && /^  [a-z]/ { print $1 }'); do
        grep -qE "^## (.*[ ,])?$name\b" docs/solvers.md || bad "docs/solvers.md: no section of $name"
    done
}

# Every method has its row in the table of what a device computes, with what the method's row says, and
# in the one that says how it agrees.
check_devices() {
    local name rows
    for name in $(csrecover --list | awk '/^[A-Z]/ { on = /^Methods/ } on && /^  [a-z]/ { print $1 }'); do
        rows=$(sed -n '/^## Methods/,/^## What auto/p' docs/cuda.md | grep -c "^| \`$name\` |")
        [ "$rows" = 2 ] || bad "docs/cuda.md: method $name has $rows of 2 rows under Methods"
    done
}

check_versions() {
    grep -qx "version: $version" "$source/CITATION.cff" || bad "CITATION.cff: not version $version"
    grep -q "find_package(csrec ${version%.*} " "$source/README.md" ||
        bad "README.md: find_package of another version than $version"
    for library in ZLIB PNG LIBZIP OPENMP OPENBLAS CUDA; do
        least=$(sed -n "s/^set(CSREC_${library}_VERSION \(.*\))/\1/p" CMakeLists.txt cmake/cuda.cmake)
        grep -qF "| $least |" README.md || bad "README.md: $library must be at least $least"
    done
}

cd "$source" || exit 1
for page in README.md CONTRIBUTING.md CHANGELOG.md docs/*.md; do
    check_made "$page"
    [ "$update" = --update ] && continue
    check_links "$page"
    check_names "$page"
    [ "$page" = CONTRIBUTING.md ] || check_blocks "$page"
    [ "${page%/*}" = "$page" ] || [ "$page" = docs/README.md ] ||
        grep -qF "(${page#docs/})" docs/README.md || bad "docs/README.md: does not lead to $page"
done
if [ "$update" != --update ]; then
    for page in docs/notebook/*.md; do
        check_links "$page"
    done
    for tool in src/tools/*/cs*.c; do
        tool=${tool##*/}
        check_examples "${tool%.c}"
    done
fi
check_figures
check_solvers
check_devices
check_versions
[ "$wrong" -eq 0 ] && echo "README and handbook hold"
exit "$wrong"
