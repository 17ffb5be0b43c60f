"""Location, ownership and clean-up of trial directories.

An area is a hidden directory on the file system of the user's working directory, so that copies can share
data and all nodes can access it.
"""

import os
import socket
import tempfile
from pathlib import Path

from mpiric.host.owned_files import open_directory, open_new, read_own, remove_tree
from mpiric.host.processes.proc import read_stat
from mpiric.model.errors import NoRoomError

PREFIX = ".mpiric-trials-"
_OWNER = "owner"
_MIRRORED_LEVELS = 2
# A link takes about 5 µs on a local file system, a round trip on a network file system.
_MIRRORED_NAMES = 2000


def make_area(source: Path, store: Path) -> Path:
    """Create an area: in the store if it is on the same file system, else close to ``source``.

    If none of these is writable, the store is used on any file system. Raises NoRoomError if that fails
    too.
    """
    nearby = _nearby(source, store)
    directories = [*nearby, *([store] if store not in nearby else [])]
    for directory in directories:
        sweep(directory)
    complaint = ""
    for directory in directories:
        area = _try_area(directory)
        if isinstance(area, Path):
            return area
        complaint = f"{directory}: {area.strerror}"
    raise NoRoomError(
        f"no directory for trials can be made: {complaint}",
        hint="name a writable directory with --store, or run in the directory itself with --in-place",
    )


def make_area_outside(source: Path, store: Path) -> Path | None:
    """Create an area on the file system of ``source`` but outside it; None if that is impossible."""
    for directory in _nearby(source, store):
        if directory.is_relative_to(source):
            continue
        sweep(directory)
        area = _try_area(directory)
        if isinstance(area, Path):
            return area
    return None


def _nearby(source: Path, store: Path) -> list[Path]:
    """Return directories for areas on the file system of ``source``, the best first."""
    store.mkdir(parents=True, exist_ok=True)
    device = source.stat().st_dev
    return [directory for directory in (store, source.parent, source) if directory.stat().st_dev == device]


def _try_area(directory: Path) -> Path | OSError:
    try:
        area = Path(tempfile.mkdtemp(prefix=PREFIX, dir=directory))
        with os.fdopen(open_new(area / _OWNER), "w") as file:
            file.write(_identity(os.getpid()))
    except OSError as error:
        return error
    return area


def sweep(directory: Path) -> None:
    """Remove areas of this user in ``directory`` whose process has ended; areas of other hosts stay."""
    for area in directory.glob(f"{PREFIX}*"):
        try:
            descriptor = open_directory(area)
        except OSError:
            continue  # another user's directory, or a link
        try:
            owner = read_own(_OWNER, at=descriptor).decode()
        except (OSError, UnicodeDecodeError):
            continue
        finally:
            os.close(descriptor)
        fields = owner.split()
        if (
            len(fields) == 4
            and fields[0] == _host()
            and fields[2].isdecimal()
            and owner != _identity(int(fields[2]))
        ):
            remove_tree(area)


def mirror_surroundings(area: Path, source: Path) -> tuple[Path, str]:
    """Return the path for the copy of ``source`` in the area, and a note if it has too many neighbours.

    A path like ``../mesh/big.dat`` in a program's input must also work from the copy: the parent
    directories are recreated with links to the neighbours of the original.
    """
    directory, note = area / "tree", ""
    directory.mkdir()
    chain = [source, *list(source.parents)[:_MIRRORED_LEVELS]]
    for level in range(len(chain) - 1, 0, -1):
        directory = directory / (chain[level].name or "root")
        directory.mkdir()
        try:
            names = sorted(os.listdir(chain[level]))  # noqa: PTH208
        except OSError:
            continue
        if len(names) > _MIRRORED_NAMES:
            note = f"{chain[level]} holds {len(names)} names: paths through it by '..' do not work in trials"
            continue
        for name in names:
            if name != chain[level - 1].name and not name.startswith(PREFIX):
                (directory / name).symlink_to(chain[level] / name)
    return directory / source.name, note


def _identity(pid: int) -> str:
    """Return host, boot id, pid and start time, which identify a process uniquely."""
    process = read_stat(pid)
    started = process.start_ticks if process is not None else -1
    return f"{_host()} {Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {pid} {started}"


def _host() -> str:
    return socket.gethostname() or "-"
