#!/bin/sh
# Builds the fuzz targets (clang) and runs each of them for SECONDS (default 60) from SEED (default:
# another one each time; a fixed one makes a run that can be repeated).
#   fuzz/run.sh [SECONDS [SEED]]
# Any finding ends it with a failure; the input that did it is left in build-fuzz/findings.
set -eu
seconds=${1:-60}
seed=${2:-0}
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$root/build-fuzz
cd "$root"
cmake --preset fuzz >/dev/null
cmake --build "$build" --target fuzz_npz fuzz_png fuzz_csv fuzz_seeds

for kind in npz png csv; do
    mkdir -p "$build/seeds/$kind" "$build/corpus/$kind" "$build/findings"
done
# Leaks are looked for in the fuzz targets; the writer of the seeds ends with a normal exit.
find "$build" -maxdepth 4 -name fuzz_seeds -type f -exec {} "$build/seeds" \;

# What a file can make the readers allocate is bounded by its size: 64 KiB of deflate is at most
# 66 MB a member, so 1 GB of memory for the process and 256 MB for one allocation are far enough.
for kind in npz png csv; do
    echo "fuzz_$kind: $seconds s"
    fuzzer=$(find "$build" -maxdepth 4 -name "fuzz_$kind" -type f)
    log=$build/fuzz_$kind.log
    if ! "$fuzzer" -max_total_time="$seconds" -seed="$seed" -max_len=65536 -rss_limit_mb=1024 \
        -malloc_limit_mb=256 -timeout=10 -artifact_prefix="$build/findings/$kind-" \
        -dict="$root/fuzz/$kind.dict" \
        "$build/corpus/$kind" "$build/seeds/$kind" >"$log" 2>&1; then
        tail -n 40 "$log"
        echo "fuzz_$kind: a finding, see build-fuzz/findings" >&2
        exit 1
    fi
    grep -E '^Done|DONE' "$log" | tail -n 2
done
