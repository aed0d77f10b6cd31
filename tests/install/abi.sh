#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# abi.sh HEADER COMPILER LIBRARY.so LIBRARY.a - the shared library exports what the header declares
# with CSREC_API, no more and no less, and the static one defines no global C name outside csrec_.
set -eu
header=$1 compiler=$2 shared=$3 static=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
wrong=0

# The preprocessor takes comments away and turns CSREC_API into its attribute: one declaration runs
# from there to the semicolon, and its name stands before the first bracket.
"$compiler" -E -P "$header" | tr '\n' ' ' | tr ';' '\n' |
    sed -n 's/.*__attribute__((visibility("default")))//p' |
    sed -n 's/^[^(]*[ *]\([A-Za-z_0-9]*\) *(.*/\1/p' | sort >"$work/declared"
[ "$(grep -c '' "$work/declared")" -eq "$(cat "${header%.h}"/*.h | grep -c '^ *CSREC_API')" ] || {
    echo "abi.sh: not every CSREC_API of $header was understood"
    wrong=1
}
nm -D --defined-only "$shared" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
    sort >"$work/exported"

comm -13 "$work/declared" "$work/exported" >"$work/leaked"
comm -23 "$work/declared" "$work/exported" >"$work/missing"
[ ! -s "$work/leaked" ] || { wrong=1; echo "exported, but not in $header:"; cat "$work/leaked"; }
[ ! -s "$work/missing" ] || { wrong=1; echo "in $header, but not exported:"; cat "$work/missing"; }

# C++ names of kernels carry their types; OpenMP's locks carry ours.
nm --defined-only --extern-only "$static" 2>/dev/null |
    awk 'NF == 3 && $2 ~ /[TDBRC]/ && $3 !~ /^(csrec_|_Z|\.gomp_critical_user_csrec_)/ { print $3 }' | sort -u >"$work/foreign"
[ ! -s "$work/foreign" ] || { wrong=1; echo "global in $static:"; head "$work/foreign"; }

[ "$wrong" -eq 0 ] && echo "$(wc -l <"$work/exported") functions exported, those of the header"
exit "$wrong"
