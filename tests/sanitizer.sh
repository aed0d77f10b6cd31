# sanitizer.sh - what tests/long/tsan.sh and msan.sh share. Sourced by them in the repository's root.

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# sanitizer_finds PROGRAM...: stops unless the program ends in a failure, its report in $work/log.
sanitizer_finds() {
    ! "$@" >"$work/log" 2>&1 || { echo "not found: what ${1##*/} does wrong" && exit 1; }
}

# sanitizer_tests PRESET [ctest OPTION...]: builds and runs the test programs.
sanitizer_tests() {
    preset=$1
    shift
    [ -f "build-$preset/build.ninja" ] || cmake --preset "$preset"
    cmake --build --preset "$preset"
    ctest --preset "$preset" -R '^test_' --timeout 3000 "$@"
}
