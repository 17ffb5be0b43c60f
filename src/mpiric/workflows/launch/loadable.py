"""Checks of whether a library can be loaded into a program, from their files.

A preload that the dynamic linker cannot load ends the program (glibc: "version `GLIBC_2.36' not found") or is
skipped with a message on stderr (32 bits). musl's linker cannot load libraries that were linked to glibc.
"""

import re
from collections.abc import Iterable, Sequence

from mpiric import mpis
from mpiric.host.host import HERE, Completed, Elf, Host
from mpiric.launchers.containers import engines, split_container
from mpiric.model.job import Container, Job, Segment

_OURS = "mpiric's library"
_MUSL, _LIBC = "ld-musl-", "libc.so.6"
_LIBRARY_DIRECTORIES = ("lib", "lib64", "usr/lib", "usr/lib64")
_SEPARATORS = " :"  # separators of LD_PRELOAD, which cannot be escaped (ld.so(8))
_PATIENCE_S = 60  # an engine may unpack its image first


def why_not_loadable(job: Job, library: str, host: Host, *, whose: str = _OURS) -> str:
    """Return why the programs of a job would not load a library, "" if they do or if it is unknown.

    ``whose`` is the name of the library in the sentence.
    """
    if whose == _OURS and set(library) & set(_SEPARATORS):  # MPI libraries are found by LD_LIBRARY_PATH
        return f"{whose} is {library}, which LD_PRELOAD cannot name: spaces and colons end a path there"
    preload = host.elf(library)
    if preload is None:
        return ""
    reasons = (_why_not(segment, job, preload, host) for segment in job.segments)
    return next(filter(None, reasons), "").replace(_OURS, whose)


def _why_not(segment: Segment, job: Job, preload: Elf, host: Host) -> str:
    container = split_container(segment.program)
    if container is not None:
        return _why_not_inside(container, preload, host)
    path = _executable(segment.program[0], job.working_directory, host)
    elf = host.elf(path) if path else None
    if elf is None or not elf.interpreter:
        return ""  # programs of a script are unknown before they run; a static one is reported afterwards
    if elf.bits != preload.bits:
        return f"{path} is a program of {elf.bits} bits, and mpiric's library has {preload.bits}"
    if elf.processor != preload.processor:
        return f"{path} is a program for {elf.processor}, and mpiric's library one for {preload.processor}"
    if _MUSL in elf.interpreter:
        return f"{path} uses the C library musl, and mpiric's library needs glibc"
    for directory in (_parent(host.real_path(elf.interpreter)), _parent(elf.interpreter)):
        if (libc := host.elf(f"{directory}/{_LIBC}")) is not None:
            return _too_old(path, libc.glibc_offered, preload)
    return ""


def _why_not_inside(container: Container, preload: Elf, host: Host) -> str:
    image = container.image.rstrip("/")
    if not image.startswith("/") or not host.list_dir(image):  # a plain word may name an image elsewhere
        return _asked_inside(container, preload, host) or ""
    places = [f"{image}/{name}" for name in _LIBRARY_DIRECTORIES]
    places += [f"{place}/{name}" for place in places for name in host.list_dir(place) if "-linux-" in name]
    libraries = [elf for place in places if (elf := host.elf(f"{place}/{_LIBC}")) is not None]
    fitting = [elf for elf in libraries if (elf.bits, elf.processor) == (preload.bits, preload.processor)]
    if fitting:
        too_old = _too_old(f"the image {image}", fitting[0].glibc_offered, preload)
        return too_old or _nowhere_to_bind(container, image, host)
    if libraries:
        return (
            f"the image {image} is for {libraries[0].processor}, and mpiric's library for {preload.processor}"
        )
    if any(name.startswith(_MUSL) for place in places for name in host.list_dir(place)):
        return f"the image {image} has the C library musl, and mpiric's library needs glibc"
    reason = _asked_inside(container, preload, host)  # the engine may bind the host's over it
    return f"the image {image} has no C library that mpiric's library could use" if reason is None else reason


def _nowhere_to_bind(container: Container, image: str, host: Host) -> str:
    """Return why an engine cannot mount the library; the program would then not start at all."""
    points = engines()[container.engine].mount_points
    missing = [path for path in points if path.rpartition("/")[2] not in host.list_dir(image + _parent(path))]
    return _lacking(image, missing, before=image)


def _lacking(image: str, missing: Sequence[str], before: str = "") -> str:
    """Return a sentence on missing mount points of an image; ``before``: directory of the unpacked image."""
    if not missing:
        return ""
    how = f"mkdir -p {' '.join(before + path for path in missing)}"
    where = "" if before else ", before the image is packed"
    return f"{_OURS} cannot be bound into the image {image}, which lacks directories for it: {how}{where}"


def _asked_inside(container: Container, preload: Elf, host: Host) -> str | None:
    """Ask the engine for the C library of programs in the image; None without an answer."""
    answer = _answer(container, ("ldd", "--version"), host)
    first = (answer.stdout or answer.stderr).partition("\n")[0]
    if "musl" in first:
        return f"the image {container.image} has the C library musl, and mpiric's library needs glibc"
    version = first.rpartition(" ")[2]
    if answer.status or not first.startswith("ldd ") or not version.replace(".", "").isdigit():
        return None
    too_old = _too_old(f"the image {container.image}", tuple(map(int, version.split("."))), preload)
    return too_old or _nowhere_to_bind_inside(container, host)


def _nowhere_to_bind_inside(container: Container, host: Host) -> str:
    """Return why the library cannot be mounted in an image that only its engine can read (SquashFS)."""
    points = engines()[container.engine].mount_points
    if not points:
        return ""
    existing = _answer(container, ("ls", "-d", "/", *points), host).stdout.splitlines()
    missing = [path for path in points if path not in existing]
    return _lacking(container.image, missing) if "/" in existing else ""  # otherwise the image lacks ls


def _answer(container: Container, question: Sequence[str], host: Host) -> Completed:
    """Return the output of a command in the image; cached if the image is a file."""
    argv = (*container.argv, *question)
    if host.is_file(container.image):
        return host.run_cached(argv, (container.image,), timeout_s=_PATIENCE_S, working_directory=HERE)
    return host.run(argv, timeout_s=_PATIENCE_S, working_directory=HERE)


def _too_old(whose: str, offered: tuple[int, ...], preload: Elf) -> str:
    if not offered or offered >= preload.glibc_needed:
        return ""
    has, needs = (".".join(map(str, version)) for version in (offered, preload.glibc_needed))
    return f"{whose} has glibc {has}, and mpiric's library needs {needs}"


def located(word: str, working_directory: str, host: Host) -> str:
    """Return the absolute path of a command as a shell finds it, "" if it is not on PATH."""
    path = word if "/" in word else host.which(word, by_shell=True) or ""
    return path if path.startswith("/") or not path else f"{working_directory}/{path}"


def _executable(word: str, working_directory: str, host: Host) -> str:
    """Return the file that the kernel starts: the program, or the interpreter of a script."""
    path = located(word, working_directory, host)
    if not path or host.elf(path) is not None:
        return path
    first = (host.read_text(path) or "").partition("\n")[0]
    return first[2:].strip().partition(" ")[0] if first.startswith("#!") else ""


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


_NUMBERED = re.compile(r"libmpi(ch)?\.so\.\d+")
# Programs with such rights ignore LD_LIBRARY_PATH and LD_PRELOAD.
_SECURE = 'if [ -u "$1" ]; then [ ! -O "$1" ]; else [ -g "$1" ] && [ ! -G "$1" ]; fi'


def why_not_switchable(path: str, names: Iterable[str], host: Host) -> str:
    """Return why no other library can be used for the program, "" if one can or if it is unknown.

    ``names`` are the MPI libraries that it needs.
    """
    elf = host.elf(path) if path else None
    if elf is None:  # programs of a script are unknown before they run
        return ""
    own_elf = host.elf(host.real_path(host.python))
    if own_elf and elf.processor != own_elf.processor and elf.processor and own_elf.processor:
        return f"{path} is for {elf.processor}, and this machine's libraries are for {own_elf.processor}"
    if not elf.interpreter and not elf.needed:
        return f"{path} is linked statically: its MPI library is a part of it"
    if host.run(("sh", "-c", _SECURE, "sh", path)).status == 0 or host.attribute(path, "security.capability"):
        return f"{path} is setuid, setgid or has capabilities: the dynamic linker ignores what is set for it"
    if both := two_families(names):
        return f"{path} {both}"
    needed = (name for name in elf.needed if _NUMBERED.fullmatch(name))
    strange = next((name for name in needed if mpis.family_of_soname(name) is None), "")
    return f"{path} is linked to {strange}, which is of no ABI family that is known" if strange else ""


def two_families(names: Iterable[str]) -> str:
    """Return a sentence if libraries of these names belong to two ABI families, else ""."""
    families = {family.value: name for name in sorted(names) if (family := mpis.family_of_soname(name))}
    both = " and ".join(families.values())
    return f"loads {both}: MPI libraries of two ABI families in one process" if len(families) > 1 else ""
