#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test.sh BUILD - the ray tracer gives the same pixels in part, in whole and on any number of threads,
# the comparison finds no difference between equal pictures and one between unequal scenes, pixels
# chosen in rounds are the same on any number of threads and worth more than as many of a pattern,
# random rays have the mean of the light and the errors that are said (test_scene), interpolation of all
# pixels is the picture and of a part better linear than nearest, and a strip has room for its labels.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
size='--width 96 --height 64 --rays 4'
cd "$work"

trace() { "$bin/raytrace" $size "$@" >/dev/null; }
bin=$1

trace --rate 0.3 --seed 5 -o scan.npz
OMP_NUM_THREADS=1 trace --rate 0.3 --seed 5 -o one.npz
cmp scan.npz one.npz
trace --full -o truth.png
"$bin/panels" scan.npz truth.png truth.png -o panels.png >quality.txt
grep -q 'PSNR inf dB, SSIM 1.0000' quality.txt || { cat quality.txt; exit 1; }
trace --full --rays 1 -o other.png
if "$bin/panels" scan.npz truth.png other.png -o wrong.png 2>/dev/null; then
    echo "panels: took a truth that the samples are not part of"
    exit 1
fi
[ ! -e wrong.png ]

# Random rays, a number of them for each pixel.
noisy='--noisy --rate 0.5 --rays 1-48'
trace $noisy -o noisy.npz
OMP_NUM_THREADS=1 trace $noisy -o one.npz
cmp noisy.npz one.npz
trace $noisy --seed 2 --guides --motion --time 3 -o other.npz
"$bin/../csrecover" other.npz --info | grep -q 'motion' || { echo "raytrace: no motion"; exit 1; }
trace --linear --rays 256 --full -o light.npy

# The rays that cssample --next says, no others.
trace --noisy --rays 1 --rate 0.5 -o first.npz
"$bin/../cssample" first.npz --next 3000 -o next.npz
trace --noisy --next next.npz --seed 2 -o second.npz
"$bin/../cssample" first.npz second.npz --next 3000 -o next.csv
"$bin/../csrecover" first.npz second.npz --merge -o merged.exr --quiet
awk -F, 'NR > 2 { sum += $3 } END { exit sum != 3000 }' next.csv || { echo "cssample: not 3000"; exit 1; }
"$bin/test_scene" noisy.npz light.npy >scene.txt || { cat scene.txt; exit 1; }

psnr() { "$bin/panels" "$@" -o panels.png | sed 's/.*PSNR \(.*\) dB.*/\1/'; }

# In rounds, of the same number of pixels: 4 dB more, of which half may be lost on other processors.
trace --rate 0.25 -o poisson.npz
trace --rate 0.25 --adaptive -o rounds.npz
OMP_NUM_THREADS=1 trace -r 0.25 -a -o one.npz 2>stderr.txt
cmp rounds.npz one.npz
[ ! -s stderr.txt ] || { echo "raytrace: a progress line without a terminal"; exit 1; }
for way in poisson rounds; do
    "$bin/../csrecover" $way.npz --info | grep '^samples ' >$way.txt
    "$bin/../csrecover" $way.npz -o $way.png --quiet
done
cmp poisson.txt rounds.txt
echo "$(psnr rounds.npz rounds.png truth.png) $(psnr poisson.npz poisson.png truth.png)" |
    awk '{ exit !($1 > $2 + 2) }' || { echo "raytrace --adaptive: not 2 dB above a pattern"; exit 1; }

"$bin/raytrace" --width 40 --height 30 --rays 4 --rate 1 -o all.npz >/dev/null
"$bin/raytrace" --width 40 --height 30 --rays 4 --full -o all.png >/dev/null
for method in nearest linear; do
    "$bin/interpolate" $method all.npz same.png
    [ "$(psnr all.npz same.png all.png)" = inf ] || { echo "interpolate $method: not the samples"; exit 1; }
    "$bin/interpolate" $method scan.npz $method.png
done
echo "$(psnr scan.npz linear.png truth.png) $(psnr scan.npz nearest.png truth.png)" |
    awk '{ exit !($1 > $2 + 1) }' || { echo "interpolate: linear no better than nearest"; exit 1; }
"$bin/strip" -o plain.png scan.npz truth.png
"$bin/strip" --truth truth.png -o labelled.png samples=scan.npz linear=linear.png truth=truth.png
# width and height of a PNG: bytes 16 to 23
size_of() { od -An -tu1 -j16 -N8 "$1" | awk '{ print 256 * $3 + $4, 256 * $7 + $8 }'; }
[ "$(size_of plain.png)" = "198 64" ] || { echo "strip: $(size_of plain.png)"; exit 1; }
[ "$(size_of labelled.png)" = "300 104" ] || { echo "strip: $(size_of labelled.png)"; exit 1; }
# below: a gap of 6, the part enlarged, two lines of ten dots of 3 pixels
"$bin/strip" --zoom 4,8,8 --dot 3 -o zoomed.png samples=scan.npz truth.png
[ "$(size_of zoomed.png)" = "198 194" ] || { echo "strip: $(size_of zoomed.png)"; exit 1; }
# The density: white where all pixels are sampled; of a single one 1 / (2 pi 3^2) at its place, times
# 3 * 255, and up to four times that at a border.
values_of() { # SCAN: least and largest value of its density
    "$bin/strip" -o density.png "density:$1"
    "$bin/../cssample" density.png -o density.npz --rate 1 --quiet
    "$bin/../csrecover" density.npz --info | awk '$1 == "values" { print $2, $4 + 0 }'
}
[ "$(values_of all.npz)" = "255 255" ] || { echo "density of all: $(values_of all.npz)"; exit 1; }
"$bin/raytrace" --width 40 --height 30 --rays 1 --rate 1e-9 -o single.npz >/dev/null
values_of single.npz | awk '{ exit !($1 == 0 && $2 >= 13 && $2 <= 56) }' ||
    { echo "density of one: $(values_of single.npz)"; exit 1; }
if "$bin/strip" -o wrong.png truth.png all.png 2>/dev/null || [ -e wrong.png ]; then
    echo "strip: took pictures of two sizes"
    exit 1
fi
"$bin/raytrace" --help | grep -q -e '-a, --adaptive' || { echo "raytrace --help"; exit 1; }
for wrong in "--rate 2 -o x.npz" "--rate 0.1" "--width 0 -o x.npz" "--full" \
    "--full --adaptive -o x.npz" "--noisy --adaptive -o x.npz" "--rays 2-4 -o x.npz" \
    "--noisy --rays 4-2 -o x.npz" "--next next.npz -o x.npz" "--full --motion -o x.png" "--full --noisy -o x.png"; do
    code=0
    "$bin/raytrace" $wrong >/dev/null 2>&1 || code=$?
    [ "$code" -eq 2 ] || { echo "raytrace $wrong: exit $code instead of 2"; exit 1; }
done
