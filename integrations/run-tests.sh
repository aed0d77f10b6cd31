#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run-tests.sh [BUILD] - tests the integrations on BUILD (default build), in place: nothing is installed.
# Runs pytest in python3, or PYTHON, and in each Python of the list CSRECOVER_PYTHONS (colons between),
# for programs that want an environment of their own: NumPy, cffi, pytest and one of rasterio,
# scikit-learn, napari, HyperSpy. Blender: BLENDER_PYTHON, a Python with bpy. A display that napari and
# ImageJ need is xvfb-run's. What is skipped is told; exit code 77: no Python can test anything.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "${1:-build}" 2>/dev/null && pwd) || {
    echo "skipped: no folder ${1:-build}; build first"
    exit 77
}
export OMP_WAIT_POLICY=passive PYTHONDONTWRITEBYTECODE=1 CSRECOVER_TOOLS="$build"
shown=
[ -n "${DISPLAY:-}" ] || ! command -v xvfb-run >/dev/null || shown='xvfb-run -a'
ran=77

list=${PYTHON:-python3}:${CSRECOVER_PYTHONS:+$CSRECOVER_PYTHONS:}
while [ -n "$list" ]; do
    python=${list%%:*} list=${list#*:}
    [ -n "$python" ] || continue
    "$python" -c 'import numpy, cffi, pytest' 2>/dev/null || {
        echo "skipped: $python has not all of NumPy, cffi and pytest"
        continue
    }
    place=$("$python" python/inplace.py "$build")
    code=0
    # Word splitting is meant. A run that skips all is none.
    # shellcheck disable=SC2086
    PYTHONPATH=$place $shown "$python" -m pytest -q -rs -p no:cacheprovider -W ignore \
        integrations/tests || code=$?
    [ "$code" -eq 0 ] || [ "$code" -eq 5 ] || exit "$code"
    [ "$code" -ne 0 ] || ran=0
    unset BLENDER_PYTHON # one test of it is enough
done
exit "$ran"
