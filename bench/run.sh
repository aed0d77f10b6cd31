#!/bin/sh
# run.sh [NAME|all] [OPTION...] - builds the default preset and measures on the CPU; results go to
# bench/results, tables to the terminal. Options go to the program:
#   speed       pursuits; --quick, --image FILE.png
#   ranks       one pursuit by several ranks; --sizes LOG2N,..., --ranks R,..., --delays US,..., --threads T
#   ranks_delay one pursuit by ranks of Open MPI on a network with a set delay; needs root; 5 minutes;
#               --log2-n L, --ranks R,..., --delays US,..., --repeats T
#   ranks_memory  memory of the ranks of one pursuit; --log2-n L..., --ranks R...
#   memory      --samples LOG2N
#   estimate    --quick
#   silences    EDGE SECONDS
#   pictures    --images DIR, --quick
#   phase       phase transitions, coherences and the paper's transform by csbench; some minutes
#   learn       statistics, components and mixtures; --quick
#   conv        convolutions beside the plain way, learning, and pictures recovered with learned
#               filters; --quick, --images DIR, --train FILE...
#   net_conv    3 x 3 convolutions beside oneDNN; --quick, --threads N
#   net_peers   the learned prior beside other programs; NAME..., --images DIR and more, see
#               net_peers.py --help; the peers are opencv-contrib-python-headless, scikit-image, bm3d
#               and torch of PyPI, each left out where it is not installed
#   peers, sidebyside  --images DIR, --quick
#   l1          l1 and total variation beside SPGL1, PyLops, SigPy and scikit-image, each left out where
#               it is not installed
#   operators   pictures measured by Hadamard's rows and frequencies; --images DIR, --only TEXT
#   bart        total variation and l1 beside the program bart, left out where it is not installed;
#               --quick
#   adaptive_peers  places chosen by expected errors beside contrast, SLADS and Gaussian processes;
#               20 minutes; --images DIR, --quick
# all: speed, pictures, memory, estimate, silences, peers and sidebyside. Then bench/tables.py
# puts the results into README.md and docs.
set -eu
cd "$(dirname "$0")/.."
. cmake/bootstrap.sh

names='speed ranks ranks_delay ranks_memory memory estimate silences pictures learn conv'
names="$names net_conv net_peers peers sidebyside adaptive_peers phase l1 operators bart"
what=${1:-all}
[ $# -eq 0 ] || shift
results=bench/results

# has_python NAME MODULES PACKAGE...: whether Python can import the modules; if not, says what NAME
# needs.
has_python() {
    python3 -c "import $2" 2>/dev/null && return
    who=$1
    shift 2
    say "$who: needs python3 with $*"
    return 1
}

speed() { build/bench/bench_pursuit --json "$results/pursuit.json" "$@"; }
ranks() { build/bench/bench_pursuit_ranks --json "$results/pursuit_ranks.json" "$@"; }
ranks_delay() { python3 bench/ranks_delay.py --json "$results/pursuit_delay.json" "$@"; }
ranks_memory() {
    has_python ranks_memory numpy NumPy &&
        python3 bench/ranks_memory.py --json "$results/pursuit_memory.json" "$@"
}
memory() { build/bench/bench_scale --json "$results/scale.json" "$@"; }
estimate() { python3 bench/estimate.py --json "$results/estimate.json" "$@"; }
silences() { build/bench/bench_silences --json "$results/silences.json" "$@"; }
learn() { build/bench/bench_learn --json "$results/learn.json" "$@"; }

pictures() {
    has_python pictures numpy 'NumPy; SciPy, scikit-image and Pillow for the peers' &&
        python3 bench/pictures.py --json "$results/pictures.json" "$@"
}

phase() { python3 bench/phase.py build --json "$results/phase.json" "$@"; }

conv() {
    quick=
    [ "${1:-}" != --quick ] || quick=--quick
    build/bench/bench_conv --json "$results/conv.json" $quick
    if has_python 'conv: pictures' 'numpy, PIL' 'NumPy and Pillow'; then
        python3 bench/conv.py --json "$results/conv_pictures.json" "$@"
    fi
}

net_conv() {
    if [ -x build/bench/bench_net_conv ]; then
        build/bench/bench_net_conv --json "$results/net_conv.json" "$@"
    else
        say "net_conv: needs oneDNN 2 (libdnnl-dev)"
        return 1
    fi
}

net_peers() {
    has_python net_peers 'numpy, scipy' 'NumPy and SciPy' &&
        python3 bench/net_peers.py --json "$results/net_peers.json" "$@"
}

# Through the Python package, which needs no installing for this.
peers() { through_python peers "$@"; }
sidebyside() { through_python sidebyside "$@"; }
adaptive_peers() { through_python adaptive_peers "$@"; }
l1() { through_python l1 "$@"; }
operators() { through_python operators "$@"; }
bart() { through_python bart "$@"; }

through_python() {
    name=$1
    shift
    has_python "$name" 'numpy, cffi' 'NumPy and cffi; scikit-learn, PyLops, PyWavelets,' \
        'scikit-image, SciPy and Pillow for the peers' &&
        python3 "bench/$name.py" --json "$results/$name.json" "$@"
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
if [ "$what" = all ]; then
    speed
    pictures || say "pictures: left out"
    memory
    estimate || say "estimate: left out"
    silences
    peers || say "peers: left out"
    sidebyside || say "sidebyside: left out"
else
    "$what" "$@"
fi
