#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# web.sh BUILD - the module for browsers, built anew, its package in Node and its page in Chromium.
set -eu
exec "$(dirname "$0")/../../web/test.sh" "$1"
