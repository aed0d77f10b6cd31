#!/bin/sh
# demo.sh [FOLDER] - compressive rendering from a fresh clone: installs what is missing (apt), builds
# what it needs, traces a quarter of a picture's pixels, recovers the rest, and compares with the full
# rendering. Writes FOLDER/demo.png (demo-out/demo.png): samples, recovery, truth, error times 4.
# The picture has SIZE x SIZE pixels, 384 by default.
set -eu
cd "$(dirname "$0")/.."
. cmake/bootstrap.sh

out=${1:-demo-out}
size=${SIZE:-384}
bootstrap_packages demo
bootstrap_demo csrecover cssample cslearn raytrace panels
mkdir -p "$out"

say "Tracing a quarter of the pixels, then all of them for comparison ..."
build/samples/raytrace --width "$size" --height "$size" --rate 0.25 -o "$out/scan.npz" >"$out/part.txt"
build/samples/raytrace --width "$size" --height "$size" --full -o "$out/truth.png" >"$out/full.txt"
say "Recovering the picture from $out/scan.npz ..."
start=$(date +%s.%N)
build/csrecover "$out/scan.npz" -o "$out/recovered.png"
end=$(date +%s.%N)
build/samples/panels "$out/scan.npz" "$out/recovered.png" "$out/truth.png" -o "$out/demo.png" \
    >"$out/quality.txt"

# raytrace: PART of ALL pixels, RAYS rays, SECONDS s
say ""
cat "$out/part.txt" "$out/full.txt" | awk -v recovery="$(echo "$start $end" | awk '{print $2 - $1}')" '
    { pixels[NR] = $2; all = $4; rays[NR] = $6; seconds[NR] = $8 }
    END {
        printf "pixels traced   %9d of %d (%.1f %%)\n", pixels[1], all, 100 * pixels[1] / all
        printf "rays            %9.2f of %.2f million (%.1f %% saved)\n", rays[1] / 1e6, rays[2] / 1e6,
               100 * (1 - rays[1] / rays[2])
        printf "time            %9.2f s tracing + %.2f s recovery, against %.2f s for all pixels\n",
               seconds[1], recovery, seconds[2]
    }'
sed 's/^quality: PSNR \(.*\), SSIM \(.*\)/PSNR            \1\nSSIM            \2/' "$out/quality.txt"
say "picture         $out/demo.png  (samples, recovery, truth, error times 4)"
