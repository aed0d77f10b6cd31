#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# kills.sh BUILD - 1000 runs, times CSREC_LONG, are killed or interrupted at random calls and go on
# (../faults/kills.py); some minutes.
count=$(awk "BEGIN { print int(1000 * ${CSREC_LONG:-1}) }")
exec "${PYTHON:-python3}" "$(dirname "$0")/../faults/kills.py" "$1" --random "$count"
