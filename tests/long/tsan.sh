#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tsan.sh - every test program under clang's thread sanitizer (preset tsan). What OpenMP orders the
# sanitizer learns from Archer, libomp's tool: its own instructions are not instrumented, and without
# it each barrier would look like a race. Left out are the tests that measure the memory of the
# process, or limit its files. Exit code 77: clang, libomp or Archer is not installed.
set -eu
cd "$(dirname "$0")/../.."
. tests/work.sh

# A race that must be found, beside loops whose barrier orders them, where none may be.
cat >"$work/race.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int a[1000] = {0}, sum = 0;
    if (argc > 1) {
#pragma omp parallel for num_threads(3)
        for (int i = 0; i < 100000; i++) sum += i;
    }
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 1000; i++) a[i] = i;
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 1000; i++) a[999 - i] += i;
    }
    printf("%s %d %d\n", argv[0], a[5], sum);
    return 0;
}
END
clang -g -O1 -fopenmp -fsanitize=thread "$work/race.c" -o "$work/race" 2>"$work/log" ||
    skip "clang links no program with OpenMP and the thread sanitizer (clang, libclang-rt-dev, libomp-dev)"
libomp=$(ldd "$work/race" | sed -n 's/.*libomp[^ ]* => \([^ ]*\) .*/\1/p')
OMP_TOOL_LIBRARIES=${libomp%/*}/libarcher.so
OMP_WAIT_POLICY=passive
export OMP_TOOL_LIBRARIES OMP_WAIT_POLICY
export TSAN_OPTIONS="ignore_noninstrumented_modules=1:die_after_fork=0"
ARCHER_OPTIONS=verbose=1 "$work/race" 2>&1 | grep -q 'Archer detected' || skip "libomp has no Archer"
"$work/race" || { echo "a barrier is taken for a race" && exit 1; }
! "$work/race" racy >"$work/log" 2>&1 || { echo "a race is not found" && exit 1; }

# It keeps a file of its own, which ulimit -f cuts off.
limited=$(tests_with 'VmHWM|ru_maxrss|ulimit -f')
printf 'left out, they measure or limit what the sanitizer takes: %s\n' "$limited"
[ -f build-tsan/build.ninja ] || cmake --preset tsan
cmake --build --preset tsan
ctest --preset tsan -R '^test_' -E "^($limited)\$" --timeout 3000
