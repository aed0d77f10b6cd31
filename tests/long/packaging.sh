#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# packaging.sh BUILD - what other systems build from is well-formed; a wheel is built, repaired and
# used. Exit code 77 without a network.
set -eu
cd "$(dirname "$0")/../.."
. tests/work.sh
packaging/check.sh
packaging/wheel/try.sh "$work"
