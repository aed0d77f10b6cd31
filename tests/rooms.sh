#!/bin/sh
# rooms.sh [ROOT] - includes point down only: prints each #include of src, kernels and shim that
# points up or aside, and exits 1.
#
# A room is a folder of src and its mirror in kernels. Its files include their own room and rooms on
# lines above it in the table; rooms of one line do not know each other. Besides:
#   include/     may be included by all
#   src          includes nothing of kernels and shim
#   kernels      also include shim
#   shim         includes kernels/device and src/base only
#   src/cli      includes include/ only
# Python reads include/ only, by its generator.
#
# Besides, each parallel region has a number of threads that base/threads.h has tested.
set -eu
cd "${1:-$(dirname "$0")/..}"

rooms='
base
device io
haar conv comm
net
operator
solver
learn
method
method/grids
method/sparse
method/frames
method/gaussian method/mixture method/pca method/conv
method/net
recover
'

grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' src kernels shim |
    awk -v rooms="$rooms" '
    BEGIN {
        lines = split(rooms, line, "\n")
        for (i = 1; i <= lines; i++) {
            names = split(line[i], name, " ")
            for (j = 1; j <= names; j++) rank[name[j]] = i
        }
    }

    # src, kernels, shim, cli, or include for a header of include/.
    function side(path) {
        if (path ~ /^src\/cli\//) return "cli"
        return substr(path, 1, index(path, "/") - 1)
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
        if (from == "cli" || to == "cli") return from == to
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
