#!/bin/sh
# run.sh [PRESET] - from a fresh clone to all tests run: installs what is missing (apt), configures,
# builds and tests one preset of CMakePresets.json (default, cpu, sanitize).
set -eu
cd "$(dirname "$0")/.."
. cmake/bootstrap.sh

preset=${1:-default}
bootstrap_packages
bootstrap_build "$preset"
# Tests run side by side: threads that spin while they wait would take the others' cores.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
ctest --preset "$preset"
