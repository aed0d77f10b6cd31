#!/bin/sh
# demo.sh [FOLDER] - compressive rendering from a fresh clone: installs what is missing (apt), builds
# what it needs, traces a quarter of a picture's pixels in rounds, where the recovery of what is
# traced expects errors, and recovers the rest. Compares with as many pixels of a Poisson-disc
# pattern, and with all. Writes FOLDER/demo.png (demo-out/demo.png): samples, their density, recovery,
# truth, error times 4. The picture has SIZE x SIZE pixels, 384 by default.
set -eu
cd "$(dirname "$0")/.."
. cmake/bootstrap.sh

out=${1:-demo-out}
size=${SIZE:-384}
bootstrap_packages demo
bootstrap_demo csrecover cssample cslearn raytrace panels
mkdir -p "$out"

trace() { # NAME OPTION...: the numbers to $out/NAME.txt
    name=$1
    shift
    build/samples/raytrace --width "$size" --height "$size" "$@" >"$out/$name.txt"
}

recover() { # NAME: $out/NAME.npz to NAME.png, compared in NAME-panels.png; a line more in NAME.txt
    start=$(date +%s.%N)
    build/csrecover "$out/$1.npz" -o "$out/$1.png"
    end=$(date +%s.%N)
    build/samples/panels "$out/$1.npz" "$out/$1.png" "$out/truth.png" -o "$out/$1-panels.png" |
        awk -v start="$start" -v end="$end" '{ print $0 ", " end - start " s" }' >>"$out/$1.txt"
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

# raytrace: PIXELS of ALL pixels, RAYS rays, SECONDS s tracing, SECONDS s choosing pixels
# quality: PSNR DECIBELS dB, SSIM SIMILARITY, SECONDS s
say ""
awk 'BEGIN {
         print "                        million  seconds  of choosing  of recovery"
         print "                pixels     rays  tracing       pixels      at last     dB   SSIM"
     }
     FNR == 1 {
         name = FILENAME
         sub(/.*\//, "", name)
         label = name == "truth.txt" ? "all" : name == "poisson.txt" ? "Poisson-disc" : "in rounds"
         printf "%s%-13s %8d %8.2f %8.2f", NR > 1 ? "\n" : "", label, $2, $6 / 1e6, $8, $11
         if (name != "truth.txt") printf " %12.2f", $11
     }
     FNR == 2 { printf " %12.2f %6.2f %6.4f", $7, $3, $6 }
     END { print "" }' "$out/rounds.txt" "$out/poisson.txt" "$out/truth.txt"
say ""
say "picture   $out/demo.png  (samples, their density, recovery, truth, error times 4)"
say "beside it $out/poisson-panels.png  (the same of the Poisson-disc pattern)"
