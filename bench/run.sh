#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh [NAME|all] [OPTION...] - builds the default preset and measures on the CPU; results go to
# bench/results, tables to the terminal. Options go to the program; those in Python tell theirs, and what
# they measure, by --help:
#   speed       pursuits; --largest LOG2N
#   growth      seconds and memory by size: signals, pictures, files, frames; --backend cuda, --seconds S
#   many, parts                 ranks on one machine, and memory by the format of the files
#   pictures, peers, sidebyside, presets, noise, uncertainty, intervals   pictures
#   rounds      measuring in rounds
#   operators, phase            measured through an operator, and solvers
#   smooth      gaps filled smoothly, beside SciPy, scikit-image and GDAL (rasterio)
#   onednn      the network beside oneDNN, by PyTorch
#   set11, brains   pictures by which the literature compares; --folder FOLDER of them, --jobs N
#   defaults    what is recovered without options: lines, tables, holes, volumes
#   renderer    a path tracer's pictures of few rays, beside a denoiser; --cache FOLDER (15 minutes)
#   renderer_film   an animation of it; --cache FOLDER (10 minutes)
#   web         the module for browsers, after web/test.sh build
#   learn, estimate, silences   learning; estimates before a recovery; reports of progress
# all: speed, pictures, estimate, silences, peers and sidebyside. Then bench/tables.py
# puts the results into README.md and docs.
set -eu
cd "$(dirname "$0")/.."
. cmake/bootstrap.sh

names='speed growth many parts pictures peers sidebyside presets noise laws uncertainty intervals rounds operators phase'
names="$names learn estimate silences smooth defaults renderer renderer_film web set11 brains onednn"
what=${1:-all}
[ $# -eq 0 ] || shift
results=bench/results

# by_python SCRIPT RESULT [OPTION...]
by_python() {
    script=$1 result=$2
    shift 2
    case $script in
    estimate | phase) ;;
    *) python3 -c 'import numpy, cffi' 2>/dev/null || {
        say "$script: needs python3 with NumPy and cffi; SciPy, Pillow and the peers where it has some"
        return 1
    } ;;
    esac
    python3 "bench/$script.py" --json "$results/$result.json" "$@"
}

measure() {
    name=$1
    shift
    case $name in
    speed) by_python pursuit pursuit "$@" ;;
    rounds) by_python adaptive adaptive "$@" ;;
    onednn) by_python cudnn onednn --compiled "$@" ;;
    brains) by_python set11 brains --operator radial "$@" ;;
    *) by_python "$name" "$name" "$@" ;;
    esac
}

case " $names all " in
*" $what "*) ;;
*)
    say "usage: bench/run.sh [$(say "$names" | tr ' ' '|')|all] [OPTION...]"
    exit 2
    ;;
esac
bootstrap_packages
bootstrap_build default
mkdir -p "$results"
if [ "$what" != all ]; then
    measure "$what" "$@"
    exit
fi
for name in speed pictures estimate silences peers sidebyside; do
    measure "$name" || say "$name: left out"
done
