#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# libraries.sh PREFIX [pocketfft] - builds into PREFIX what a wheel carries and the system has too old,
# or with OpenSSL, curl or C++: static libzip, libjpeg-turbo, libtiff, cfitsio, HDF5 and OpenEXR's C
# library without encryption and network; PocketFFT's header, or that alone; and OpenBLAS with names
# of its own (the PyPI package scipy-openblas32, whose CPU code is chosen at run time). Then
# PKG_CONFIG_PATH=PREFIX/lib/pkgconfig and CMAKE_PREFIX_PATH=PREFIX find them all.
# CSREC_WHEEL_SOURCES: a folder with the archives below, for builds without a network.
set -eu
[ $# -eq 1 ] || [ "$*" = "${1:-} pocketfft" ] || {
    sed -n '3,8s/^# //p' "$0" >&2
    exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-python3}

checksum() { { sha256sum "$1" 2>/dev/null || shasum -a 256 "$1"; } | cut -d ' ' -f 1; }

# archive NAME VERSION SHA256 ADDRESS: puts what is there, or "pip": the sources of that package of
# PyPI, into $work/NAME.
archive() {
    found=$(find "${CSREC_WHEEL_SOURCES:-/nowhere}" -iname "$1*$2*" ! -name "*debian.tar*" 2>/dev/null |
        head -n 1)
    if [ -n "$found" ]; then
        cp "$found" "$work/$1"
    elif [ "$4" = pip ]; then
        "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary "$1" \
            -d "$work/pip" "$1==$2"
        mv "$work/pip/$1-$2.tar.gz" "$work/$1"
    else
        curl -fsSL -o "$work/$1" "$4"
    fi
    [ "$(checksum "$work/$1")" = "$3" ] || {
        echo "$1: ${found:-$4} is not the $2 that was tested; remove it, or put" \
            "its checksum into packaging/wheel/libraries.sh" >&2
        exit 1
    }
}

# configured NAME VERSION SHA256 ADDRESS OPTION...: a library that builds with CMake, in
# $work/NAME-build.
configured() {
    archive "$1" "$2" "$3" "$4"
    name=$1
    shift 4
    mkdir -p "$work/$name-source"
    tar -xf "$work/$name" -C "$work/$name-source" --strip-components 1
    cmake -S "$work/$name-source" -B "$work/$name-build" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_INSTALL_LIBDIR:STRING=lib \
        -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
        -DCMAKE_POLICY_VERSION_MINIMUM=3.5 "$@"
}

# built: the same, and installs it.
built() {
    configured "$@"
    cmake --build "$work/$1-build" --parallel
    cmake --install "$work/$1-build"
}

# described NAME VERSION CFLAGS LIBS: the pkg-config file of a library.
described() {
    printf '%s\n' "Name: $1" "Description: $1" "Version: $2" "Cflags: $3" \
        "Libs: -L$prefix/lib $4" >"$prefix/lib/pkgconfig/$1.pc"
}

# No releases: a commit.
commit=33ae5dc94c9cdc7f1c78346504a85de87cadaa12
archive pocketfft hdronly.h 50f4ddbe60432325f560c706b6f1c49f9e0949fc7f20ae6499f2299e37d9790c \
    "https://raw.githubusercontent.com/mreineck/pocketfft/$commit/pocketfft_hdronly.h"
mkdir -p "$prefix/include"
mv "$work/pocketfft" "$prefix/include/pocketfft_hdronly.h"
[ $# -eq 1 ] || exit 0

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

# Debian's archive: without documents that may not be changed. Its hdf5.pc does not name the library.
built hdf5 1.14.5 71cdb04c151ef4e8a7f88907adfc4f3b75afd44e96fbd55775e1c9d7c4e7c112 \
    https://snapshot.debian.org/file/857ef5e30ba76ff5769f4235bc876e506db55d36 \
    -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DHDF5_ENABLE_SZIP_SUPPORT=OFF -DHDF5_BUILD_HL_LIB=OFF \
    -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_EXAMPLES=OFF
described hdf5 1.14.5 "-I$prefix/include" "-lhdf5"
built libdeflate 1.23 1ab18349b9fb0ce8a0ca4116bded725be7dcbfa709e19f6f983d99df1fb8b25f \
    https://github.com/ebiggers/libdeflate/archive/refs/tags/v1.23.tar.gz \
    -DLIBDEFLATE_BUILD_SHARED_LIB=OFF -DLIBDEFLATE_BUILD_GZIP=OFF -DLIBDEFLATE_GZIP_SUPPORT=OFF
# Without a table of halves, nothing of Imath is linked.
built imath 3.1.12 8a1bc258f3149b5729c2f4f8ffd337c0e57f09096e4ba9784329f40c4a9035da \
    https://github.com/AcademySoftwareFoundation/Imath/archive/refs/tags/v3.1.12.tar.gz \
    -DIMATH_HALF_USE_LOOKUP_TABLE=OFF
configured openexr 3.3.14 de0c6a441fca71c869b3f00b55d1a33f5cf93ee49cb2a77fa0006dc06934f50a pip \
    -DOPENEXR_BUILD_TOOLS=OFF -DOPENEXR_BUILD_EXAMPLES=OFF -DOPENEXR_BUILD_PYTHON=OFF
cmake --build "$work/openexr-build" --parallel --target OpenEXRCore
cmake --install "$work/openexr-build/cmake"
cmake --install "$work/openexr-build/src/lib/OpenEXRCore"
described OpenEXR 3.3.14 "-I$prefix/include/OpenEXR -I$prefix/include/Imath" \
    "-lOpenEXRCore-3_3 -ldeflate"
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
    --target "$prefix/openblas" 'scipy-openblas32>=0.3.27'
"$python" "$here/openblas.py" "$prefix"
