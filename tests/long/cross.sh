#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# cross.sh [BUILD [PROCESSOR...]] - the library and the tools for arm64 (aarch64) and for s390x, whose
# bytes come in the other order, built by Debian's cross compilers and run by QEMU: the test programs.
# BUILD is not used. Exit code 77 where apt-get cannot install the compilers or the libraries.
set -eu
cd "$(dirname "$0")/../.."
. cmake/bootstrap.sh
. tests/work.sh
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- aarch64 s390x

# These measure or limit the memory and the threads of the process, which are QEMU's.
FOREIGN=$(tests_with 'VmHWM|ru_maxrss|rlimit')
# These take longer than five minutes under QEMU.
SLOW='test_(boundary|gaussian|prior|progress|slabs|tiles)'

debian_name() { [ "$1" = aarch64 ] && echo arm64 || echo "$1"; }

# apt_for DEBIAN_NAME COMMAND...: apt-get for a machine of that name that has no package yet.
apt_for() {
    apt=$work/apt-$1
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    : >"$apt/status"
    architecture=$1
    shift
    apt-get -q -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" \
        -o Dir::State::Lists="$apt/lists" -o Dir::State::status="$apt/status" \
        -o Dir::Cache="$apt/cache" -o Debug::NoLocking=1 "$@"
}

# sysroot PROCESSOR: that processor's libraries, unpacked in $work/PROCESSOR.
sysroot() {
    name=$(debian_name "$1")
    # shellcheck disable=SC2046,SC2086
    set -- "$1" libc6-dev libgomp1 $(for library in $CSREC_LIBRARIES $CSREC_FORMAT_LIBRARIES \
        $CSREC_TEST_LIBRARIES; do echo "${library##*:}"; done)
    root=$work/$1 libraries=$work/$1/usr/lib/$1-linux-gnu
    shift
    if ! apt_for "$name" update >"$work/log" 2>&1 ||
        ! apt_for "$name" install -y --download-only --no-install-recommends "$@" >"$work/log" 2>&1; then
        skip "no packages for $name: $(tail -n 1 "$work/log")"
    fi
    mkdir "$root"
    for package in "$work/apt-$name"/cache/archives/*.deb; do dpkg -x "$package" "$root"; done
    # What the packages' installation would choose.
    for file in "$libraries"/openblas-pthread/*.so*; do ln -sf "$file" "$libraries"; done
    ln -sf ../openblas-pthread/pkgconfig/openblas.pc "$libraries/pkgconfig"
    ln -sf hdf5-serial.pc "$libraries/pkgconfig/hdf5.pc"
}

programs=
for processor in "$@"; do
    have_program "$processor-linux-gnu-gcc" ||
        programs="$programs gcc-$processor-linux-gnu libc6-dev-$(debian_name "$processor")-cross"
    have_program "qemu-$processor" || programs="$programs qemu-user"
done
# shellcheck disable=SC2086
[ -z "$programs" ] || { have_program apt-get && install_packages $programs; } ||
    skip "missing:$programs"

for processor in "$@"; do
    sysroot "$processor"
    there=$work/build-$processor
    cmake -G Ninja -B "$there" -DCMAKE_TOOLCHAIN_FILE=cmake/cross.cmake \
        -DCSREC_CROSS="$processor" -DCSREC_CROSS_ROOT="$work/$processor" -DCSREC_CUDA=OFF \
        -DCSREC_WERROR=ON
    cmake --build "$there"
    ctest --test-dir "$there" --output-on-failure --timeout 1200 -j "$(nproc)" \
        -R '^test_' -E "^(test_cuda_|test_tools|($FOREIGN|$SLOW)\$)"
done
