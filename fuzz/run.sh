#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the fuzz targets (clang) and runs them from SEED.
#   fuzz/run.sh [SEED]                 (default 1)
#   fuzz/run.sh --long [SECONDS [SEED [TARGET...]]]
# The first form tries a fixed number of inputs, nearly the same ones on every machine (a recovery is
# told to stop after a time, so what it reaches differs a little); any finding ends it with a failure.
# The second tries inputs for SECONDS in all (default 240) from a seed of its own, goes on after
# findings, appends a line a target to fuzz/log.csv, and then fails if there was a finding. The inputs
# that did it are left in build-fuzz/findings; what the targets need of them is kept by moving it to
# fuzz/crashers.
set -euo pipefail
long=
if [ "${1:-}" = --long ]; then
    long=1
    shift
fi
if [ -n "$long" ]; then
    seconds=${1:-240}
    seed=${2:-0} # another one each time
    shift $(($# < 2 ? $# : 2))
else
    seconds=0
    seed=${1:-1}
    shift $#
fi
seed=$((seed % 4294967296))
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$root/build-fuzz
cd "$root"
commit=$(git describe --always --dirty --exclude "*")
# Name, format of the inputs, parts of the time, inputs of the first form.
all="recover npz 6 10000
model npz 3 10000
solve npz 2 10000
npz npz 2 20000
png png 1 60000
jpeg jpeg 1 20000
csv csv 1 500000
tiff tiff 1 20000
fits fits 1 20000
exr exr 1 20000
bart bart 1 4000
hdf5 hdf5 1 20000
serve serve 1 20000"
pkg-config --exists 'libjpeg >= 2.0' 'libjpeg < 6' || all=$(grep -v '^jpeg ' <<<"$all")
pkg-config --atleast-version=4.5 libtiff-4 || all=$(grep -v '^tiff ' <<<"$all")
pkg-config --atleast-version=4.2 cfitsio || all=$(grep -v '^fits ' <<<"$all")
pkg-config --atleast-version=3.1 OpenEXR || all=$(grep -v '^exr ' <<<"$all")
pkg-config --atleast-version=1.10.7 hdf5 || all=$(grep -v '^hdf5 ' <<<"$all")
pkg-config --atleast-version=2.12 jansson || all=$(grep -v '^serve ' <<<"$all")
tried=$all
[ -n "$long" ] || tried=$(grep -v '^hdf5 ' <<<"$all") # libhdf5 1.10 itself has findings
chosen=${1:+$(for name in "$@"; do grep "^$name " <<<"$all"; done)}
chosen=${chosen:-$tried}
parts=$(awk '{ sum += $3 } END { print sum }' <<<"$chosen")

cmake --preset fuzz >/dev/null
cmake --build "$build" --target $(awk '{ print "fuzz_" $1 }' <<<"$all") fuzz_seeds
for name in $(awk '{ print $1 }' <<<"$all"); do
    mkdir -p "$build/seeds/$name" "$build/corpus/$name" "$build/findings" "fuzz/corpus/$name"
done
"$build/fuzz/fuzz_seeds" "$build/seeds"

# What an input can make the library allocate is bounded by its size: 64 KiB of deflate is at most
# 66 MB a member. Signals have at most 4096 values, and a recovery hears within a moment that it is
# to stop, so that 60 s is far enough also where other work leaves little of a core.
limits="-max_len=65536 -rss_limit_mb=2048 -malloc_limit_mb=512 -timeout=60 -report_slow_units=60"
export OMP_WAIT_POLICY=passive
# One target: NAME FORMAT PART RUNS. Says what it did in one line; false if there was a finding.
fuzz_target() {
    local name=$1 format=$2 share=$((seconds * $3 / parts)) log=$build/fuzz_$1.log
    local mode=-runs=$4 before code=0 findings progress executions edges cpu
    [ -z "$long" ] || mode="-max_total_time=$share -fork=1 -ignore_crashes=1 -ignore_timeouts=1
        -ignore_ooms=1"
    before=$(ls "$build/findings" | grep -c "^$name-" || true)
    TIMEFORMAT='%U %S'
    { time "$build/fuzz/fuzz_$name" $mode -seed="$seed" $limits \
        -artifact_prefix="$build/findings/$name-" -print_final_stats=1 \
        -dict="fuzz/$format.dict" "$build/corpus/$name" "$build/seeds/$name" \
        "fuzz/corpus/$name" >"$log" 2>&1; } 2>"$build/time_$name" || code=$?
    findings=$(($(ls "$build/findings" | grep -c "^$name-" || true) - before))
    if [ "$code" -ne 0 ] && [ -z "$long" ]; then
        tail -n 40 "$log"
        echo "fuzz_$name: a finding, see build-fuzz/findings" >&2
        return 1
    fi
    progress=$(grep -aE '^#[0-9]+:?[[:space:]].*cov: ' "$log" | tail -n 1 || true) # none in a brief run
    executions=$(sed -E 's/^#([0-9]+).*/\1/' <<<"$progress")
    edges=$(sed -E 's/.*cov: ([0-9]+).*/\1/' <<<"$progress")
    cpu=$(awk 'END { printf "%.0f", $1 + $2 }' "$build/time_$name")
    echo "fuzz_$name: $cpu CPU seconds, $executions executions, $edges edges, $findings findings"
    [ -z "$long" ] || echo "$(date -u +%F),$commit,$name,$cpu,$executions,$edges,$findings" >>fuzz/log.csv
    [ "$findings" -eq 0 ]
}

# A target is one process. The first form has one for each processor; the second, which lasts a given
# time, one at a time, for its log to compare.
jobs=1
[ -n "$long" ] || jobs=$(getconf _NPROCESSORS_ONLN)
running=0 failed=0
while read -r row; do
    if [ "$running" -ge "$jobs" ]; then
        wait -n || failed=1
        running=$((running - 1))
        [ "$failed" -eq 0 ] || [ -n "$long" ] || break
    fi
    # Word splitting is meant.
    # shellcheck disable=SC2086
    fuzz_target $row &
    running=$((running + 1))
done <<<"$chosen"
while [ "$running" -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
[ "$failed" -eq 0 ] || { echo "findings: see build-fuzz/findings" >&2; exit 1; }
