#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# faults.sh BUILD - every allocation and system call of every command fails, once and from there on
# (../faults/fail_nth.py); some hours on one core.
exec "${PYTHON:-python3}" "$(dirname "$0")/../faults/fail_nth.py" "$1" --long
