#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpi.sh BUILD VERSION openmpi|mpich - installs BUILD into a temporary prefix, builds docs/examples/mpi.c
# against it through find_package and through pkg-config, and runs it under that MPI's launcher. Exit
# code 77 without that MPI.
set -eu
build=$1 version=$2 mpi=$3
here=$(cd "$(dirname "$0")" && pwd)
program=$(cd "$here/../../docs/examples" && pwd)/mpi.c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

skip() { echo "SKIP: $*"; exit 77; }
for tool in "mpicc.$mpi" "mpirun.$mpi"; do
    command -v "$tool" >/dev/null || skip "no $tool"
done
[ -e "$build/csrec_mpi_$mpi.pc" ] || skip "built without $mpi"

expect() { # PROGRAM: three processes recover what one does
    found=$("mpirun.$mpi" -n 3 "$1" 2>"$work/log") || { cat "$work/log"; echo "$1: fails"; exit 1; }
    echo "$found" | grep -qx '[0-9]* tiles by 3 processes: the same bits' ||
        { echo "$1: '$found'"; exit 1; }
}

cmake --install "$build" --prefix "$work/first" >"$work/log" || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/prefix"
library=$(dirname "$(find "$work/prefix" -name "libcsrec_mpi_$mpi.so")")

cmake -S "$here/mpi" -B "$work/user" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DMPI_C_COMPILER="mpicc.$mpi" -DCMAKE_C_FLAGS="-Wall -Wextra -Wpedantic -Werror" \
    -DCSREC_EXPECT="$version" -DCSREC_PROGRAM="$program" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
cmake --build "$work/user" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
expect "$work/user/shared_tiles"

export PKG_CONFIG_PATH="$library/pkgconfig" LD_LIBRARY_PATH="$library"
# Unquoted on purpose: pkg-config prints a list of words.
# shellcheck disable=SC2046
"mpicc.$mpi" -o "$work/program" "$program" $(pkg-config --cflags --libs "csrec_mpi_$mpi") -lm
expect "$work/program"
echo "installed tree works with $mpi: find_package and pkg-config"
