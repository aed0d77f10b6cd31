#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# alias.sh FOLDER - no tool of FOLDER writes over a file that the command line names elsewhere: every
# option whose value is a FILE in --help, with every other one and with the input, by the same name,
# another spelling, a symbolic link, a hard link, and names of nothing that is there yet. A new
# option is covered by itself; one that reads is to be added to `reads`.
set -u
tools=$(cd "$1" && pwd)
reads=" coils density fill guide input kernel mask matrix model noise reference resume "
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work" || exit 1
wrong=0 pairs=0

fail() {
    echo "alias.sh: $*"
    wrong=1
}

is_read() {
    case $reads in *" $1 "*) return 0 ;; esac
    return 1
}

# word NAME PATH - the command line's part for an option, or the operand.
word() {
    if [ "$1" = input ]; then echo "$2"; else echo "--$1=$2"; fi
}

# try COMMAND FIRST PATH SECOND PATH - must be refused with a line that names both, and change nothing.
try() {
    command=$1 first=$2 second=$4
    input=plain.npz
    [ "$first" = input ] || [ "$second" = input ] && input=
    before=$(ls -lA --time-style=full-iso . link 2>/dev/null; cat data other plain.npz)
    # shellcheck disable=SC2046,SC2086
    "$tools"/$command $input $(word "$first" "$3") $(word "$second" "$5") >../$name.out 2>../$name.err
    code=$?
    after=$(ls -lA --time-style=full-iso . link 2>/dev/null; cat data other plain.npz)
    line=$(cat ../$name.err)
    pairs=$((pairs + 1))
    [ "$before" = "$after" ] || fail "$command $first=$3 $second=$5: files have changed"
    [ "$code" = 2 ] && [ "$(wc -l <../$name.err)" = 1 ] ||
        fail "$command $first=$3 $second=$5: exit code $code: $line"
    case $line in *"same file"*) ;; *) fail "$command $first=$3 $second=$5: $line" ;; esac
    for option in "$first" "$second"; do
        case $line in *"$option "*) ;; *) fail "$command $first=$3 $second=$5: no $option in: $line" ;; esac
    done
}

# try_some COMMAND FIRST SECOND FIRST_PATH SECOND_PATH... - every spelling of one file, there or not: all
# for the first options of a command, else a quarter, another one for every two options and every seed.
try_some() {
    command=$1 first=$2 second=$3
    shift 3
    while [ $# -gt 0 ]; do
        turn=$((turn + 1))
        [ -n "$all" ] || [ $((turn % 4)) -eq 0 ] || { shift 2; continue; }
        try "$command" "$first" "$1" "$second" "$2"
        shift 2
    done
}

try_pair() {
    try_some "$1" "$2" "$3" data.npz data.npz \
        data.npz ./data.npz \
        ./link/../data.npz data.npz \
        "$work/in/data.npz" data.npz \
        soft.npz data.npz \
        hard.npz data.npz \
        hard.npz soft.npz \
        new.npz .//./new.npz \
        dangling.npz new.npz \
        link/new.npz folder/new.npz \
        nowhere/new.npz nowhere/./new.npz
}

seed=${CSREC_TEST_SEED:-$(od -A n -N 3 -t u4 /dev/urandom | tr -d ' ')}
echo "CSREC_TEST_SEED=$seed"
turn=$((seed % 4))
name=alias
mkdir in && cd in || exit 1
mkdir folder && ln -s folder link
echo data >data.npz && cp data.npz data && echo other >other && echo plain >plain.npz
ln -s data.npz soft.npz && ln data.npz hard.npz && ln -s new.npz dangling.npz

commands_of() { "$tools/$1" --list | sed "s/^ *\([a-z]*\).*/$1_\1/"; }
for command in cssample csrecover $(commands_of cslearn) $(commands_of csbench); do
    command=$(echo "$command" | tr _ ' ')
    # shellcheck disable=SC2086
    options="input $("$tools"/$command --help | sed -n 's/^ .*--\([a-z-]*\) FILE\b.*/\1/p' | tr '\n' ' ')"
    all=all
    for first in $options; do
        for second in $options; do
            [ "$first" = "$second" ] && continue
            is_read "$first" && is_read "$second" && continue
            try_pair "$command" "$first" "$second"
            all=
        done
    done
done
[ "$pairs" -gt 150 ] || fail "only $pairs command lines were found; has --help changed?"

# What folders and names that are made up would overwrite: TOOL OPTIONS, of files in $work/in.
refused() {
    before=$(ls -lA --time-style=full-iso . folder)
    # shellcheck disable=SC2068
    "$tools"/$@ >../$name.out 2>../$name.err
    code=$?
    after=$(ls -lA --time-style=full-iso . folder)
    [ "$code" = 2 ] && grep -q "same file" ../$name.err || fail "$*: exit code $code: $(cat ../$name.err)"
    [ "$before" = "$after" ] || fail "$*: files have changed"
}
touch a.npz folder/a.npz folder/a.png folder/b.npy
refused csrecover a.npz folder/a.npz -o out/
refused csrecover folder/a.png -o folder
refused csrecover a.npz -o folder --reference folder
refused csrecover a.npz -o folder -m folder/a.png
refused csrecover a.npz -o folder -M folder/a.npy
refused csrecover a.npz -o folder/ --plot link/a.png
refused csrecover a.npz --plot folder --report folder/a.svg
refused csrecover a.npz -o new/ --plot ./new/a.npy
refused cslearn pca folder -o folder/b.npy
refused cslearn pca folder -o model.npz --plot folder/a.png
refused cslearn pca folder -o model.npz --plot link/a.png
[ ! -e out ] && [ ! -e new ] || fail "a folder was made"

# What is no conflict: devices, folders shared by outputs, and reading twice.
allowed() {
    # shellcheck disable=SC2068
    "$tools"/$@ >../$name.out 2>../$name.err
    ! grep -q "same file" ../$name.err || fail "$*: $(cat ../$name.err)"
}
allowed csrecover a.npz -o both/ --report both/ --plot both/
allowed csrecover a.npz -m a.npz -r a.npz -o x.png
allowed cssample /dev/null -o /dev/null --mask-out /dev/null
allowed csrecover a.npz b.npz -o folder --format npy --reference in.png

[ "$wrong" = 0 ] && echo "$pairs pairs of paths refused, nothing touched"
exit "$wrong"
