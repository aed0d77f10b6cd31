#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# cuda.sh [--built DIR] [--out DIR] [--check] [PART...] - builds, checks and times
# the CUDA part on a machine with a GPU, in under five minutes; the results go to
# bench/results/cuda.json. PART...: these are measured, of cuda.py --help, and no tests run.
#   --built DIR  programs are there already (the tests below, csrecover, the Python package): nothing is built
#   --check      compute-sanitizer, memcheck and racecheck, over brief tests as well; built with one
#                call a block (kernels/haar/speculate_round.cuh), as racecheck overlooks named barriers
# Without a device the tests and measurements say that they are skipped.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
built= out=$here/bench/results check= parts=
while [ $# -gt 0 ]; do
    case $1 in
    --built) built=$2; shift ;;
    --out) out=$2; shift ;;
    --check) check=yes ;;
    -*)
        echo "usage: bench/cuda.sh [--built DIR] [--out DIR] [--check] [PART...]" >&2
        exit 2
        ;;
    *) parts="$parts $1" ;;
    esac
    shift
done
mkdir -p "$out"
failed=
# Tests of the device alone and of every backend; then those that compute-sanitizer need not check.
tests='test_cuda_[a-z_]*|test_(conv2d|eigen|net|operators|solvers[a-z_]*|statistics)'
others='test_(device|pca)'
# those FOLDER PATTERN: the tests there.
those() { (cd "$1" && ls) | grep -xE "$2"; }

checked=
if [ -z "$built" ]; then
    if [ -n "$check" ]; then
        checked=$here/build-cuda-check/tests
        cmake -S "$here" -B "$here/build-cuda-check" -DCMAKE_BUILD_TYPE=Release -DCSREC_CUDA=ON \
            -DCMAKE_CUDA_FLAGS=-DCSREC_SPECULATE_TEAM=16
        cmake --build "$here/build-cuda-check" --parallel
    fi
    built=$here/build-cuda
    cmake -S "$here" -B "$built" -DCMAKE_BUILD_TYPE=Release -DCSREC_CUDA=ON
    cmake --build "$built" --parallel
fi
folder=$built
[ ! -d "$built/tests" ] || folder=$built/tests
[ -n "$checked" ] || checked=$folder

note() {
    echo "$*"
    failed=yes
}

[ -n "$parts" ] || for test in $(those "$folder" "$tests|$others"); do
    echo "== $test"
    timeout 90 "$folder/$test" || note "$test FAILED"
done
# shellcheck disable=SC2086 # parts are words
python3 "$here/bench/cuda.py" --build "$built" --json "$out/cuda.json" $parts ||
    note "cuda.py FAILED"

if [ -n "$check" ] && command -v compute-sanitizer >/dev/null; then
    export CSREC_TEST_BRIEF=1
    for tool in memcheck racecheck; do
        for test in $(those "$checked" "$tests"); do
            echo "== $tool $test"
            timeout 100 compute-sanitizer --tool $tool --error-exitcode 9 --print-limit 3 "$checked/$test" \
                >"$out/$tool.log" 2>&1 || note "$tool FAILED: see $out/$tool.log"
            tail -1 "$out/$tool.log"
        done
    done
fi
[ -z "$failed" ]
