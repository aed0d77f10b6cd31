# SPDX-License-Identifier: BSD-3-Clause
# bootstrap.sh - what samples/demo.sh, tests/run.sh and .ci/run share: install what is missing,
# configure, build. Sourced by them with the repository's root as working directory.

CSREC_LIBRARIES='libpng:1.6.30:libpng-dev zlib:1.2.11:zlib1g-dev libzip:1.7:libzip-dev
    openblas:0.3.20:libopenblas-dev'
# Of any version: an older one than a format needs leaves that format out.
CSREC_FORMAT_LIBRARIES='libjpeg:0:libjpeg-dev libtiff-4:0:libtiff-dev cfitsio:0:libcfitsio-dev
    OpenEXR:0:libopenexr-dev hdf5:0:libhdf5-dev fftw3:0:libfftw3-dev jansson:0:libjansson-dev'
CSREC_MPI_LIBRARIES='ompi-c:3:libopenmpi-dev mpich:3:libmpich-dev'
CSREC_TEST_LIBRARIES='cmocka:1.1.5:libcmocka-dev'
CSREC_CMAKE=3.25

say() { printf '%s\n' "$*"; }

# True if dotted version $1 is at least $2.
version_reached() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

have_program() { command -v "$1" >/dev/null 2>&1; }

cmake_reached() {
    have_program cmake && version_reached "$(cmake --version | sed -n '1s/cmake version //p')" \
        "$CSREC_CMAKE"
}

# compiles SOURCE COMPILER FLAG...: true if that compiles and links.
compiles() {
    program=$(mktemp) || return 1
    source=$1
    shift
    printf '%s\n' "$source" | "$@" -x c -o "$program" - >/dev/null 2>&1
    result=$?
    rm -f "$program"
    return $result
}

main_compiles() { compiles '#include <math.h>
    int main(void) { return 0; }' "${CC:-cc}" "$@"; }

fuzzer_links() { compiles '#include <stddef.h>
    int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n) { return data && n ? 0 : 0; }' \
    clang -fsanitize=fuzzer,address,undefined; }

# missing_libraries MODULE:MINIMUM:PACKAGE...: the packages of those that are missing or too old.
missing_libraries() {
    for library in "$@"; do
        package=${library##*:}
        module=${library%%:*}
        version=${library#*:}
        pkg-config --atleast-version="${version%:*}" "$module" 2>/dev/null || echo "$package"
    done
}

clang_has_openmp() { compiles 'int main(void) { return 0; }' clang -fopenmp; }

# Prints the apt names of what is missing to configure and build; $1 = demo: without tests, fuzz: with
# clang, too, long: and with its OpenMP, for the long forms of the tests.
missing_packages() {
    main_compiles -fopenmp || echo gcc libc6-dev
    cmake_reached || echo cmake
    have_program ninja || echo ninja-build
    have_program pkg-config || echo pkg-config
    # Word splitting is meant: one library a word.
    # shellcheck disable=SC2086
    missing_libraries $CSREC_LIBRARIES
    [ "${1:-}" != demo ] || return 0
    # shellcheck disable=SC2086
    missing_libraries $CSREC_TEST_LIBRARIES
    have_program python3 || echo python3
    [ -z "${1:-}" ] || fuzzer_links || echo clang libclang-rt-dev
    [ "${1:-}" != long ] || clang_has_openmp || echo libomp-dev
}

install_packages() {
    root=
    if [ "$(id -u)" -ne 0 ]; then
        have_program sudo || return 1
        root=sudo
    fi
    say "Installing: $*"
    $root apt-get update -q &&
        $root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@"
}

# As of missing_packages.
missing_options() {
    # shellcheck disable=SC2086
    missing_libraries $CSREC_FORMAT_LIBRARIES
    [ "${1:-}" != demo ] || return 0
    # shellcheck disable=SC2086
    missing_libraries $CSREC_MPI_LIBRARIES
    have_program mpirun.openmpi || echo openmpi-bin
    have_program mpirun.mpich || echo mpich
}

# bootstrap_options [demo]: the libraries of formats, and MPI, which the build leaves out where missing.
bootstrap_options() {
    # shellcheck disable=SC2046
    set -- $(missing_options "${1:-}")
    [ $# -gt 0 ] || return 0
    if ! have_program apt-get || ! install_packages "$@"; then
        say "Without these, by their Debian names, formats of files or MPI are left out: $*"
    fi
}

# bootstrap_packages [demo | fuzz | long]: stops with the names of the packages if they cannot be had.
bootstrap_packages() {
    bootstrap_options "${1:-}"
    # Word splitting is meant: one package a word.
    # shellcheck disable=SC2046
    set -- $(missing_packages "${1:-}")
    [ $# -gt 0 ] || return 0
    if ! have_program apt-get || ! install_packages "$@"; then
        say "Missing, by their Debian names: $*"
        say "Install these (CMake >= $CSREC_CMAKE, CMocka >= 1.1.5, a C11 compiler with OpenMP," \
            "libpng, zlib, libzip, OpenBLAS), then run this again."
        exit 1
    fi
    cmake_reached || {
        say "CMake >= $CSREC_CMAKE is needed and the system's is older: see cmake.org/download"
        exit 1
    }
}

# bootstrap_build PRESET OPTION...: configures its folder, which demo.sh may have configured without
# tests, and builds.
bootstrap_build() {
    folder=build
    [ "$1" = default ] || folder=build-$1
    cmake --preset "$@" || exit 1
    cmake --build --preset "$1" || exit 1
}

# bootstrap_demo: builds in build all that `cmake --install build` takes, too; a new folder has no
# tests, and kernels only if the machine has a GPU.
bootstrap_demo() {
    if ! [ -f build/build.ninja ]; then
        cuda=OFF
        nvidia-smi -L 2>/dev/null | grep -q GPU && cuda=AUTO
        cmake --preset default -DCSREC_TESTS=OFF -DCSREC_WERROR=OFF -DCSREC_CUDA=$cuda || exit 1
    fi
    cmake --build build || exit 1
}
