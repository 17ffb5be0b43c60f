# Facts of the pack stand above. Every rank runs this: the first of a node mounts or unpacks the image, the others wait
# for it; each then becomes the program. A process left behind takes all away when no rank holds the shared lock any more.

say() { # sentence, hint: once a node, by its first rank
    [ "${MPI_LOCALRANKID:-${OMPI_COMM_WORLD_LOCAL_RANK:-${SLURM_LOCALID:-0}}}" = 0 ] || return 0
    printf '%s: %s\n' "$name" "$1" >&2
    [ -z "${2:-}" ] || printf 'hint: %s\n' "$2" >&2
}

stop() {
    say "$@"
    exit 78 # ExitCode.MISMATCH
}

close_descriptors() { # of launcher and locks, in a process that outlives the rank
    local path descriptor
    for path in /proc/self/fd/*; do
        descriptor=${path##*/}
        [ "$descriptor" -le 2 ] || eval "exec $descriptor>&-"
    done 2>/dev/null
}

check_system() {
    [ "$(uname -m)" = "$processor" ] || stop "it holds a program for $processor, and this is $(uname -m)"
    local libc need version file symbol soname
    from_site=()
    libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || stop "it needs glibc, and the C library here is another one" \
        "pack the program again where it was built for this C library"
    libc=${libc#glibc 2.}
    libc_minor=${libc%%[!0-9]*}
    for need in "${required[@]}"; do
        read -r version file symbol soname <<<"$need"
        [ "${version#2.}" -le "$libc_minor" ] || stands_in "$soname" || stop \
            "$file needs glibc $version for $symbol, and this system has 2.$libc_minor" \
            "${soname:+install $soname, whose older version serves too, or }build it on the oldest system that it is to run on"
    done
    for need in "${optional[@]}"; do
        read -r version file symbol <<<"$need"
        [ "${version#2.}" -le "$libc_minor" ] ||
            say "$file cannot be loaded here: it needs glibc $version for $symbol, and this system has 2.$libc_minor"
    done
}

stands_in() { # whether the site's own library serves in place of a compiler's that is too new for its glibc
    local library version
    [ -n "$1" ] || return
    library=$(of_linker "$1")
    [ -n "$library" ] || return
    for version in ${of_compilers[$1]}; do
        grep -qaF "$version" "$library" || return
    done
    from_site+=("$1")
}

of_linker() { # file that the dynamic linker knows by a name
    local library rest known
    known=$( (ldconfig -p || /sbin/ldconfig -p) 2>/dev/null)
    while read -r library rest; do
        [ "$library" = "$1" ] && printf '%s' "${rest##* }" && return
    done <<<"$known"
}

may_execute() { # programs in a directory, which noexec forbids
    local probe=$1/.probe.$$
    printf '#!/bin/sh\n' >"$probe" 2>/dev/null && chmod +x "$probe" && "$probe" 2>/dev/null
    local status=$?
    rm -f "$probe"
    return $status
}

choose_directory() { # sets $run: a directory of this node, user and pack
    local base own why=
    not_there() { why+="${why:+; }$1"; }
    for base in "${MPIRIC_PACK_DIR:-}" "${TMPDIR:-}" /tmp /dev/shm; do
        [ -n "$base" ] || continue
        [[ $base = /* ]] || { not_there "$base is not an absolute path"; continue; }
        [ -d "$base" ] && [ -w "$base" ] || { not_there "$base is not a directory that can be written"; continue; }
        if [ ! -k "$base" ] && ((0$(stat -Lc %a "$base") & 022)); then # they could replace the directory below
            not_there "others can write into $base, which has no sticky bit"
            continue
        fi
        own=$base/mpiric-pack-$UID
        mkdir -m 700 "$own" 2>/dev/null
        [ ! -L "$own" ] || { not_there "$own is a link"; continue; }
        [ -d "$own" ] || { not_there "$own cannot be made, or is not a directory"; continue; }
        [ -O "$own" ] || { not_there "$own belongs to $(stat -c %U "$own")"; continue; }
        run=$own/${HOSTNAME:-$(uname -n)}/$digest
        mkdir -p "$run" 2>/dev/null || { not_there "$run cannot be made"; continue; }
        [ -e "$run/image/$mark" ] && return
        may_execute "$run" || { not_there "programs may not be run in $own (noexec)"; continue; }
        can_mount && return
        [ "$(df -Pk "$run" | { read -r; read -r _ _ _ free _; echo "$free"; })" -gt "$unpacked_kib" ] && return
        not_there "there are less than $((unpacked_kib / 1024)) MB free in $base"
    done
    stop "no directory of this node can hold it: $why" "name one by MPIRIC_PACK_DIR"
}

can_mount() {
    [ "$format" = squashfs ] && [ "${MPIRIC_PACK_MOUNT:-yes}" = yes ] && [ -w /dev/fuse ] && type -P squashfuse >/dev/null
}

set_up() { # in $run, under a lock; fails where it cannot be mounted
    [ -e "$run/image/$mark" ] && return
    if [ -d "$run/image" ] && ! ls "$run/image" >/dev/null 2>&1; then # a mount whose server was killed
        fusermount3 -uz "$run/image" 2>/dev/null || fusermount -uz "$run/image" 2>/dev/null || umount -l "$run/image"
    fi
    check_system
    mkdir -p "$run/image"
    if can_mount; then
        (close_descriptors; exec setsid squashfuse -o "ro,offset=$offset" "$self" "$run/image" </dev/null >/dev/null 2>&1)
        [ -e "$run/image/$mark" ] || return 1
    else
        rm -rf "$run/part"
        if [ "$format" = squashfs ]; then
            type -P unsquashfs >/dev/null || stop "squashfuse and unsquashfs are not here, and it is a SquashFS" \
                "pack with --format tar, or install squashfuse or squashfs-tools"
            unsquashfs -q -n -o "$offset" -d "$run/part" "$self" >/dev/null 2>"$run/log"
        else
            mkdir -p "$run/part" && tail -c "+$((offset + 1))" "$self" | tar -xzf - -C "$run/part" 2>"$run/log"
        fi
        [ -e "$run/part/$mark" ] || stop "it cannot be unpacked: $(tail -n 1 "$run/log" 2>/dev/null)"
        rmdir "$run/image" && mv "$run/part" "$run/image"
    fi
    if [ -n "$python_environment" ]; then # its settings name the directory of the interpreter, which is known only now
        rm -rf "$run/env" && mkdir -p "$run/env/bin"
        local entry
        for entry in "$run/image/$python_environment"/*; do
            case ${entry##*/} in bin | pyvenv.cfg) ;; *) ln -s "$entry" "$run/env/" ;; esac
        done
        while IFS= read -r entry; do
            case $entry in home*) entry="home = $run/image/$python_home" ;; esac
            printf '%s\n' "$entry"
        done <"$run/image/$python_environment/pyvenv.cfg" >"$run/env/pyvenv.cfg"
        for entry in python python3 "${python_program##*/}"; do
            ln -sf "$run/image/$python_program" "$run/env/bin/$entry"
        done
    fi
    (close_descriptors; exec setsid bash -c "$(declare -f take_away); take_away \"\$1\"" take_away "$run" </dev/null >/dev/null 2>&1 &)
}

take_away() { # in a process of its own
    local run=$1
    exec 8<>"$run/set-up" 9<>"$run/in-use"
    while :; do
        flock 9 && flock -u 9 # every rank has ended
        flock 8
        if flock -n 9; then # and none has come since
            fusermount3 -uz "$run/image" || fusermount -uz "$run/image" || umount -l "$run/image" || rm -rf "$run/image"
            rm -rf "$run/env" "$run/log" "$run"/lib-*
            return
        fi
        flock -u 8
    done
}

find_mpi() { # sets $mpi: the file of the site's library, the launcher's own before all others
    local launcher directory soname places=() found
    launcher=$(readlink "/proc/$PPID/exe" 2>/dev/null)
    found=$(readlink -f "$(type -P mpiexec || type -P mpirun)" 2>/dev/null)
    IFS=: read -r -a path <<<"${LD_LIBRARY_PATH:-}"
    for directory in "${launcher%/*/*}" LD_LIBRARY_PATH "${found%/*/*}"; do
        case $directory in
        LD_LIBRARY_PATH) places+=("${path[@]}") ;;
        "" | /usr | /usr/local) ;; # found by the dynamic linker itself
        *) places+=("$directory/lib" "$directory/lib/release" "$directory/lib64") ;;
        esac
    done
    mpi='' found_by_linker=''
    for directory in "${places[@]}"; do
        for soname in "${mpi_names[@]}"; do
            [ -e "$directory/$soname" ] && mpi=$directory/$soname && return
        done
    done
    for soname in "${mpi_names[@]}"; do
        mpi=$(of_linker "$soname")
        [ -n "$mpi" ] && found_by_linker=yes && return
    done
    stop "it needs ${mpi_names[*]} of the site, and neither the launcher's prefix, LD_LIBRARY_PATH nor ldconfig has it" \
        "load the module of an MPI library of that ABI, and start the pack with its mpirun"
}

check_launcher() { # without its own launcher, each rank would run by itself as the only one
    local ranks=1
    case ${mpi##*/} in
    libmpi.so.40*) # MPI_LOCALNRANKS is set by Hydra, which MPICH and Intel MPI start ranks with
        [ -z "${MPI_LOCALNRANKS:-}" ] || [ -n "${OMPI_COMM_WORLD_SIZE:-}${PMIX_RANK:-}" ] || ranks=${PMI_SIZE:-1} ;;
    libmpi.so.12* | libmpich.so.12*)
        [ -n "${PMI_RANK:-}${PMI_FD:-}" ] || grep -qaF PMIx_Init "$mpi" || ranks=${OMPI_COMM_WORLD_SIZE:-1} ;;
    esac
    [ "$ranks" -le 1 ] || stop \
        "its MPI library here is $mpi, and the launcher belongs to another: it would run $ranks times as a single rank" \
        "start the pack with the mpirun of that library"
}

link_libraries() { # sets $libraries: those packed, but where the site's MPI needs one too and the site's is newer
    libraries=$run/lib-${mpi//\//_}
    [ -d "$libraries" ] && return
    [ -n "$libc_minor" ] || check_system
    local part=$libraries.$$ library arrow place rest replaced=
    mkdir -p "$part"
    [ ! -d "$run/image/lib" ] || ln -s "$run/image/lib"/* "$part/"
    for library in "${from_site[@]}"; do rm -f "$part/$library"; done
    if [ -n "$mpi" ]; then
        while read -r library arrow place rest; do
            [ -e "$part/$library" ] && [ -e "$place" ] && is_newer "$place" "$part/$library" || continue
            rm "$part/$library"
            replaced+=" $library"
        done < <(ldd "$mpi" 2>/dev/null)
        case $replaced in *libstdc++*) rm -f "$part"/libgcc_s.so.1 ;; esac # one compiler's, and no version in its name
    fi
    mv -T "$part" "$libraries" 2>/dev/null || rm -rf "$part"
}

is_newer() { # by the versions in the real names of two files
    local site packed
    site=$(readlink -f "$1") packed=$(readlink -f "$2")
    site=${site##*/} packed=${packed##*/}
    [ "$site" != "$packed" ] && [ "$(printf '%s\n%s\n' "$site" "$packed" | sort -V | tail -n 1)" = "$site" ]
}

find_absent() { # sets $absent: variables that name a network or device which this node does not have
    local need variables what patterns path
    absent=' '
    for need in "${needs[@]}"; do
        IFS=$'\t' read -r variables what patterns <<<"$need"
        for path in $patterns; do
            [ -e "$path" ] && [ "$(cat "$path/operstate" 2>/dev/null)" != down ] && continue 2
        done
        absent+="$variables "
        say "${variables// /, } of the recipe: left out, as ${HOSTNAME:-$(uname -n)} has no $what"
    done
}

self=$(readlink -f "${BASH_SOURCE[0]}")
if [ "${MPIRIC_PACK:-}" = check ]; then # whether it would start here
    check_system
    [ "${#mpi_names[@]}" = 0 ] || find_mpi
    find_absent
    printf '%s: starts here: %s, glibc 2.%s%s\n' "$name" "$(uname -m)" "$libc_minor" "${mpi:+, MPI library $mpi}"
    exit 0
fi

[ "$(uname -m)" = "$processor" ] || check_system
type -P flock >/dev/null || stop "flock is not here, by which the ranks of a node wait for one another" "install util-linux"
choose_directory
exec {set_up_lock}<>"$run/set-up" {in_use_lock}<>"$run/in-use"
flock "$set_up_lock"
if ! set_up; then
    exec {set_up_lock}>&- {in_use_lock}>&-
    MPIRIC_PACK_MOUNT=no exec bash "$self" "$@"
fi
flock -s "$in_use_lock"
mpi='' found_by_linker=''
[ "${#mpi_names[@]}" = 0 ] || { find_mpi && check_launcher; }
link_libraries
exec {set_up_lock}>&-

inside() { # the text with the places of the image, for what stands for them
    local text=${1//@env\//$run/env/}
    printf '%s' "${text//@\//$run/image/}"
}
find_absent
for setting in "${settings[@]}"; do
    variable=${setting%%=*}
    [ -n "${!variable+set}" ] || [[ $absent == *" $variable "* ]] || export "$variable=$(inside "${setting#*=}")"
done
for setting in "${forced[@]}"; do export "${setting%%=*}=$(inside "${setting#*=}")"; done
library_path=$libraries
[ -z "$mpi" ] || [ -n "$found_by_linker" ] || library_path+=:${mpi%/*}
export LD_LIBRARY_PATH=$library_path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
if [ -n "${MPIRIC_RECORD_DIR:-}" ] && [[ ${LD_PRELOAD:-} != *libmpiric* ]]; then
    for soname in "${!runtimes[@]}"; do
        [ "${mpi##*/}" != "$soname" ] || preload+=("@/${runtimes[$soname]}")
    done
fi
for library in "${preload[@]}"; do
    LD_PRELOAD=$(inside "$library")${LD_PRELOAD:+:$LD_PRELOAD}
    export LD_PRELOAD
done
words=()
for word in "${command[@]}"; do words+=("$(inside "$word")"); done
exec "${words[@]}" "$@"
