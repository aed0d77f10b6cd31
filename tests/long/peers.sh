#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# peers.sh [BUILD [NAME...]] - tests that other packages wrote, with their functions swapped for ours:
# every tests/long/peers/peer_NAME.py, or those named, in an environment of their own with the newest
# release of the package. A package or tests that cannot be had are skipped, and said; exit code 77
# where all are.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/work.sh
build=${1:-build-cpu}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- $(cd tests/long/peers && ls peer_*.py | sed 's/^peer_//; s/\.py$//')
python=${PYTHON:-python3}
peers=$PWD/tests/long/peers

"$python" -m venv "$work/venv" && "$work/venv/bin/pip" install -q numpy scipy cffi pytest ||
    { echo "skipped: no environment with numpy, scipy, cffi and pytest"; exit 77; }
python=$work/venv/bin/python
place=$("$python" python/inplace.py "$build") || exit 1
export PYTHONPATH="$place:$peers" PEERS_WORK="$work"

# 77: skipped.
run() {
    needs=$("$python" "$peers/peers.py" needs "$1") || return 1
    # shellcheck disable=SC2086
    "$work/venv/bin/pip" install -q $needs || { echo "skipped: $1: pip has no $needs"; return 77; }
    tests=$("$python" "$peers/peers.py" tests "$1") || { echo "skipped: $1: $tests"; return 77; }
    # shellcheck disable=SC2086
    "$python" -m pytest -q -p no:cacheprovider -p "peer_$1" $tests
}

passed='' skipped='' failed=''
for name; do
    echo "== $name"
    code=0
    run "$name" || code=$?
    case $code in
    0) passed="$passed $name" ;;
    77) skipped="$skipped $name" ;;
    *) failed="$failed $name" ;;
    esac
done
echo "peers:${passed:+ passed:$passed}${skipped:+ skipped:$skipped}${failed:+ FAILED:$failed}"
[ -z "$failed" ] || exit 1
[ -n "$passed" ] || exit 77
