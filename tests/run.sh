#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh [--long] [--label NAME] [PRESET] - from a fresh clone to all tests run: installs what is
# missing (apt), configures, builds and tests one preset of CMakePresets.json (default, cpu, sanitize).
# --label: builds and runs only tests with that label of ctest (tests/CMakeLists.txt). --long: runs the long forms
# instead, every tests/long/*.sh, hours in all, from one seed.
set -eu
cd "$(dirname "$0")/.."
. cmake/bootstrap.sh

usage() {
    sed -n '3,6s/^# //p' tests/run.sh
    say "The seed is CSREC_TEST_SEED, else drawn and printed; CSREC_LONG multiplies the effort" \
        "(default 1)."
    exit "$1"
}

# Each long form is told the build's folder; what fails is named at the end.
run_long() {
    say "seed $CSREC_TEST_SEED (CSREC_TEST_SEED=$CSREC_TEST_SEED repeats this run)"
    passed=0 skipped='' failed=''
    for script in tests/long/*.sh; do
        say "== $script"
        code=0
        "$script" "$PWD/$1" || code=$?
        case $code in
        0) passed=$((passed + 1)) ;;
        77) skipped="$skipped ${script##*/}" ;;
        *) failed="$failed ${script##*/}" ;;
        esac
    done
    say "long forms: $passed passed${skipped:+; skipped:$skipped}${failed:+; FAILED:$failed};" \
        "seed $CSREC_TEST_SEED"
    [ -z "$failed" ]
}

long='' label=''
while [ $# -gt 0 ]; do
    case $1 in
    --long) long=1 ;;
    --label) label=${2-} && shift ;;
    --help | -h) usage 0 ;;
    -*) usage 2 >&2 ;;
    *) break ;;
    esac
    shift
done
preset=${1:-default}
bootstrap_packages ${long:+long}
bootstrap_build "$preset" ${label:+"-DCSREC_TESTS=$label"}
# Tests run side by side: threads that spin while they wait would take the others' cores.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
if [ -n "$long" ]; then
    export CSREC_TEST_SEED="${CSREC_TEST_SEED:-$(od -A n -N 4 -t u4 /dev/urandom | tr -d ' ')}"
    export CSREC_LONG="${CSREC_LONG:-1}"
    run_long "$folder"
else
    ctest --preset "$preset" ${label:+-L "^$label\$"}
fi
