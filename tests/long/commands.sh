#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# commands.sh BUILD - 3000 random commands, times CSREC_LONG, of the tools under the address and the
# undefined-behaviour sanitizer (../faults/draw.py), which have a build of their own; some hours.
set -eu
cd "$(dirname "$0")/../.."
cmake --preset sanitize >/dev/null
cmake --build build-sanitize --target csrecover cssample
count=$(awk "BEGIN { print int(3000 * ${CSREC_LONG:-1}) }")
exec "${PYTHON:-python3}" tests/faults/draw.py build-sanitize --count "$count"
