#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run-tests.sh [BUILD] - tests the training against BUILD/libcsrec (default build). Uses python3, or
# PYTHON, if it has PyTorch, NumPy, cffi and pytest. Exit code 77, with a line that says why: skipped.
set -eu
cd "$(dirname "$0")/.."

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

python=${PYTHON:-python3}
"$python" -c 'import torch, numpy, cffi, pytest' 2>/dev/null ||
    skip "$python has no PyTorch, NumPy, cffi and pytest"
build=$(cd "${1:-build}" 2>/dev/null && pwd) || skip "no folder ${1:-build}; build first"
place=$("$python" python/inplace.py "$build")
PYTHONPATH="$place${PYTHONPATH:+:$PYTHONPATH}" CSRECOVER_BUILD="$build" \
    PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive \
    exec "$python" -m pytest -q -p no:cacheprovider training
