#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run-tests.sh [BUILD] | --install - tests the Python package.
#   BUILD      in place, against BUILD/libcsrec (default build): nothing is compiled. Uses python3 if
#              it has NumPy, cffi and pytest, else a virtual environment in BUILD/python/venv. What
#              else is installed (SciPy, scikit-learn, scikit-image, PyLops, and readers of files:
#              Pillow, tifffile, rasterio, h5py, xarray with netCDF4, astropy, OpenEXR; mpi4py, Dask)
#              is tested against.
#   --install  pip install ./python into a fresh virtual environment, as a user does.
# Exit code 77, with a line that says why: not possible here, skipped. CSRECOVER_TEST_EXTRAS=1 puts
# the peers into the virtual environment too.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*"; }
skip() {
    say "skipped: $*"
    exit 77
}
limited() { # SECONDS COMMAND...: fails rather than waits for a network that is not there
    if command -v timeout >/dev/null 2>&1; then timeout "$@"; else shift && "$@"; fi
}
has() { "$1" -c 'import numpy, cffi, pytest' >/dev/null 2>&1; }
pip_install() { # PYTHON SECONDS PACKAGE...
    python=$1 seconds=$2
    shift 2
    limited "$seconds" "$python" -m pip install --quiet --disable-pip-version-check --retries 1 \
        --prefer-binary "$@"
}

# Threads that wait for each other must not spin where other tests run beside.
export OMP_WAIT_POLICY=passive

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null ||
    skip "no $python of version 3.9 or later"
extras=
[ -z "${CSRECOVER_TEST_EXTRAS:-}" ] || extras='scipy scikit-learn scikit-image pylops
    Pillow tifffile rasterio h5py netCDF4 xarray astropy OpenEXR mpi4py dask'

if [ "${1:-build}" = --install ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM
    "$python" -m venv "$work/venv" >/dev/null 2>&1 || skip "$python has no venv (python3-venv)"
    venv=$work/venv/bin/python
    # Word splitting is meant: one package a word.
    # shellcheck disable=SC2086
    pip_install "$venv" 60 'scikit-build-core>=1.0' cffi numpy pytest $extras >"$work/log" 2>&1 ||
        skip "pip cannot install what is needed: $(tail -n 1 "$work/log")"
    code=0
    pip_install "$venv" "${CSRECOVER_BUILD_SECONDS:-600}" --no-build-isolation --no-deps ./python ||
        code=$?
    [ "$code" -ne 124 ] || skip "the build takes longer than ${CSRECOVER_BUILD_SECONDS:-600} s here"
    [ "$code" -eq 0 ] || exit "$code"
    (cd python/tests && limited 600 "$venv" -m pytest -q -p no:cacheprovider .)
    # Of the integrations those whose programs are packages of Python alone.
    if pip_install "$venv" 60 rasterio scikit-learn >"$work/log" 2>&1; then
        limited 300 "$venv" -m pytest -q -rs -p no:cacheprovider -W ignore \
            integrations/tests/test_rasterio.py integrations/tests/test_sklearn.py
    else
        say "SKIPPED: the integrations: pip cannot install rasterio and scikit-learn:" \
            "$(tail -n 1 "$work/log")"
    fi
    exit 0
fi

build=$(cd "${1:-build}" 2>/dev/null && pwd) || skip "no folder ${1:-build}; build first"
place=$build/python
mkdir -p "$place"
if ! has "$python"; then
    if ! has "$place/venv/bin/python"; then
        rm -rf "$place/venv"
        "$python" -m venv "$place/venv" >/dev/null 2>&1 ||
            skip "$python has neither NumPy, cffi and pytest nor venv (python3-venv)"
        # shellcheck disable=SC2086
        pip_install "$place/venv/bin/python" 60 numpy cffi pytest $extras >"$place/log" 2>&1 || {
            rm -rf "$place/venv"
            skip "pip cannot install NumPy, cffi and pytest: $(tail -n 1 "$place/log")"
        }
        # The reference of most solvers' and operators' tests; --install tests without it.
        pip_install "$place/venv/bin/python" 60 scipy >"$place/log" 2>&1 ||
            say "Without SciPy many tests are skipped: $(tail -n 1 "$place/log")"
    fi
    python=$place/venv/bin/python
fi
place=$("$python" python/inplace.py "$build")
limited 600 env PYTHONPATH="$place${PYTHONPATH:+:$PYTHONPATH}" CSRECOVER_TOOLS="$build" \
    PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q -p no:cacheprovider python/tests
