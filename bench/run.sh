#!/bin/sh
# run.sh [speed|memory|estimate|silences|pictures|solvers|learn|peers|sidebyside|all] [OPTION...] - builds the default preset and measures;
# results go to bench/results/<name>.json and a table to the terminal. Options go to the program:
# speed: --quick, --image FILE.png; memory: --samples LOG2N; estimate: --quick; silences: EDGE SECONDS; pictures: --images DIR, --quick;
# solvers: --trials T; peers, sidebyside: --images DIR, --quick.
# Then bench/tables.py puts the results into README.md and docs.
set -eu
cd "$(dirname "$0")/.."
. cmake/bootstrap.sh

what=${1:-all}
[ $# -eq 0 ] || shift
results=bench/results

speed() { build/bench/bench_pursuit --json "$results/pursuit.json" "$@"; }
memory() { build/bench/bench_scale --json "$results/scale.json" "$@"; }
estimate() { python3 bench/estimate.py --json "$results/estimate.json" "$@"; }
silences() { build/bench/bench_silences --json "$results/silences.json" "$@"; }
pictures() {
    if python3 -c 'import numpy' 2>/dev/null; then
        python3 bench/pictures.py --json "$results/pictures.json" "$@"
    else
        say "pictures: needs python3 with NumPy (python3-numpy); SciPy, scikit-image and Pillow" \
            "for the peers"
        return 1
    fi
}

solvers() {
    build/bench/bench_solvers --json "$results/solvers.json" --picture "$results/solvers.png" "$@"
    if python3 -c 'import numpy, sklearn' 2>/dev/null; then
        python3 bench/solvers.py --json "$results/solvers_peers.json"
    else
        say "solvers: beside scikit-learn only with NumPy and scikit-learn"
    fi
}

learn() { build/bench/bench_learn --json "$results/learn.json" "$@"; }

# Through the Python package, which needs no installing for this.
peers() { through_python peers "$@"; }
sidebyside() { through_python sidebyside "$@"; }

through_python() {
    name=$1
    shift
    if python3 -c 'import numpy, cffi' 2>/dev/null; then
        python3 "bench/$name.py" --json "$results/$name.json" "$@"
    else
        say "$name: needs python3 with NumPy and cffi; scikit-learn, PyLops, PyWavelets," \
            "scikit-image, SciPy and Pillow for the peers"
        return 1
    fi
}

case $what in
speed | memory | estimate | silences | pictures | solvers | learn | peers | sidebyside | all) ;;
*)
    say "usage: bench/run.sh [speed|memory|estimate|silences|pictures|solvers|learn|peers|sidebyside|all] [OPTION...]"
    exit 2
    ;;
esac
bootstrap_packages
bootstrap_build default
mkdir -p "$results"
if [ "$what" = all ]; then
    speed
    pictures || say "pictures: left out"
    memory
    estimate || say "estimate: left out"
    silences
    solvers
    peers || say "peers: left out"
    sidebyside || say "sidebyside: left out"
else
    "$what" "$@"
fi
