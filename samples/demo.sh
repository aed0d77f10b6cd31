#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# demo.sh [FOLDER] - compressive rendering from a fresh clone: installs what is missing (apt), builds
# what it needs, traces a quarter of a picture's pixels in rounds, where the recovery of what is
# traced expects errors, and recovers the rest. Compares with as many pixels of a Poisson-disc
# pattern, and with all. Writes FOLDER/demo.png (demo-out/demo.png): samples, their density, recovery,
# truth, error times 4. The picture has SIZE x SIZE pixels, 320 by default.
set -eu
cd "$(dirname "$0")/.."
. cmake/bootstrap.sh

out=${1:-demo-out}
size=${SIZE:-320}
bootstrap_packages demo
bootstrap_demo
mkdir -p "$out"

trace() { # NAME OPTION...: the numbers to $out/NAME.txt
    name=$1
    shift
    build/samples/raytrace --width "$size" --height "$size" "$@" >"$out/$name.txt"
}

recover() { # NAME: $out/NAME.npz to NAME.png, compared in NAME-panels.png; two lines more in NAME.txt
    start=$(date +%s.%N)
    build/csrecover "$out/$1.npz" -o "$out/$1.png"
    echo "recovery: $start $(date +%s.%N)" >>"$out/$1.txt"
    build/samples/panels "$out/$1.npz" "$out/$1.png" "$out/truth.png" -o "$out/$1-panels.png" \
        >>"$out/$1.txt"
}

# row LABEL NAME: a line of the table, from
#   raytrace: PIXELS of ALL pixels, RAYS rays, SECONDS s tracing, SECONDS s choosing pixels
#   recovery: START END
#   quality: PSNR DECIBELS dB, SSIM SIMILARITY
row() {
    awk -v label="$1" '
        /^raytrace/ {
            printf "%-14s %8d %9.2f %9.2f", label, $2, $6 / 1e6, $8
            if ($2 < $4) printf " %9.2f", $11
        }
        /^recovery/ { printf " %9.2f", $3 - $2 }
        /^quality/ { printf " %7.2f %7.4f", $3, $6 }
        END { print "" }' "$out/$2.txt"
}

say "Tracing a quarter of the pixels, in rounds ..."
trace rounds --adaptive --rate 0.25 -o "$out/rounds.npz"
say "For comparison: as many by a Poisson-disc pattern, and all ..."
trace poisson --rate 0.25 -o "$out/poisson.npz"
trace truth --full -o "$out/truth.png"
say "Recovering both pictures ..."
recover rounds
recover poisson
mv "$out/rounds-panels.png" "$out/demo.png"

say ""
say "                            million   seconds   seconds   seconds"
say "                 pixels        rays   tracing  choosing recovering     dB    SSIM"
row "in rounds" rounds
row Poisson-disc poisson
row "all pixels" truth
say "Choosing takes as long whatever a pixel costs: this scene's pixels are cheap."
say ""
say "$out/demo.png: samples, their density, recovery, truth, error times 4, in rounds;"
say "$out/poisson-panels.png: the same from the Poisson-disc pattern"
