#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# cuda_pack.sh ARCHIVE.tar.xz [BUILD] - everything that bench/cuda.sh --built needs on a machine with
# a GPU but without compilers or packages: programs, stripped, and the shared libraries they use, the
# C library and the driver left out; and the Python package, which needs NumPy and cffi there. BUILD: a built folder; else one is made for ARCH (90-real).
#
#   bench/cuda_pack.sh csrec-cuda.tar.xz        # here
#   tar xJf csrec-cuda.tar.xz && cd csrec-cuda  # there
#   LD_LIBRARY_PATH=lib bench/cuda.sh --built bin --out .
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
[ $# -ge 1 ] || {
    echo "usage: bench/cuda_pack.sh ARCHIVE.tar.xz [BUILD]" >&2
    exit 2
}
archive=$1 build=${2:-}
if [ -z "$build" ]; then
    build=$here/build-cuda-pack
    cmake -S "$here" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCSREC_CUDA=ON \
        -DCMAKE_CUDA_ARCHITECTURES="${ARCH:-90-real}" ${CUDA_FLAGS:+-DCMAKE_CUDA_FLAGS="$CUDA_FLAGS"}
    cmake --build "$build" --parallel "${JOBS:-2}"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/csrec-cuda
mkdir -p "$root/bin" "$root/lib" "$root/bench"
cp "$here"/bench/cuda.sh "$here"/bench/*.py "$root/bench/"
python3 "$here/python/inplace.py" "$build" >/dev/null
mkdir -p "$root/bin/python"
cp -RL "$build/python/csrecover" "$root/bin/python/"
mkdir -p "$root/share/csrecover"
cp "$here"/share/csrecover/prior-gray.npz "$here"/share/csrecover/prior-beside.npz \
    "$here"/share/csrecover/prior-rendered.npz "$here"/share/csrecover/prior-noise.npz \
    "$root/share/csrecover/"
for program in "$build"/tests/test_cuda_* "$build/tests/test_device" "$build/tests/test_slabs" "$build/tests/test_net" \
    "$build/tests/test_operators" "$build"/tests/test_solvers* "$build/tests/test_pca" \
    "$build/tests/test_conv2d" "$build/tests/test_eigen" "$build/tests/test_statistics" \
    "$build/csrecover" "$build/cssample" "$build/csbench"; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    cp "$program" "$root/bin/"
    ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' >>"$work/libraries"
done
sort -u "$work/libraries" | while read -r library; do
    case ${library##*/} in
    libc.so* | libm.so* | libdl.so* | librt.so* | libpthread.so* | ld-linux* | libcuda.so*) ;;
    *) cp -L "$library" "$root/lib/" ;;
    esac
done
strip "$root"/bin/* "$root"/bin/python/csrecover/libcsrec* "$root"/lib/* 2>/dev/null || true
mkdir -p "$(dirname "$archive")"
tar -C "$work" -cf - csrec-cuda | xz --lzma2=preset=4,dict=256MiB >"$archive.part"
mv "$archive.part" "$archive"
ls -l "$archive"
