#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test.sh [--built] [BUILD] - the module, the package in Node and the page in a headless Chromium,
# beside the native tools of BUILD (default build-cpu), after building what is missing; minutes, then
# some 40 s. --built: the shorter tests, of what is there already. 77: nothing to test, or to test by.
set -eu
cd "$(dirname "$0")/.."
built=
[ "${1:-}" != --built ] || { built=1; shift; }
native=$(cd "${1:-build-cpu}" 2>/dev/null && pwd) || native=$PWD/build-cpu
site=$PWD/build-wasm/site

skip() {
    echo "SKIP: $*"
    exit 77
}

command -v node >/dev/null || skip "no node: apt install nodejs"
if [ -n "$built" ]; then
    [ -f "$site/csrecover/csrec.wasm" ] || skip "the module is not built; web/test.sh builds it"
    [ -z "$(find src include web -newer "$site/csrecover/csrec.wasm" -name '*.[ch]')" ] ||
        skip "the module is older than its sources; web/test.sh builds it"
else
    command -v emcc >/dev/null || skip "no emcc: apt install emscripten"
    cmake --preset wasm >/dev/null
    cmake --build --preset wasm
    [ -f "$native/build.ninja" ] || cmake --preset cpu >/dev/null
    cmake --build "$native" --target cssample csrecover csrecover_plain
fi
export CSREC_WEB_SITE="$site" CSREC_WEB_NATIVE="$native"
exec node --test --test-reporter=spec ${built:+--test-name-pattern='patterns|plain C|mistakes|files'} \
    web/tests/*.test.mjs
