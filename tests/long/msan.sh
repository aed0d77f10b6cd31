#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# msan.sh - the test programs under clang's memory sanitizer (preset msan), on one thread: OpenMP's
# runtime is not instrumented. Nor are OpenBLAS, libpng, zlib and libzip: tests/msan/*.c stand before
# their calls. Left out are the tests that limit or measure the memory of the process, which is mostly
# the sanitizer's. Exit code 77: clang or its runtime is not installed.
set -eu
cd "$(dirname "$0")/../.."
. tests/sanitizer.sh

# A value that is read before it was written must be found, and with an argument none is.
cat >"$work/unwritten.c" <<'END_C'
#include <stdlib.h>
int main(int argc, char **argv) {
    int *value = malloc(sizeof *value);
    (void)argv;
    if (argc > 1) *value = 1;
    if (*value) argc++;
    free(value);
    return argc > 9;
}
END_C
clang -g -O1 -fsanitize=memory -fsanitize-memory-track-origins "$work/unwritten.c" \
    -o "$work/unwritten" 2>"$work/log" ||
    skip "clang links no program with the memory sanitizer (clang, libclang-rt-dev)"
"$work/unwritten" written || { echo "a written value counts as unwritten" && exit 1; }
sanitizer_finds "$work/unwritten"

sanitizer_tests msan 'sys/resource\.h|VmHWM'
