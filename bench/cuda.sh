#!/bin/sh
# cuda.sh [--built DIR] [--out DIR] [--image FILE.png] [--check] - builds, checks and times the CUDA
# part on a machine with a GPU, in under five minutes; the results go to bench/results/cuda.json.
#   --built DIR  programs are there already (the tests below, bench_cuda_*, bench_rounds, csrecover,
#                cssample): nothing is built
#   --check      compute-sanitizer, memcheck and racecheck, over brief tests as well; built with one
#                team a block (kernels/haar/speculate_round.cuh), as racecheck overlooks named barriers
# Without a device the tests and measurements say that they are skipped.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
built= out=$here/bench/results image= check=
while [ $# -gt 0 ]; do
    case $1 in
    --built) built=$2; shift ;;
    --out) out=$2; shift ;;
    --image) image=$2; shift ;;
    --check) check=yes ;;
    *)
        echo "usage: bench/cuda.sh [--built DIR] [--out DIR] [--image FILE.png] [--check]" >&2
        exit 2
        ;;
    esac
    shift
done
mkdir -p "$out"
failed=
# Tests of the device alone and of every backend; then those that compute-sanitizer need not check.
tests='test_cuda_[a-z_]*|test_(conv2d|eigen|net|operators|solvers[a-z_]*|statistics|transform)'
others='test_(device|pca)'
# those FOLDER PATTERN: the tests there.
those() { (cd "$1" && ls) | grep -xE "$2"; }

checked=$built
if [ -z "$built" ]; then
    if [ -n "$check" ]; then
        checked=$here/build-cuda-check/tests
        cmake -S "$here" -B "$here/build-cuda-check" -DCMAKE_BUILD_TYPE=Release -DCSREC_CUDA=ON \
            -DCMAKE_CUDA_FLAGS=-DCSREC_SPECULATE_TEAM=16
        cmake --build "$here/build-cuda-check" --parallel
    fi
    cmake -S "$here" -B "$here/build-cuda" -DCMAKE_BUILD_TYPE=Release -DCSREC_CUDA=ON
    cmake --build "$here/build-cuda" --parallel
    built=$here/build-cuda/cuda-programs
    mkdir -p "$built"
    for program in "$here"/build-cuda/bench/bench_cuda_* "$here/build-cuda/bench/bench_rounds" \
        "$here/build-cuda/csrecover" "$here/build-cuda/cssample"; do
        [ -x "$program" ] && [ -f "$program" ] && ln -sf "$program" "$built/"
    done
    for test in $(those "$here/build-cuda/tests" "$tests|$others"); do
        ln -sf "$here/build-cuda/tests/$test" "$built/"
    done
fi

note() {
    echo "$*"
    failed=yes
}

# run NAME SECONDS COMMAND...: a program that may be missing, with a limit of its own.
run() {
    name=$1 limit=$2
    shift 2
    [ -x "$1" ] || return 0
    echo "== $name"
    timeout "$limit" "$@" || note "$name FAILED"
}

for test in $(those "$built" "$tests|$others"); do
    run "$test" 90 "$built/$test"
done

# A file of JSON each, put together below. A new bench has its place here.
parts=$out/cuda-parts
rm -rf "$parts"
mkdir -p "$parts"
# lines NAME [PROGRAM]: bench_cuda_NAME, or another, which prints a JSON object a line.
lines() {
    program=${2:-$built/bench_cuda_$1}
    [ -x "$program" ] || return 0
    echo "== $(basename "$program")"
    timeout 90 "$program" >"$parts/$1.jsonl" || note "$1 FAILED"
    cat "$parts/$1.jsonl"
    {
        echo '['
        grep '^{.*}$' "$parts/$1.jsonl" | sed '$!s/$/,/'
        echo ']'
    } >"$parts/$1.json"
}
lines transform
lines threshold # block cosines: kernels/method/frames/shrink.cu
lines operators # kernels/operator/*.cu
lines omp       # many right-hand sides: kernels/solver/omp.cu
lines statistics
lines conv2d
lines net       # kernels/net, kernels/conv/packed.cu
lines gaussian # solver gaussian, start and rounds: kernels/method/frames/shrink.cu, kernels/method/gaussian/*.cu
lines methods   # methods that compute a part there: kernels/method/mixture, kernels/learn/em.cu
lines rounds "$built/bench_rounds" # of adaptive measuring
lines calls     # from host to host: what backend auto chooses between
lines reference "$here/bench/cuda_reference.py" # cuBLAS and cuDNN on the shapes of those two
run bench_cuda_batch 60 "$built/bench_cuda_batch" --quick --json "$parts/batch.json"
run bench_cuda_recover 60 "$built/bench_cuda_recover" --json "$parts/recover.json"
run bench_cuda_loop 80 "$built/bench_cuda_loop" --json "$parts/loop.json" --largest 22 --volume 10 \
    ${image:+--image "$image"}

# Seconds of the tool from its start to its end: 64 grids of an RGB picture of 1024 x 1024 at 25 %.
# A PNG up to the fingerprint at its end, which names the backend.
pixels() {
    at=$(LC_ALL=C grep -abo tEXtComment "$1" | tail -1 | cut -d: -f1)
    head -c "$((at - 4))" "$1"
}

seconds() {
    from=$(date +%s%N)
    "$@" || note "$1 FAILED"
    echo "$(($(date +%s%N) - from))" | awk '{printf "%.3f", $1 * 1e-9}'
}
if [ -s "$parts/recover.json" ] && [ -x "$built/csrecover" ] && [ -x "$built/cssample" ]; then
    work=$parts/tool
    mkdir -p "$work"
    [ -n "$image" ] || "$built/bench_cuda_recover" --picture "$work/picture.png"
    "$built/cssample" "${image:-$work/picture.png}" -o "$work/scan.npz" --rate 0.25 \
        --pattern uniform --seed 1
    comma=
    {
        echo '{'
        for backend in cuda cuda_again cpu; do
            took=$(seconds "$built/csrecover" "$work/scan.npz" -o "$work/$backend.png" --quiet \
                --shifts 64 --atoms 65536 --epsilon 0 --backend "${backend%_again}")
            echo "$comma\"$backend\": $took"
            comma=,
        done
        same=false
        for backend in cuda cpu; do
            pixels "$work/$backend.png" >"$work/$backend.pixels" || note "no fingerprint in a PNG"
        done
        cmp -s "$work/cuda.pixels" "$work/cpu.pixels" && same=true
        echo ",\"same_png\": $same}"
    } >"$parts/tool.json"
    echo "== csrecover, 64 grids, seconds"
    cat "$parts/tool.json"
    rm -rf "$work"
fi

{
    echo '{"created": "'"$(date -u +%Y-%m-%dT%H:%M:%SZ)"'",'
    echo '"device": "'"$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1)"'"'
    for part in transform threshold operators omp statistics conv2d net gaussian methods rounds calls reference batch recover loop tool; do
        [ -s "$parts/$part.json" ] || continue
        echo ",\"$part\":"
        cat "$parts/$part.json"
    done
    echo '}'
} >"$out/cuda.json.part"
mv "$out/cuda.json.part" "$out/cuda.json"
rm -rf "$parts"
echo "written: $out/cuda.json"

if [ -n "$check" ] && command -v compute-sanitizer >/dev/null; then
    export CSREC_TEST_BRIEF=1
    for tool in memcheck racecheck; do
        for test in $(those "$checked" "$tests"); do
            echo "== $tool $test"
            timeout 100 compute-sanitizer --tool $tool --error-exitcode 9 --print-limit 3 "$checked/$test" \
                >"$out/$tool.log" 2>&1 || note "$tool FAILED: see $out/$tool.log"
            tail -1 "$out/$tool.log"
        done
    done
fi
[ -z "$failed" ]
