#!/bin/sh
# packaging.sh BUILD - what other systems build from is well-formed; a wheel is built, repaired and
# used. Exit code 77 without a network.
set -eu
cd "$(dirname "$0")/../.."
packaging/check.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packaging/wheel/try.sh "$work"
