#!/bin/sh
# frames.sh - frames of a sequence recovered together against one by one: seconds of each.
# usage: bench/frames.sh BUILD_FOLDER PICTURE.png [FRAMES]
set -eu
tools=$(cd "$1" && pwd)
picture=$(realpath "$2")
frames=${3:-16}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir scans
i=1
while [ "$i" -le "$frames" ]; do
    # One seed: the same places; the noise has the seed too, so frames are told apart by its size.
    "$tools/cssample" "$picture" -o "scans/$i.npz" -r 0.25 --seed 1 -p uniform --noise 2
    i=$((i + 1))
done
seconds() { date +%s.%N; }
for options in "--shifts 1" "--shifts 1 --epsilon 0.1" "--shifts 16 --epsilon 0.1" \
    "--quality fast --set steps=10"; do
    start=$(seconds)
    for scan in scans/*.npz; do
        # shellcheck disable=SC2086
        "$tools/csrecover" "$scan" -q -o one.npy $options
    done
    middle=$(seconds)
    # shellcheck disable=SC2086
    "$tools/csrecover" scans/*.npz -q -o all/ --format npy $options
    end=$(seconds)
    echo "$frames frames, $options: one by one $(echo "$middle - $start" | bc) s," \
        "together $(echo "$end - $middle" | bc) s"
done
