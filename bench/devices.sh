#!/bin/sh
# devices.sh [--built DIR] [--out DIR] [--brief] - one GPU against all of this machine, in under four
# minutes; the results go to bench/results/devices.json.
#   --built DIR  has bench_cuda_devices, test_cuda_devices, csrecover (bench/cuda_pack.sh packs them)
#   --brief      smaller cases, to try the script
# Cases of one recovery: see bench/cuda_devices.c. Here 64 files of 512 x 512, --quality best, from
# their start to their end, and whether every output has the same bytes.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
built=$here/build out=$here/bench/results brief=
while [ $# -gt 0 ]; do
    case $1 in
    --built) built=$2; shift ;;
    --out) out=$2; shift ;;
    --brief) brief=--brief ;;
    *)
        echo "usage: bench/devices.sh [--built DIR] [--out DIR] [--brief]" >&2
        exit 2
        ;;
    esac
    shift
done
# Programs are beside each other, or where CMake puts them.
find_program() {
    for folder in "$built" "$built/bench" "$built/tests"; do
        [ -x "$folder/$1" ] && echo "$folder/$1" && return
    done
    echo "devices.sh: $1 is not in $built; build it" >&2
    exit 1
}
bench=$(find_program bench_cuda_devices) recover=$(find_program csrecover)
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=

timeout 150 "$bench" --json "$work/one.json" $brief || failed=yes
[ -s "$work/one.json" ] || exit "${failed:+1}"

mkdir -p "$work/scans"
"$bench" --files "$work/scans"
[ -z "$brief" ] || rm -f "$work"/scans/[1-6]*.npz
devices=$("$recover" --list-devices | grep -c '^cuda: .*GiB' || true)
seconds() {
    from=$(date +%s%N)
    "$@" || failed=yes
    echo "$(($(date +%s%N) - from))" | awk '{printf "%.3f", $1 * 1e-9}'
}
# The first run warms the disk's cache and the driver.
"$recover" "$work/scans/00.npz" -o "$work/warm.npy" --quality best --devices 0 --quiet
list= n=0 comma=
{
    echo '['
    while [ "$n" -lt "$devices" ]; do
        list=$list${list:+,}$n n=$((n + 1))
        took=$(seconds timeout 100 "$recover" "$work"/scans/*.npz -o "$work/out-$n/" \
            --quality best --devices "$list" --quiet --no-sync)
        same=true
        for file in "$work"/out-1/*; do
            cmp -s "$file" "$work/out-$n/${file##*/}" || same=false
        done
        echo "$comma{\"devices\": $n, \"seconds\": $took, \"same_bytes\": $same}"
        comma=,
    done
    echo ']'
} >"$work/files.json"
echo "== 64 files of 512 x 512, --quality best"
cat "$work/files.json"
{
    echo '{"one_recovery":'
    cat "$work/one.json"
    echo ', "files_best_512":'
    cat "$work/files.json"
    echo '}'
} >"$out/devices.json"
echo "written: $out/devices.json"
[ -z "$failed" ]
