#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# fuzz.sh BUILD - the fuzz targets for CSREC_LONG hours in all (default 1), from CSREC_TEST_SEED; the
# hours are written down in fuzz/log.csv. It has a build of its own, with clang.
set -euo pipefail
cd "$(dirname "$0")/../.."
. cmake/bootstrap.sh
fuzzer_links || { echo "SKIP: clang with libFuzzer is not installed"; exit 77; }
seconds=$(awk -v hours="${CSREC_LONG:-1}" 'BEGIN { printf "%d", 3600 * hours }')
fuzz/run.sh --long "$seconds" "${CSREC_TEST_SEED:-0}"
