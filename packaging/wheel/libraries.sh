#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# libraries.sh PREFIX - builds into PREFIX what a wheel carries and the system has too old or with
# OpenSSL: static libzip, libjpeg-turbo, libtiff and cfitsio without encryption and network, and
# OpenBLAS with names of its own (the PyPI package scipy-openblas32, whose CPU code is chosen at run
# time). Then PKG_CONFIG_PATH=PREFIX/lib/pkgconfig finds them all. CSREC_WHEEL_SOURCES: a folder with
# the archives below, for builds without a network.
set -eu
[ $# -eq 1 ] || {
    sed -n '3,7s/^# //p' "$0" >&2
    exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-$(command -v python3)}

# built NAME VERSION SHA256 ADDRESS OPTION...: a library that builds with CMake.
built() {
    name=$1 version=$2 sum=$3 address=$4
    shift 4
    archive=$work/$name
    found=$(find "${CSREC_WHEEL_SOURCES:-/nowhere}" -name "$name*$version*.tar.*" ! -name "*debian*" 2>/dev/null |
        head -n 1)
    if [ -n "$found" ]; then cp "$found" "$archive"; else curl -fsSL -o "$archive" "$address"; fi
    echo "$sum  $archive" | sha256sum --check --quiet - || {
        echo "$name: ${found:-$address} is not the $version that was tested; remove it, or put" \
            "its checksum into packaging/wheel/libraries.sh" >&2
        exit 1
    }
    mkdir -p "$work/$name-source"
    tar -xf "$archive" -C "$work/$name-source" --strip-components 1
    cmake -S "$work/$name-source" -B "$work/$name-build" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF \
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "$@"
    cmake --build "$work/$name-build" --parallel
    cmake --install "$work/$name-build"
}

built libzip 1.7.3 a60473ffdb7b4260c08bfa19c2ccea0438edac11193c3afbbb1f17fbcf6c6132 \
    https://libzip.org/download/libzip-1.7.3.tar.xz \
    -DENABLE_COMMONCRYPTO=OFF -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF -DENABLE_OPENSSL=OFF \
    -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF \
    -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF
built libjpeg-turbo 2.1.5 254f3642b04e309fee775123133c6464181addc150499561020312ec61c1bf7c \
    https://github.com/libjpeg-turbo/libjpeg-turbo/archive/refs/tags/2.1.5.tar.gz \
    -DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF
built tiff 4.5.0 638f43d7dea33948d5dee7f39572fc0194d9cc3c74195de9dd26a4388a1f880a \
    https://gitlab.com/libtiff/libtiff/-/archive/v4.5.0/libtiff-v4.5.0.tar.bz2 \
    -Djpeg=OFF -Djbig=OFF -Dlzma=OFF -Dzstd=OFF -Dwebp=OFF -Dlerc=OFF -Dlibdeflate=OFF \
    -Dcxx=OFF -Dtiff-tools=OFF -Dtiff-tests=OFF -Dtiff-contrib=OFF -Dtiff-docs=OFF
built cfitsio 4.2.0 eba53d1b3f6e345632bb09a7b752ec7ced3d63ec5153a848380f3880c5d61889 \
    https://heasarc.gsfc.nasa.gov/FTP/software/fitsio/c/cfitsio-4.2.0.tar.gz \
    -DUSE_CURL=OFF -DUSE_PTHREADS=ON -DTESTS=OFF -DUTILS=OFF

"$python" -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
    --target "$prefix/openblas" 'scipy-openblas32>=0.3.27'
"$python" "$here/openblas.py" "$prefix"
