#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# same.sh - shows that a change of the code changes no result by a bit. Run it on the build of the
# commit before and on the one after, then compare:
#   tests/same.sh BUILD OUT [OPTION...]     runs a fixed list of commands of the tools in BUILD and
#                                           writes OUT/results.txt; OPTIONs go to every csrecover
#   tests/same.sh --compare OUT/results.txt OTHER/results.txt    lists what differs, exit code 1
# With CSREC_SAME_ONLY=REGEX (grep -E) only the commands that match run.
# A line holds the sha256 of what an output contains (pixels, arrays; not fingerprints or versions),
# the exit code, the output, the command, and is equal in either order of bytes. Needs python3, no
# packages; takes about two minutes.
set -eu
export LC_ALL=C
usage() {
    sed -n '3,11s/^# //p' "$0" >&2
    exit 2
}

# What stands before the first two blanks is the result, the rest its name.
compare() {
    awk '{ name = $0; sub(/^[^ ]+ [^ ]+ /, "", name); result = $1 " " $2 }
        FNR == NR { before[name] = result; next }
        !(name in before) { print "only in the second: " name; n++; next }
        before[name] != result { print "differs: " name " (" before[name] ", " result ")"; n++ }
        { seen[name] = 1; all++ }
        END {
            for (name in before) if (!(name in seen)) { print "only in the first: " name; n++ }
            print all + 0 " compared, " n + 0 " differ"
            exit n > 0
        }' "$1" "$2"
}

if [ "${1-}" = --compare ]; then
    if [ $# -ne 3 ] || [ ! -s "$2" ] || [ ! -s "$3" ]; then usage; fi
    compare "$2" "$3" && exit 0 || exit 1
fi
if [ $# -lt 2 ] || [ ! -x "$1/csrecover" ]; then usage; fi

tests=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
PATH=$build:$PATH
mkdir -p "$2"
results=$(cd "$2" && pwd)/results.txt
rm -rf "$2/work"
mkdir "$2/work"
cd "$2/work"
shift 2
options=$*
csrecover() { # shellcheck disable=SC2086
    command csrecover "$@" $options
}

# run COMMAND: its outputs are those in o/.
count=0
run() {
    printf '%s\n' "$1" | grep -qE -e "${CSREC_SAME_ONLY:-.}" || return 0
    count=$((count + 1))
    mkdir o
    code=0
    (eval "$1") </dev/null >log 2>&1 || code=$?
    echo "$code $1" >>commands
    mv o "made/$count"
}
# keep COMMAND: its outputs are inputs of commands that follow, too.
keep() {
    made=$count
    run "$1"
    [ "$count" != "$made" ] || return 0
    cp "made/$count"/* . || echo "no output: $1" >&2
}
mkdir made
python3 "$tests/same.py" inputs

# ---------------------------------------------------------------- samples
keep 'cssample gray.png -o o/gray.npz -r 0.3'
keep 'cssample rgb.png -o o/rgb.npz -r 0.3'
keep 'cssample deep.png -o o/deep.npz -n 600 --noise 300'
keep 'cssample line.npy -o o/line.npz -r 0.3'
keep 'cssample plane.npy -o o/plane.npz -r 0.3 --noise 0.5 --seed 9'
keep 'cssample volume.npy -o o/volume.npz -r 0.25'
keep 'cssample four.npy -o o/four.npz -r 0.3'
keep 'cssample whole.npy -o o/whole.npz -r 0.4 --mask-out o/whole-mask.npy'
keep 'cssample last.npy -o o/last.npz -r 0.3 --channels-last --mask-out o/last-mask.png'
keep 'cssample large.png -o o/large.npz -r 0.2'
keep 'cssample long.npy -o o/long.npz -r 0.2'
keep 'cssample family/03.png -o o/face.npz -r 0.2'
keep 'cssample gray.png -o o/procedural.npz -r 0.2 --procedural'
for pattern in uniform poisson jitter; do
    for input in line.npy gray.png volume.npy four.npy; do
        run "cssample $input -o o/x.npz -r 0.17 --pattern $pattern --seed 4"
    done
    run "cssample rgb.png -o o/x.npz -n 500 --pattern $pattern --procedural"
done
run 'cssample tones.png -o o/x.npz -r 0.5'
run 'cssample gray.png -o - -r 0.1 >o/x.npz'

# ---------------------------------------------------------------- inputs and outputs
for scan in index.npz masked.npz noisy.npz drawn.npz five.npz points.csv holes.png tones.png \
    gray.npz rgb.npz deep.npz line.npz plane.npz volume.npz four.npz whole.npz last.npz face.npz \
    procedural.npz; do
    run "csrecover $scan -o o/x.npy"
    run "csrecover $scan -o o/x.npy --shifts 1 -C o/atoms.npz"
    run "csrecover $scan -o o/x.npy --shifts 8"
    for quality in fast balanced best; do run "csrecover $scan -o o/x.npy --quality $quality"; done
done
run 'csrecover gray.png --mask mask.png -o o/x.png'
run 'csrecover gray.png --mask mask.npy -o o/x.png --quality fast'
run 'csrecover gray.npz -o o/x.png --bits 16'
run 'csrecover rgb.npz -o o/x.png --bits 8 --scale 20,200'
run 'csrecover deep.npz -o o/x.png'
run 'csrecover index.npz -o o/x.png --scale 0,255'
run 'cssample gray.png -o - -r 0.2 | csrecover - -o - >o/x.npy'
run 'csrecover - -o - --format png <rgb.npz >o/x.png'
run 'csrecover gray.npz -o o/x.npy --reference gray.png --history --json'
run 'csrecover rgb.npz -o o/x.npy --reference rgb.png --history --json --shifts 1 -C o/atoms.npz'
run 'csrecover gray.npz -o o/x.npy --reference gray.png --report page.html --plot plot.svg'
run 'csrecover gray.npz -o o/x.npy -Q fast && csrecover gray.npz -o o/x.npy -Q fast --resume'
run 'csrecover gray.npz -o o/x.npy --basis haar'
run 'csrecover index.npz drawn.npz gray.npz line.npz -o o/'
run 'csrecover index.npz drawn.npz masked.npz -o o/ --shifts 4 --format npy'
run 'csrecover index.npz drawn.npz noisy.npz volume.npz -o o/ --format npy --quality balanced'
run 'csrecover index.npz none.npz drawn.npz -o o/ --format npy --quality best'

# ---------------------------------------------------------------- pursuits on plain grids
for order in morton hilbert raster; do
    for columns in paper two-sided; do
        run "csrecover gray.npz -o o/x.npy --shifts 1 --order $order --columns $columns -C o/a.npz"
        run "csrecover volume.npz -o o/x.npy --shifts 4 --order $order --columns $columns"
    done
    run "csrecover line.npz -o o/x.npy --shifts 3 --seed 5 --order $order"
done
run 'csrecover gray.npz -o o/x.npy --seed 7'
run 'csrecover gray.npz -o o/x.npy --columns paper'
run 'csrecover gray.npz -o o/x.npy --epsilon 0.05'
run 'csrecover gray.npz -o o/x.npy --shifts 1 --min-coefficient 6 -C o/a.npz'
run 'csrecover rgb.npz -o o/x.npy --shifts 1 --atoms 30 -C o/a.npz'
run 'csrecover index.npz -o o/x.npy --shifts 1 --reference-pursuit -C o/a.npz'
run 'csrecover noisy.npz -o o/x.npy --shifts 2 --reference-pursuit --columns paper'

# ---------------------------------------------------------------- every solver on every basis
solvers='mp omp romp cosamp iht htp fista threshold gaussian gmm'
for solver in $solvers; do
    for scan in index.npz noisy.npz volume.npz; do
        run "csrecover $scan -o o/x.npy --shifts 1 --solver $solver -C o/a.npz --epsilon 0.02"
    done
    run "csrecover gray.npz -o o/x.npy --solver $solver"
    run "csrecover rgb.npz -o o/x.npy --solver $solver --shifts 1 --atoms 40 -C o/a.npz"
    run "csrecover four.npz -o o/x.npy --solver $solver --shifts 3"
    for basis in dct 'wavelet --set kind=0' 'wavelet --set kind=1' 'wavelet --set kind=2'; do
        run "csrecover index.npz -o o/x.npy --solver $solver --basis $basis --atoms 40"
        run "csrecover line.npz -o o/x.npy --solver $solver --basis $basis"
    done
    run "csrecover volume.npz -o o/x.npy --solver $solver --basis dct --atoms 20"
    run "csrecover rgb.npz -o o/x.npy --solver $solver --basis wavelet --atoms 20"
done
for settings in 'romp --set k=20' 'cosamp --set k=20' 'iht --set k=20' 'htp --set k=20' \
    'fista --set lambda=0.05' 'fista --set lambda=0.05 --set debias=1'; do
    run "csrecover index.npz -o o/x.npy --shifts 1 --solver $settings -C o/a.npz"
    run "csrecover index.npz -o o/x.npy --basis wavelet --set levels=2 --solver $settings"
done
run 'csrecover gray.npz -o o/x.npy --basis dct'
run 'csrecover gray.npz -o o/x.npy --basis wavelet'
for settings in block=12 'block=8 --set step=3' steps=9 'first=50 --set last=2' relax=1.5 soft=1 \
    'range=100 --set blend=2'; do
    run "csrecover noisy.npz -o o/x.npy --basis dct --set $settings"
    run "csrecover rgb.npz -o o/x.npy --quality fast --set $settings"
done
run 'csrecover volume.npz -o o/x.npy --quality balanced --set block=4'

# ---------------------------------------------------------------- patches
for scan in gray rgb volume noisy; do
    run "csrecover $scan.npz -o o/x.npy --solver gaussian --set effort=0"
done
for settings in 'components=7' 'rounds=2' 'patch=6' 'step=3' 'adapt=0'; do
    run "csrecover noisy.npz -o o/x.npy --solver gmm --set $settings"
done
run 'csrecover rgb.npz -o o/x.npy --solver gmm --set components=5 --set patch=5 --set step=1'

# ---------------------------------------------------------------- models
keep 'cslearn pca family -o o/family.npz --plot o/family-plot.png'
keep 'cslearn gmm gray.png -o o/mixture.npz --patch 6 -k 5 --rounds 8'
keep 'cslearn gmm rgb.png -o o/colour.npz --patch 4x5 -k 3 --rounds 8 --stride 2'
keep 'cslearn conv gray.png rgb.png -o o/filters.npz --filters 8 -p 5 -i 4 --plot o/filters.png'
keep 'cslearn conv gray.npz -o o/own.npz --filters 6 -p 5x4 -i 3 --base 0'
run 'cslearn pca gray.png -o o/patches.npz --patch 8 --energy 0.9'
run 'cslearn pca family -o o/x.npz -k 5 --most 15 --seed 3'
run 'cslearn pca rows.npy -o o/x.npz'
run 'cslearn pca last.npy -o o/x.npz --channels-last --patch 5'
run 'cslearn pca rgb.png -o o/x.npz --patch 5x3 -k 6 --gray'
run 'cslearn gmm rows.npy -o o/x.npz -k 3 --rounds 5'
run 'cslearn gmm gray.png -o o/x.npz --patch 8 -k 5 --rounds 8 --start edges --least 1'
run 'cslearn gmm rgb.png family -o o/x.npz --patch 6 -k 4 --rounds 6 --gray --most 500 --seed 2'
run 'cslearn conv gray.png --mask mask.png -o o/x.npz --filters 6 -p 5 -i 3 --lambda 0.02'
run 'cslearn conv gray.png -o o/x.npz --resume filters.npz -i 2 --crop 40 --codings 3'
run 'csrecover face.npz -o o/x.npy --model family.npz'
for scan in gray noisy deep; do
    run "csrecover $scan.npz -o o/x.npy --model mixture.npz"
    run "csrecover $scan.npz -o o/x.npy --basis conv --model filters.npz"
    run "csrecover $scan.npz -o o/x.npy --model filters.npz"
done
run 'csrecover gray.npz -o o/x.npy --model mixture.npz --solver gmm --set adapt=1 --set rounds=2'
run 'csrecover rgb.npz -o o/x.npy --model colour.npz'
run 'csrecover rgb.npz -o o/x.npy --basis conv --model own.npz --set base=0'
for solver in $solvers; do
    run "csrecover index.npz -o o/x.npy --basis conv --model own.npz --solver $solver --atoms 30"
done

# ---------------------------------------------------------------- tiles
run 'csrecover large.npz -o o/x.npy --memory 20'
run 'csrecover large.npz -o o/x.npy --memory 7 --quality fast'
run 'csrecover large.npz -o o/x.npy --memory 12 --quality balanced'
run 'csrecover large.npz -o o/x.npy --memory 16 --quality best --set effort=0'
run 'csrecover large.npz -o o/x.npy --memory 36 --solver gmm --set components=4 --set rounds=1'
run 'csrecover long.npz -o o/x.npy --memory 4 --quality fast'
run 'csrecover long.npz -o o/x.npy --memory 6 --quality balanced'
run 'csrecover large.npz -o o/x.npy --shifts 1 -C o/a.npz'
run 'csrecover large.npz -o o/x.npy --quality fast'

# ---------------------------------------------------------------- formats
for ending in tif fits h5 npz csv exr; do
    run "csrecover gray.npz -o o/x.$ending -Q fast"
    run "csrecover rgb.npz -o o/x.$ending -Q fast --dtype float32"
    keep "csrecover gray.npz -o o/whole.$ending -Q fast && cssample o/whole.$ending -o o/$ending.npz -r 0.3"
    run "csrecover $ending.npz -o o/x.npy -Q fast"
done
run 'csrecover plane.npy --unknown 0 -o o/x.tif -Q fast --memory 7'

# ---------------------------------------------------------------- texts and symbols
for tool in cssample csrecover cslearn csbench; do
    run "$tool --help >o/help"
    run "$tool --man >o/man"
done
run 'csrecover --list >o/list'
run 'nm -D --defined-only "$build/libcsrec.so" | awk "{ print \$3 }" | sort >o/symbols'

# ---------------------------------------------------------------- numbers of threads
for threads in 1 3; do
    for way in '' '--shifts 1 -C o/a.npz' '--shifts 5' '--quality fast' '--quality balanced' \
        '--quality best' '--solver omp --shifts 2' '--basis wavelet --solver fista' \
        '--solver gmm' '--model mixture.npz' '--basis conv --model filters.npz'; do
        run "csrecover gray.npz -o o/x.npy $way -t $threads"
    done
    run "csrecover volume.npz -o o/x.npy --quality best -t $threads"
    run "cslearn pca family -o o/x.npz -t $threads"
    run "cslearn gmm gray.png -o o/x.npz --patch 5 -k 4 --rounds 5 -t $threads"
    run "cslearn conv gray.png -o o/x.npz --filters 5 -p 4 -i 2 -t $threads"
done

python3 "$tests/same.py" results >"$results"

# One line for each name, and the same bits for any number of threads.
sed 's/^[^ ]* [^ ]* //' "$results" | sort | uniq -d | sed 's/^/twice: /' >twice
awk '/ -t [13]$/ { name = $0; sub(/^[^ ]+ [^ ]+ /, "", name); sub(/ -t [13]$/, "", name)
        if (name in first && first[name] != $1) print "threads change: " name
        first[name] = $1 }' "$results" >>twice
cat twice
echo "$(wc -l <"$results") results of $(wc -l <commands) commands in $results"
[ ! -s twice ]
