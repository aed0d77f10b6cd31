#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# rooms.sh [ROOT [BUILD]] - includes and calls point down only: prints each #include of src, kernels
# and shim that points up or aside, of the objects in BUILD each use of a symbol that does, and
# exits 1.
#
# A room is a folder of src and its mirror in kernels. Its files include their own room and rooms on
# lines above it in the table; rooms of one line do not know each other. Besides:
#   include/     may be included by all
#   src          includes nothing of kernels and shim
#   kernels      also include shim
#   shim         includes kernels/device and src/base only
#   src/tools    includes include/ only, and of src/tools its own folder and common
# Python reads include/ only, by its generator.
#
# A symbol may be used within a first-level room and its mirror, and by the rooms below it in the
# table: a method may be started by another, through the table of methods.
#
# Besides, each parallel region has a number of threads that base/threads.h has tested.
set -eu
cd "${1:-$(dirname "$0")/..}"

rooms='
base
measurement device comm
sampling
files haar conv
net
operator
solver
learn
learn/net
method
method/grids
method/sparse
method/frames
method/gaussian method/pca method/smooth
method/net method/beside
method/rendered
method/trial
recover
'

# rank[room]: its line in the table, for awk.
ranks='
    BEGIN {
        lines = split(rooms, line, "\n")
        for (i = 1; i <= lines; i++) {
            names = split(line[i], name, " ")
            for (j = 1; j <= names; j++) rank[name[j]] = i
        }
    }
'

# Objects whose source is still there, "FILE: letter symbol" each.
symbols() {
    find "$1" -path '*csrec_objects*.dir*' -name '*.o' | while read -r object; do
        source=${object##*.dir/}
        source=${source%.o}
        case $source in
        simd/*) nm "$object" | sed "s|.* \([A-Za-z]\) |src/${source#simd/} \1 |" ;;
        *) [ ! -f "$source" ] || nm "$object" | sed "s|.* \([A-Za-z]\) |$source \1 |" ;;
        esac
    done
}
links() {
    symbols "$1" | awk -v rooms="$rooms" "$ranks"'
    {
        split($1, part, "/")
        if (part[1] == "shim") next
    }
    $2 ~ /[TDBR]/ && $3 ~ /^csrec_/ { home[$3] = part[2]; next }
    $2 == "U" && $3 ~ /^csrec_/ { n++; user[n] = $1; room[n] = part[2]; used[n] = $3 }

    END {
        for (k = 1; k <= n; k++) {
            to = home[used[k]]
            if (to == "" || to == room[k] || rank[to] < rank[room[k]]) continue
            print user[k] ": uses " used[k] " of " to
            wrong = 1
        }
        if (n == 0) print "no objects in BUILD"
        exit wrong || n == 0
    }'
}
[ $# -lt 2 ] || links "$2"

grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' src kernels shim |
    awk -v rooms="$rooms" "$ranks"'
    # src, kernels, shim, tools, or include for a header of include/.
    function side(path) {
        if (path ~ /^src\/tools\//) return "tools"
        return substr(path, 1, index(path, "/") - 1)
    }

    # The folder of a file in src/tools.
    function tool(path,    part) {
        split(path, part, "/")
        return part[3]
    }

    # The longest folder of the path, without its side, that the table has; "" if none.
    function room(path) {
        sub(/^[^\/]*\//, "", path)
        while (sub(/\/[^\/]*$/, "", path)) if (path in rank) return path
        return ""
    }

    # The path of a header from the root, as the compiler finds it.
    function resolved(header, file) {
        if (header ~ /^csrec(\.h$|\/)/) return "include/" header
        if (header ~ /^(kernels|shim)\//) return header
        if (header ~ /\//) return "src/" header
        sub(/[^\/]*$/, "", file)
        return file header
    }

    function allowed(file, target,    from, to, a, b) {
        from = side(file); to = side(target)
        if (to == "include") return 1
        if (from == "tools" || to == "tools")
            return from == to && (tool(target) == "common" || tool(target) == tool(file))
        if (from == "shim" || to == "shim")
            return from == "kernels" || from == to || (from == "shim" && room(target) == "base") ||
                (from == "shim" && to == "kernels" && room(target) == "device")
        if (from == "src" && to == "kernels") return 0
        a = room(file); b = room(target)
        return a != "" && b != "" && (a == b || rank[b] < rank[a])
    }

    {
        split($0, part, ":")
        text = substr($0, length(part[1]) + length(part[2]) + 3)
        split(text, quoted, "\"")
        if (allowed(part[1], resolved(quoted[2], part[1]))) next
        print part[1] ":" part[2] ": " text
        wrong = 1
    }

    END { exit wrong }'
find src kernels shim -name '*.[ch]*' -exec sed -n -e ':more' -e '/\\$/{N;s/\\\n//;b more' -e '}' \
    -e '/omp parallel/{/num_threads/!{F;p;}}' {} + | grep . &&
    echo "a parallel region without num_threads, as csrec_threads of base/threads.h gives it" && exit 1
echo "includes point down only; parallel regions ask how many threads can start"
