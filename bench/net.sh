#!/bin/sh
# net.sh [conv|peers|drunet|all] [OPTION...] - measurements beside the learned prior; builds the
# default preset first. Results go to bench/results/net_*.json, tables to the terminal.
# conv: 3 x 3 convolutions beside oneDNN; --quick, --threads N
# peers: pictures beside other programs; NAME..., --images DIR and more, see net_peers.py --help
# drunet: a network of PyTorch, trained by `net_drunet.py train` before; --weights FILE
# Python needs NumPy and SciPy; the peers are opencv-contrib-python-headless, scikit-image, bm3d and
# torch of PyPI, each left out where it is not installed.
set -eu
cd "$(dirname "$0")/.."
. cmake/bootstrap.sh

what=${1:-all}
[ $# -eq 0 ] || shift
results=bench/results

conv() {
    if [ -x build/bench/bench_net_conv ]; then
        build/bench/bench_net_conv --json "$results/net_conv.json" "$@"
    else
        say "conv: needs oneDNN 2 (libdnnl-dev)"
        return 1
    fi
}

peers() {
    if python3 -c 'import numpy, scipy' 2>/dev/null; then
        python3 bench/net_peers.py --json "$results/net_peers.json" "$@"
    else
        say "peers: needs python3 with NumPy and SciPy"
        return 1
    fi
}

drunet() {
    if python3 -c 'import numpy, scipy, torch' 2>/dev/null; then
        python3 bench/net_drunet.py measure --json "$results/net_drunet.json" "$@"
    else
        say "drunet: needs python3 with NumPy, SciPy and PyTorch"
        return 1
    fi
}

case $what in
conv | peers | drunet | all) ;;
*)
    say "usage: bench/net.sh [conv|peers|drunet|all] [OPTION...]"
    exit 2
    ;;
esac
bootstrap_packages
bootstrap_build default
mkdir -p "$results"
if [ "$what" = all ]; then
    conv || say "conv: left out"
    peers
else
    "$what" "$@"
fi
