#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# completion.sh TOOL... - the completions that each tool prints: what bash, zsh and fish offer for
# half-typed lines. A shell that is not here is left out, and named.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
wrong=0
bad() { echo "$*"; wrong=1; }
cd "$work"
mkdir a-folder
touch scan.npz 'a b.png'

options_of() { sed -n 's/^  \(-., \|    \)--\([a-z-]*\).*/\2/p'; }
commands_of() { sed -n '/^Commands:/,/^$/s/^  \([a-z0-9]*\) .*/\1/p'; }

bash_offers() { # WORD...: what bash offers for the last word, as one line
    bash --norc -c '
        tool=$1 file=$2; shift 2
        source "$file"
        COMP_WORDS=("$tool" "$@") COMP_CWORD=$# COMPREPLY=()
        "_$tool" "$tool" "${*: -1}" ""
        echo " ${COMPREPLY[*]} "' - "$tool" "$tool.bash" "$@"
}

fish_offers() { # WORD...: the same for fish
    fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' "$tool.fish" \
        "$tool $*" | cut -f 1 | tr '\n' ' ' | sed 's/^/ /'
}

zsh_offers() { # WORD...: a zsh on a terminal of its own is given the line, two tabs, and a key
    printf '%s\n' 'PROMPT="ready> "; unset zle_bracketed_paste; LISTMAX=0; stty cols 999' \
        'autoload -U compinit; compinit -C -d ./dump' "source './$tool.zsh'" \
        'finish() print -n "<over>"; zle -N finish; bindkey "^Xf" finish' >.zshrc
    ZDOTDIR=$PWD zsh -f -c '
        zmodload zsh/zpty
        zpty shell "TERM=dumb zsh -i"
        zpty -r -m shell heard "*ready> "
        zpty -w -n shell "$1"$'"'\t\t\030f'"'
        zpty -r -m shell heard "*<over>*"
        print -r -- " ${heard//[[:cntrl:]]/ } "
        zpty -d shell' - "$tool $*"
}

expect() { # SHELL WANTED WORD...: SHELL offers WANTED as one of the words
    local shell=$1 wanted=$2
    shift 2
    case $("${shell}_offers" "$@") in
    *" $wanted "*) ;;
    *) bad "$shell: '$tool $*' is not offered $wanted, but:$("${shell}_offers" "$@")" ;;
    esac
}

expect_no() { # SHELL UNWANTED WORD...
    local shell=$1 unwanted=$2
    shift 2
    case $("${shell}_offers" "$@") in
    *" $unwanted "*) bad "$shell: '$tool $*' is offered $unwanted" ;;
    esac
}

# Every option of --help is offered for "--", in each command of a program.
expect_options() { # SHELL [COMMAND]
    local shell=$1 offered option
    shift
    offered=$("${shell}_offers" "$@" --)
    for option in $("$path" "$@" --help | options_of); do
        [[ $offered == *" --$option "* ]] || bad "$shell: '$tool $* --' is not offered --$option"
    done
}

check_tool() { # SHELL
    local commands command
    commands=$("$path" --help | commands_of)
    [ -n "$commands" ] || expect_options "$1"
    for command in $commands; do
        expect "$1" "$command" ''
        expect_options "$1" "$command"
    done
}

check_known() { # SHELL: values, which --help lists too
    case $tool in
    cssample)
        expect "$1" jitter --pattern j
        expect "$1" poisson -p ''
        expect_no "$1" jitter --pattern u
        expect_no "$1" uniform --rate ''
        expect "$1" scan.npz -o scan
        ;;
    csrecover)
        expect "$1" fista scan.npz --solver f
        expect "$1" wavelet scan.npz -B w
        expect "$1" lambda= --set l
        expect "$1" 16 --bits 1
        expect "$1" scan.npz s
        ;;
    two)
        expect "$1" make m
        expect "$1" take t
        expect "$1" slow make --speed s
        if [ "$1" = bash ]; then # readline adds the stroke
            expect bash a-folder take -f ''
            expect_no bash scan.npz take -f ''
        else
            expect "$1" a-folder/ take -f a-
        fi
        expect_no "$1" slow take --speed s
        ;;
    esac
}

for shell in bash zsh fish; do
    if ! command -v "$shell" >/dev/null; then
        echo "$shell is not here: its completions are not run"
        continue
    fi
    for path; do
        tool=${path##*/}
        "$path" --completion "$shell" >"$tool.$shell"
        [ "$shell" = zsh ] && { zsh -n "$tool.zsh" || bad "zsh: $tool: syntax"; }
        [ "$shell" = zsh ] || check_tool "$shell"
        check_known "$shell"
    done
done
path=$1
tool=${path##*/}
[ "$tool" != cssample ] || [ "$(bash_offers --pattern = j)" = ' jitter ' ] || bad 'bash: --pattern=j is not completed'
[ "$tool" != cssample ] || [ "$(bash_offers -o 'a ')" = ' a b.png ' ] || bad 'bash: a file name with a blank is lost'
[ "$wrong" -eq 0 ] && echo "completions offer options, values and files"
exit "$wrong"
