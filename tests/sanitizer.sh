# SPDX-License-Identifier: BSD-3-Clause
# sanitizer.sh - what tests/long/tsan.sh and msan.sh share. Sourced by them in the repository's root.

. tests/work.sh

# sanitizer_finds PROGRAM...: stops unless the program ends in a failure, its report in $work/log.
sanitizer_finds() {
    ! "$@" >"$work/log" 2>&1 || { echo "not found: what ${1##*/} does wrong" && exit 1; }
}

# sanitizer_tests PRESET PATTERN: builds and runs the test programs, but for those that measure or
# limit what the sanitizer itself takes: their sources hold PATTERN.
sanitizer_tests() {
    limited=$(tests_with "$2")
    printf 'left out, they measure or limit what the sanitizer takes: %s\n' "$limited"
    [ -f "build-$1/build.ninja" ] || cmake --preset "$1"
    cmake --build --preset "$1"
    ctest --preset "$1" -R '^test_' -E "^($limited)\$" --timeout 3000
}
