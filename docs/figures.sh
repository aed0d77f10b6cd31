#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# figures.sh BUILD [README|theory|growth] - makes the pictures of README.md and docs/choosing.md (docs/figures/*.png)
# and writes the tables beside them, from a scene that is traced, sampled and recovered here. Some
# minutes. README: its pictures alone, the words below the first, and samples/example.*. theory: those of
# docs/theory.md and docs/csbench.md, with bench/results/phase.json; some minutes. growth: those of
# docs/growth.md, from bench/results/growth.json; needs Matplotlib.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
export PATH=$build:$build/samples:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

value() { sed -n "s/.*\"$1\": *\([-0-9.e+]*\).*/\1/p" "$2" | head -n 1; }

# recover NAME SCAN OPTION...: $work/NAME.png, and its decibels and seconds as cells of a table.
recover() {
    local name=$1 scan=$2
    shift 2
    csrecover "$work/$scan.npz" -o "$work/$name.png" --quiet --json --reference "$work/truth.png" \
        "$@" >"$work/$name.json"
    awk -v psnr="$(value psnr "$work/$name.json")" -v ssim="$(value ssim "$work/$name.json")" \
        -v seconds="$(value total "$work/$name.json")" \
        'BEGIN { printf " %.2f | %.3f | %.2f |\n", psnr, ssim, seconds }'
}

# place NAME [PAGE]: puts stdin between <!-- figure:NAME --> and <!-- /figure --> of docs/choosing.md
# or another page.
place() {
    local page=${2:-docs/choosing.md}
    cat >"$work/table"
    awk -v name="<!-- figure:$1 -->" -v table="$work/table" '
        !inside { print }
        $0 == name { inside = 1; while ((getline line < table) > 0) print line }
        inside && $0 == "<!-- /figure -->" { inside = 0; print }' "$page" >"$work/page"
    cp "$work/page" "$page"
}

# The same samples by every method; a smaller scene, to keep the file small.
methods() {
    raytrace --width 160 --height 160 --full -o "$work/small.png" >/dev/null
    cssample "$work/small.png" -o "$work/small.npz" --rate 0.10
    for method in nearest linear; do
        interpolate "$method" "$work/small.npz" "$work/m-$method.png"
    done
    csrecover "$work/small.npz" -o "$work/m-haar.png" --quiet --shifts 64
    csrecover "$work/small.npz" -o "$work/m-dct.png" --quiet --basis dct
    csrecover "$work/small.npz" -o "$work/m-gaussian.png" --quiet --solver gaussian
    csrecover "$work/small.npz" -o "$work/m-net.png" --quiet --method net
    csrecover "$work/small.npz" -o "$work/m-best.png" --quiet --quality best
    strip --rows 2 --truth "$work/small.png" -o docs/figures/methods.png \
        "10 % sampled=$work/small.npz" nearest="$work/m-nearest.png" linear="$work/m-linear.png" \
        "Haar pursuit=$work/m-haar.png" "dct threshold=$work/m-dct.png" \
        gaussian="$work/m-gaussian.png" "learned prior"="$work/m-net.png" \
        both="$work/m-best.png" truth="$work/small.png"
}

# The PSNR of a recovery of the example, as strip writes it below.
decibels() {
    panels samples/example.npz "$1" samples/example.png -o "$work/panels.png" |
        sed 's/.*PSNR \(.*\) dB.*/\1/'
}

# The first picture of README.md and the words below it. Users recover its files: samples/example.png
# is the scene with all pixels, samples/example.npz a quarter of them.
example() {
    raytrace --width 300 --height 200 --rate 0.25 -o samples/example.npz >/dev/null
    raytrace --width 300 --height 200 --full -o samples/example.png >/dev/null
    interpolate linear samples/example.npz "$work/linear.png"
    csrecover samples/example.npz -o "$work/best.png" --quiet --quality best --json \
        --reference samples/example.png >"$work/best.json"
    strip --truth samples/example.png --zoom 4,166,82 -o docs/figures/example.png \
        "25 % of the pixels=samples/example.npz" "interpolated=$work/linear.png" \
        "csrecover=$work/best.png" "all pixels=samples/example.png"
    echo "*25 % of the pixels of a rendering; linear interpolation, $(decibels "$work/linear.png")" \
        "dB; csrecover, $(printf %.2f "$(value psnr "$work/best.json")") dB; all pixels. Below, a part enlarged.*" \
        >"$work/first"
    place first README.md <"$work/first"
}

if [ "${2:-}" = growth ]; then
    exec python3 bench/growth.py --json bench/results/growth.json --draw docs/figures
fi
if [ "${2:-}" = theory ]; then
    python3 bench/phase.py --build "$build" --json bench/results/phase.json --figures docs/figures
    python3 bench/tables.py docs/theory.md docs/csbench.md
    exit
fi
example
methods
[ "${2:-}" != README ] || exit 0

head_of() { printf '| %s | dB | SSIM | seconds |\n| --- | ---: | ---: | ---: |\n' "$1"; }

raytrace --width 192 --height 192 --full -o "$work/truth.png" >/dev/null
for rate in 0.02 0.05 0.10 0.25; do
    cssample "$work/truth.png" -o "$work/scan$rate.npz" --rate "$rate"
done
for pattern in uniform jitter poisson; do
    cssample "$work/truth.png" -o "$work/$pattern.npz" --rate 0.10 --pattern "$pattern"
done

{
    head_of 'pixels sampled'
    for rate in 0.02 0.05 0.10 0.25; do
        echo "| $(awk -v r="$rate" 'BEGIN { print 100 * r }') % |$(recover "rate$rate" "scan$rate")"
    done
} | place rates
strip --rows 2 -o docs/figures/rates.png "$work"/scan0.02.npz "$work"/scan0.05.npz \
    "$work"/scan0.10.npz "$work"/scan0.25.npz "$work"/rate0.02.png "$work"/rate0.05.png \
    "$work"/rate0.10.png "$work"/rate0.25.png

{
    head_of pattern
    for pattern in uniform jitter poisson; do
        echo "| \`$pattern\` |$(recover "p-$pattern" "$pattern")"
    done
} | place patterns
strip --rows 2 -o docs/figures/patterns.png "$work"/{uniform,jitter,poisson}.npz \
    "$work"/p-{uniform,jitter,poisson}.png

{
    head_of 'options'
    recover plain scan0.10 --shifts 1 --columns paper | sed 's/^/| `--shifts 1 --columns paper` |/'
    recover sides scan0.10 --shifts 1 --columns two-sided |
        sed 's/^/| `--shifts 1 --columns two-sided` |/'
    recover shifts scan0.10 --shifts 16 | sed 's/^/| `--shifts 16` |/'
    for quality in fast balanced best; do
        echo "| \`--quality $quality\` |$(recover "q-$quality" scan0.10 --quality "$quality")"
    done
} | place solvers
strip --rows 2 -o docs/figures/solvers.png "$work"/{plain,sides,shifts}.png \
    "$work"/q-{fast,balanced,best}.png "$work"/truth.png
ls -l docs/figures
