#!/bin/sh
# conv.sh [--quick] [--images DIR] [--train FILE...] - convolutions: GFLOP/s by shape beside the plain
# way, learning, and pictures recovered with learned filters; builds the default preset first.
# Results go to bench/results/conv.json and conv_pictures.json, tables to the terminal.
set -eu
cd "$(dirname "$0")/.."
. cmake/bootstrap.sh
bootstrap_packages
bootstrap_build default
mkdir -p bench/results
quick=
[ "${1:-}" != --quick ] || quick=--quick
build/bench/bench_conv --json bench/results/conv.json $quick
if python3 -c 'import numpy, PIL' 2>/dev/null; then
    python3 bench/conv.py "$@"
else
    say "pictures: needs python3 with NumPy and Pillow"
fi
