# SPDX-License-Identifier: BSD-3-Clause
# work.sh - for scripts of tests: a folder, $work, that goes with them, and tests that cannot run here.
# Sourced in the repository's root.

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# tests_with PATTERN: the test programs whose sources hold it, as a pattern for ctest.
tests_with() {
    grep -lE "$1" tests/test_*.c | sed 's|.*/\(.*\)\.c|\1|' | paste -sd '|' -
}
