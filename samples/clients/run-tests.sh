#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run-tests.sh [BUILD] - runs the clients on BUILD (default build) where python3, or PYTHON, has what
# they need: the pipe recovers a signal, the progressive renderer comes nearer to the reference with
# more rays. A line tells what is skipped; exit code 77: all.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${1:-build}" && pwd) here=$PWD/samples/clients
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
export PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive
ran=0

has() { # MODULE...: else says what is skipped
    for module in "$@"; do
        "$python" -c "import $module" 2>/dev/null || {
            echo "skipped: ${1}: $python has no $module"
            return 1
        }
    done
    ran=1
}

decibels() { # RAYS EACH
    PYTHONPATH=$place "$python" "$here/mitsuba_progressive.py" "$work/box" --side 32 --rays "$1" \
        --each "$2" --rounds 2 --reference 512 | sed -n 's/^PSNR \(.*\) dB/\1/p'
}

if has numpy; then
    # 15 % of a wave with an edge: the line between samples (Delaunay) has an error of 0.073
    "$python" "$here/pipe.py" "$build/csrecover" | tee "$work/pipe.txt"
    awk '{ exit !($4 + 0 < 0.06) }' "$work/pipe.txt" || { echo "pipe.py: wrong"; exit 1; }
fi
if has mitsuba numpy cffi; then
    place=$("$python" python/inplace.py "$build")
    few=$(decibels 0.25 2) many=$(decibels 8 8)
    echo "mitsuba_progressive.py: $few dB of 0.25 rays a pixel, $many dB of 8"
    echo "$few $many" | awk '{ exit !($2 > $1 + 1) }' ||
        { echo "mitsuba_progressive.py: no better by 32 times the rays"; exit 1; }
fi
[ $ran = 1 ] || exit 77
