#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh TOOL... - the manual page that each tool prints: every section is there, every option of
# --help is in it, and roff finds nothing to warn of.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
wrong=0
bad() { echo "$*"; wrong=1; }

check_roff() { # PAGE: man-db, else groff by itself
    if command -v man >/dev/null && man --version >/dev/null 2>&1; then
        LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings=w,mac -E UTF-8 -l "$1" >"$work/text" 2>"$work/err"
    elif command -v groff >/dev/null; then
        groff -ww -z -man -Tutf8 "$1" 2>"$work/err"
        groff -man -Tutf8 -P-c "$1" >"$work/text"
    else
        echo "neither man nor groff here: roff not checked"
        return
    fi
    [ ! -s "$work/err" ] || { bad "$1: warnings:"; cat "$work/err"; }
    [ "$(wc -l <"$work/text")" -gt 40 ] || bad "$1: hardly any text"
    if grep -q '^\.[A-Z]' "$work/text"; then bad "$1: a request came out as text"; fi
}

check_page() { # TOOL
    page=$work/$1.1
    [ -s "$page" ] || { bad "$page: empty"; return; }
    for section in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES 'EXIT STATUS' FILES 'SEE ALSO'; do
        awk -v section=".SH $section" '$0 == section { inside = 1; next } /^\.SH/ { inside = 0 }
            inside && NF { found = 1 } END { exit !found }' "$page" ||
            bad "$page: no section $section, or an empty one"
    done
    for option in $(sed -n 's/^  \(-., \|    \)--\([a-z-]*\).*/\2/p' "$work/help"); do
        roff=$(printf '%s' "--$option" | sed 's/-/\\-/g')
        grep -qF "\\fB$roff\\fR" "$page" || bad "$page: no --$option"
    done
    check_roff "$page"
}

for tool; do
    name=${tool##*/}
    "$tool" --man >"$work/$name.1"
    "$tool" --help >"$work/help"
    # The commands of a program have a help text each.
    for command in $(sed -n '/^Commands:/,/^$/s/^  \([a-z0-9]*\) .*/\1/p' "$work/help"); do
        "$tool" "$command" --help >>"$work/help"
    done
    check_page "$name"
    if command -v lexgrog >/dev/null; then
        lexgrog "$work/$name.1" >/dev/null || bad "$name.1: whatis cannot read its NAME"
    fi
done
[ $# -gt 0 ] || bad "no tools"
[ "$wrong" -eq 0 ] && echo "$# manual pages: complete, and roff finds nothing to warn of"
exit "$wrong"
