"""Whether a library of this machine can be loaded into the programs of a job, from what their files say.

A preload that the dynamic linker cannot load ends the program (glibc: "version `GLIBC_2.36' not found") or is
skipped with a line on stderr (32 bits). musl's linker takes no library that was linked to glibc.
"""

from collections.abc import Sequence

from mpiric.host.host import HERE, Completed, Elf, Host
from mpiric.launchers.containers import engines, split_container
from mpiric.model.job import Container, Job, Segment

_OURS = "mpiric's library"
_MUSL, _LIBC = "ld-musl-", "libc.so.6"
_LIBRARY_DIRECTORIES = ("lib", "lib64", "usr/lib", "usr/lib64")
_SEPARATORS = " :"  # of LD_PRELOAD, and there is no escape (ld.so(8))
_PATIENCE_S = 60  # an engine may unpack its image first


def why_not_loadable(job: Job, library: str, host: Host, *, whose: str = _OURS) -> str:
    """Why the programs of a job would not load a library, "" where they do or their files do not say.

    ``whose`` is what the sentence calls it.
    """
    if whose == _OURS and set(library) & set(_SEPARATORS):  # an MPI library comes by LD_LIBRARY_PATH
        return f"{whose} is {library}, which LD_PRELOAD cannot name: spaces and colons end a path there"
    ours = host.elf(library)
    if ours is None:
        return ""
    reasons = (_why_not(segment, job, ours, host) for segment in job.segments)
    return next(filter(None, reasons), "").replace(_OURS, whose)


def _why_not(segment: Segment, job: Job, ours: Elf, host: Host) -> str:
    container = split_container(segment.program)
    if container is not None:
        return _why_not_inside(container, ours, host)
    path = _executable(segment.program[0], job.working_directory, host)
    elf = host.elf(path) if path else None
    if elf is None or not elf.interpreter:
        return ""  # a script's programs show when they run; a static one is told of after it ran
    if elf.bits != ours.bits:
        return f"{path} is a program of {elf.bits} bits, and mpiric's library one of {ours.bits}"
    if elf.processor != ours.processor:
        return f"{path} is a program for {elf.processor}, and mpiric's library one for {ours.processor}"
    if _MUSL in elf.interpreter:
        return f"{path} uses the C library musl, and mpiric's library needs glibc"
    for directory in (_parent(host.real_path(elf.interpreter)), _parent(elf.interpreter)):
        if (libc := host.elf(f"{directory}/{_LIBC}")) is not None:
            return _too_old(path, libc.glibc_offered, ours)
    return ""


def _why_not_inside(container: Container, ours: Elf, host: Host) -> str:
    image = container.image.rstrip("/")
    if not image.startswith("/") or not host.list_dir(image):  # a bare word may name an image elsewhere
        return _asked_inside(container, ours, host) or ""
    places = [f"{image}/{name}" for name in _LIBRARY_DIRECTORIES]
    places += [f"{place}/{name}" for place in places for name in host.list_dir(place) if "-linux-" in name]
    libraries = [elf for place in places if (elf := host.elf(f"{place}/{_LIBC}")) is not None]
    fitting = [elf for elf in libraries if (elf.bits, elf.processor) == (ours.bits, ours.processor)]
    if fitting:
        too_old = _too_old(f"the image {image}", fitting[0].glibc_offered, ours)
        return too_old or _nowhere_to_bind(container, image, host)
    if libraries:
        return f"the image {image} is for {libraries[0].processor}, and mpiric's library for {ours.processor}"
    if any(name.startswith(_MUSL) for place in places for name in host.list_dir(place)):
        return f"the image {image} has the C library musl, and mpiric's library needs glibc"
    found = _asked_inside(container, ours, host)  # the engine may bind the host's over it
    return f"the image {image} has no C library that mpiric's library could use" if found is None else found


def _nowhere_to_bind(container: Container, image: str, host: Host) -> str:
    """An engine that cannot bind the library would not start the program at all."""
    points = engines()[container.engine].mount_points
    missing = [path for path in points if path.rpartition("/")[2] not in host.list_dir(image + _parent(path))]
    return _lacking(image, missing, before=image)


def _lacking(image: str, missing: Sequence[str], before: str = "") -> str:
    """The sentence on mount points that an image has not; ``before`` is where the image lies unpacked."""
    if not missing:
        return ""
    how = f"mkdir -p {' '.join(before + path for path in missing)}"
    where = "" if before else ", before the image is packed"
    return f"{_OURS} cannot be bound into the image {image}, which lacks directories for it: {how}{where}"


def _asked_inside(container: Container, ours: Elf, host: Host) -> str | None:
    """Ask the engine which C library programs inside find; None without an answer."""
    answer = _answer(container, ("ldd", "--version"), host)
    first = (answer.stdout or answer.stderr).partition("\n")[0]
    if "musl" in first:
        return f"the image {container.image} has the C library musl, and mpiric's library needs glibc"
    version = first.rpartition(" ")[2]
    if answer.status or not first.startswith("ldd ") or not version.replace(".", "").isdigit():
        return None
    too_old = _too_old(f"the image {container.image}", tuple(map(int, version.split("."))), ours)
    return too_old or _nowhere_to_bind_inside(container, host)


def _nowhere_to_bind_inside(container: Container, host: Host) -> str:
    """The same of an image whose files only its engine reads: a SquashFS, or one that goes by a name."""
    points = engines()[container.engine].mount_points
    if not points:
        return ""
    there = _answer(container, ("ls", "-d", "/", *points), host).stdout.splitlines()
    missing = [path for path in points if path not in there]
    return _lacking(container.image, missing) if "/" in there else ""  # else there is no ls


def _answer(container: Container, question: Sequence[str], host: Host) -> Completed:
    """What a command prints inside; kept where the image is a file."""
    argv = (*container.argv, *question)
    if host.is_file(container.image):
        return host.run_cached(argv, (container.image,), timeout_s=_PATIENCE_S, working_directory=HERE)
    return host.run(argv, timeout_s=_PATIENCE_S, working_directory=HERE)


def _too_old(whose: str, offered: tuple[int, ...], ours: Elf) -> str:
    if not offered or offered >= ours.glibc_needed:
        return ""
    has, needs = (".".join(map(str, version)) for version in (offered, ours.glibc_needed))
    return f"{whose} has glibc {has}, and mpiric's library needs {needs}"


def _executable(word: str, working_directory: str, host: Host) -> str:
    """The file that the kernel starts: the program, or the interpreter that a script names first."""
    found = word if "/" in word else host.which(word, by_shell=True) or ""
    path = found if found.startswith("/") or not found else f"{working_directory}/{found}"
    if not path or host.elf(path) is not None:
        return path
    first = (host.read_text(path) or "").partition("\n")[0]
    return first[2:].strip().partition(" ")[0] if first.startswith("#!") else ""


def _parent(path: str) -> str:
    return path.rpartition("/")[0]
