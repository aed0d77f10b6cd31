#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# package.sh BUILD VERSION COMPILER - cpack makes the Debian packages; they are installed by dpkg into a
# root that holds nothing but Debian's shell and what they depend on, and run there.
#
# The root is made of the files that this machine has of those packages (dpkg -L), so that nothing is
# fetched: a dependency that the packages fail to name is not in it.
set -euo pipefail
build=$1 version=$2 compiler=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
root=$work/root

skip() { echo "SKIP: $*"; exit 77; }
for program in cpack dpkg-deb dpkg-shlibdeps dpkg-query; do
    command -v "$program" >/dev/null || skip "$program is not here: no packages are made"
done

# Runs a command in the root, as root of it.
inside() {
    if [ "$(id -u)" -eq 0 ]; then
        chroot "$root" "$@"
    else
        unshare --user --map-root-user chroot "$root" "$@"
    fi
}

make_packages() {
    cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/out" >"$work/log" 2>&1 ||
        { cat "$work/log"; exit 1; }
    library=$(find "$work/out" -maxdepth 1 -name 'libcsrec[0-9]*.deb' ! -name '*-mpi_*')
    development=$(echo "$work"/out/libcsrec-dev_*.deb)
    tools=$(echo "$work"/out/csrecover_*.deb)
    if [[ $(dpkg-deb -f "$library" Depends) == *mpi* ]]; then
        echo "$library needs MPI"
        exit 1
    fi
    if [ -e "$build/csrec_mpi_openmpi.pc" ]; then
        dpkg-deb -c "$work"/out/libcsrec*-mpi_*.deb >"$work/listing" # grep -q would break a pipe
        grep -q 'libcsrec_mpi_openmpi.so$' "$work/listing" ||
            { echo "no plug-in for Open MPI in the packages"; exit 1; }
    fi
    for package in "$library" "$development" "$tools"; do
        [ "$(dpkg-deb -f "$package" Version)" = "$version" ] ||
            { echo "$package: not version $version"; exit 1; }
    done
}

# The installed packages of this machine that the names depend on, themselves included.
closure() { # NAME...
    local seen=' ' left=("$@") name provider
    while [ ${#left[@]} -gt 0 ]; do
        name=${left[0]}
        left=("${left[@]:1}")
        case $seen in *" $name "*) continue ;; esac
        seen="$seen$name "
        if [[ $(dpkg-query -W -f '${Status}' "$name" 2>/dev/null) != *' installed' ]]; then
            provider=$(dpkg-query -W -f '${Package}:${Provides}\n' |
                sed -n "s/^\([^:]*\):.*\<$name\>.*/\1/p" | sed -n 1p)
            [ -z "$provider" ] || left+=("$provider")
            continue
        fi
        echo "$name"
        # The first of alternatives; versions and architectures dropped.
        mapfile -t -O ${#left[@]} left < <(dpkg-query -W -f '${Pre-Depends}, ${Depends}\n' "$name" |
            tr ',' '\n' | sed 's/|.*//; s/(.*//; s/:any//; s/ //g; /^$/d')
    done
}

copy_package() { # NAME
    dpkg-query -L "$1" | grep -Ev '^/\.$|^/usr/share/(doc|man|locale|info)/' |
        while read -r file; do
            if [ -d "$file" ] && [ ! -L "$file" ]; then mkdir -p "$root$file"; else echo "$file"; fi
        done >"$work/files"
    tar -C / -cf - --no-recursion -T "$work/files" 2>/dev/null | tar -C "$root" -xf - || true
    dpkg-query -s "$1" >>"$root/var/lib/dpkg/status"
    echo >>"$root/var/lib/dpkg/status"
    for list in /var/lib/dpkg/info/"$1".list /var/lib/dpkg/info/"$1":*.list; do
        [ ! -e "$list" ] || cp "$list" "$root/var/lib/dpkg/info/"
    done
}

# Links that maintainer scripts make, such as libopenblas.so.0, where their target came along. In the
# files of /var/lib/dpkg/alternatives: line 2 the link, then names and links of those that follow it.
copy_alternatives() {
    local name link value
    for file in /var/lib/dpkg/alternatives/*; do
        awk -v name="${file##*/}" 'NR == 2 { print name, $0 } NR > 2 && !NF { exit }
            NR > 2 { if (NR % 2) slave = $0; else print slave, $0 }' "$file"
    done | while read -r name link; do
        value=$(readlink "/etc/alternatives/$name" || true)
        [ -n "$value" ] && [ -e "$root$value" ] || continue
        mkdir -p "$root/etc/alternatives" "$root${link%/*}"
        ln -sf "$value" "$root/etc/alternatives/$name"
        ln -sf "/etc/alternatives/$name" "$root$link"
    done
}

make_root() {
    local names folder
    mkdir -p "$root"/{usr,tmp,var/lib/dpkg/{info,updates,triggers}}
    : >"$root/var/lib/dpkg/status"
    for folder in bin sbin lib lib64; do # one tree, as on every Debian since 12
        [ ! -L /$folder ] || { mkdir -p "$root/usr/$folder"; ln -s "usr/$folder" "$root/$folder"; }
    done
    mapfile -t names < <({ dpkg-deb -f "$library" Depends; dpkg-deb -f "$tools" Depends; } |
        tr ',' '\n' | sed 's/|.*//; s/(.*//; s/ //g; /^libcsrec/d')
    mapfile -t names < <(closure dash libc-bin "${names[@]}")
    for name in "${names[@]}"; do copy_package "$name"; done
    copy_alternatives
    echo "root of ${#names[@]} packages, $(du -sm "$root" | cut -f 1) MiB"
}

install_packages() { # the library, then the tools
    if [ "$(id -u)" -ne 0 ]; then
        echo "not root: packages are unpacked, dpkg does not check their dependencies"
        dpkg-deb -x "$library" "$root"
        dpkg-deb -x "$tools" "$root"
        return
    fi
    if dpkg --root="$root" -i "$tools" >"$work/log" 2>&1; then
        echo "dpkg installs the tools without their library"
        exit 1
    fi
    dpkg --root="$root" -i "$library" "$tools" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}

run_tools() {
    "$build"/samples/raytrace --width 48 --height 32 --rays 1 --full -o "$root/tmp/photo.png" \
        >/dev/null
    inside /usr/bin/cssample /tmp/photo.png -o /tmp/scan.npz --rate 0.5
    inside /usr/bin/csrecover /tmp/scan.npz -o /tmp/out.png --quiet
    [ -s "$root/tmp/out.png" ] || { echo "no picture came out"; exit 1; }
    for tool in "$root"/usr/bin/cs*; do
        tool=${tool##*/}
        inside "/usr/bin/$tool" --version | grep -qx "$tool $version" ||
            { echo "$tool: not version $version"; exit 1; }
        [ -s "$root/usr/share/man/man1/$tool.1" ] || { echo "no manual page of $tool"; exit 1; }
    done
}

# A program built with the header and the link of the -dev package runs in the root.
build_program() {
    dpkg-deb -x "$development" "$root"
    "$compiler" -I"$root/usr/include" -o "$root/tmp/program" "$here/main.c" \
        "$(find "$root/usr/lib" -name libcsrec.so)" -Wl,--allow-shlib-undefined
    [ "$(inside /tmp/program)" = "$version" ] || { echo "the program does not run"; exit 1; }
}

make_packages
make_root
inside /bin/sh -c : 2>/dev/null || skip "no chroot here: the packages are made, and not run"
install_packages
run_tools
build_program
echo "packages install and run: $(cd "$work/out" && echo *.deb)"
