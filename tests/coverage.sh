#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# coverage.sh [CTEST_PATTERN] - how much of the sources the tests run: builds build-coverage with
# gcc --coverage, runs the tests (default: the test programs and those of faults/) and prints branch
# coverage by file, and the error branches never taken (coverage.py).
set -eu
cd "$(dirname "$0")/.."
. cmake/bootstrap.sh

# Not the test environment: under its limit on the size of files the counts are cut off, too.
pattern=${1:-^test_|fail_nth|kills|replay}
folder=$PWD/build-coverage
bootstrap_packages
[ -f "$folder/build.ninja" ] || cmake -G Ninja -B "$folder" -DCSREC_CUDA=OFF \
    -DCMAKE_BUILD_TYPE=Coverage \
    -DCMAKE_C_FLAGS='-O1 -fno-inline --coverage' # counts of threads may be lost, but not all of a line's
cmake --build "$folder"
find "$folder" -name '*.gcda' -delete
# A test of bytes or of time may fail in this build; what ran counts all the same.
FAULT_UNTIL_EXIT=1 OMP_WAIT_POLICY=passive ctest --test-dir "$folder" -R "$pattern" --timeout 1800 ||
    say "Some tests failed in this build: see above."
python3 tests/coverage.py "$folder" src
