#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# libraries.sh FOLDER - zlib, libpng, libzip and libtiff for WebAssembly, built by Emscripten into
# FOLDER (include, lib, licenses) from Debian's source packages, which carry Debian's corrections.
# CSREC_WEB_SOURCES: a folder with their unpacked sources (zlib*, libpng*, libzip*, tiff*), for
# systems without apt.
set -eu
[ $# -eq 1 ] || { sed -n '3,6s/^# //p' "$0" >&2; exit 2; }
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
work=$prefix/build
sources=${CSREC_WEB_SOURCES:-$prefix/src}
# Size counts, speed less: recoveries spend no time here.
flags="-Os -DNDEBUG"

say() { printf '%s\n' "$*" >&2; }

# An own list of packages: the system may name no sources, and need not.
fetch_sources() {
    for name in apt-get dpkg-source; do
        command -v $name >/dev/null ||
            { say "$name is missing: apt install dpkg-dev, or set CSREC_WEB_SOURCES"; exit 1; }
    done
    mkdir -p "$sources" "$prefix/lists/partial"
    . /etc/os-release
    echo "deb-src http://deb.debian.org/debian $VERSION_CODENAME main" >"$prefix/sources.list"
    set -- -q -o Dir::Etc::sourcelist="$prefix/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$prefix/lists" -o APT::Sandbox::User=
    apt-get "$@" update >&2
    (cd "$sources" && apt-get "$@" source zlib libpng1.6 libzip tiff >&2)
}

# folder NAME: that of the sources of a library, the last one if there are several.
folder() {
    found=
    for each in "$sources/$1"*/; do [ -d "$each" ] && found=${each%/}; done
    [ -n "$found" ] || { say "no sources of $1 in $sources"; exit 1; }
    printf '%s' "$found"
}

# archive NAME FILE...: compiles C files into lib/libNAME.a.
archive() {
    name=$1
    shift
    mkdir -p "$work/$name"
    # shellcheck disable=SC2086
    (cd "$work/$name" && emcc $flags -DHAVE_UNISTD_H -I"$prefix/include" -c "$@" && emar rcs \
        "$prefix/lib/lib$name.a" ./*.o)
}

build_zlib() {
    from=$(folder zlib)
    # As its configure does: offsets have the 64 bits of off_t.
    sed '/^#ifdef HAVE_UNISTD_H /s/.*/#if 1/' "$from/zconf.h" >"$prefix/include/zconf.h"
    cp "$from/zlib.h" "$prefix/include"
    set --
    for part in adler32 compress crc32 deflate gzclose gzlib gzread gzwrite infback inffast inflate \
        inftrees trees uncompr zutil; do
        set -- "$@" "$from/$part.c"
    done
    archive z "$@"
    version=$(sed -n 's/^#define ZLIB_VERSION "\([0-9.]*\).*/\1/p' "$from/zlib.h")
    printf 'Name: zlib\nDescription: zlib\nVersion: %s\nLibs: -L%s -lz\nCflags: -I%s\n' "$version" \
        "$prefix/lib" "$prefix/include" >"$prefix/lib/pkgconfig/zlib.pc"
    sed -n '/Copyright notice/,/jloup@/p' "$from/README" >"$prefix/licenses/zlib"
}

build_png() {
    from=$(folder libpng)
    cp "$from/png.h" "$from/pngconf.h" "$prefix/include"
    cp "$from/scripts/pnglibconf.h.prebuilt" "$prefix/include/pnglibconf.h"
    set --
    for part in "" error get mem pread read rio rtran rutil set trans wio write wtran wutil; do
        set -- "$@" "$from/png$part.c"
    done
    archive png "$@"
    cp "$from/LICENSE" "$prefix/licenses/libpng"
}

# What CMake would find in a program of the machine, as it does not in WebAssembly.
sizes=
for each in SIZEOF_OFF_T:8 SIZEOF_SIZE_T:4 SHORT_LIBZIP:2 INT_LIBZIP:4 LONG_LIBZIP:4 \
    LONG_LONG_LIBZIP:8 INT8_T_LIBZIP:1 UINT8_T_LIBZIP:1 INT16_T_LIBZIP:2 UINT16_T_LIBZIP:2 \
    INT32_T_LIBZIP:4 UINT32_T_LIBZIP:4 INT64_T_LIBZIP:8 UINT64_T_LIBZIP:8; do
    sizes="$sizes -D${each%:*}=${each#*:} -DHAVE_${each%:*}=1"
done

# build_cmake NAME LICENSE OPTION...: a library that has a build of its own by CMake.
build_cmake() {
    from=$(folder "$1")
    cp "$from/$2" "$prefix/licenses/$1"
    target=$work/$1
    shift 2
    # shellcheck disable=SC2086
    emcmake cmake -S "$from" -B "$target" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_FLAGS_RELEASE="$flags" -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF -DCMAKE_FIND_ROOT_PATH="$prefix" \
        $sizes -DZLIB_INCLUDE_DIR="$prefix/include" -DZLIB_LIBRARY="$prefix/lib/libz.a" "$@" >&2
    cmake --build "$target" --parallel "$(nproc)" --target install >&2
}

[ -n "${CSREC_WEB_SOURCES:-}" ] || [ -d "$sources" ] || fetch_sources
rm -rf "$work"
mkdir -p "$work" "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/licenses"
build_zlib
build_png
build_cmake libzip LICENSE -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF -DENABLE_ZSTD=OFF \
    -DENABLE_COMMONCRYPTO=OFF -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF -DENABLE_OPENSSL=OFF \
    -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF
build_cmake tiff LICENSE.md -Dcxx=OFF -Dtiff-tools=OFF -Dtiff-tests=OFF -Dtiff-contrib=OFF \
    -Dtiff-docs=OFF -Djpeg=OFF -Dold-jpeg=OFF -Djbig=OFF -Dlerc=OFF -Dlzma=OFF -Dzstd=OFF \
    -Dwebp=OFF -Dlibdeflate=OFF -Dpixarlog=OFF -Dlogluv=OFF -Dmdi=OFF -Dthunder=OFF -Dnext=OFF \
    -Dccitt=OFF
# musl and the runtime come with Emscripten.
cp "$(em-config EMSCRIPTEN_ROOT)/system/lib/libc/musl/COPYRIGHT" "$prefix/licenses/musl"
echo "Copyright (c) the Emscripten authors, under the MIT licence, whose text is that of musl." \
    >"$prefix/licenses/emscripten"
for each in "$prefix"/licenses/*; do
    printf '======== %s ========\n\n' "${each##*/}"
    cat "$each"
    printf '\n'
done >"$prefix/licenses.txt"
rm -rf "$work"
touch "$prefix/done"
