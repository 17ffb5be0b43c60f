"""Where trial directories live, who owns them, and removing what a killed mpiric left.

An area is a hidden directory on the file system of the user's working directory, so that copies can
share data and every node sees them as it sees the original.
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
_MIRRORED_NAMES = 2000  # a link costs some 5 µs here and a round trip on a network file system


def make_area(source: Path, store: Path) -> Path:
    """A new area: in the store when that is on the same file system, else beside or in ``source``.

    When neither can be written it is in the store all the same. Raises NoRoomError when that fails too.
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
    """A new area on the file system of ``source`` but not in it, None where none can be."""
    for directory in _nearby(source, store):
        if directory.is_relative_to(source):
            continue
        sweep(directory)
        area = _try_area(directory)
        if isinstance(area, Path):
            return area
    return None


def _nearby(source: Path, store: Path) -> list[Path]:
    """Directories for areas on the file system of ``source``, the best first."""
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
    """Remove areas of this user in ``directory`` whose mpiric is dead; areas of other hosts stay."""
    for area in directory.glob(f"{PREFIX}*"):
        try:
            descriptor = open_directory(area)
        except OSError:
            continue  # another user's, or a link
        try:
            owner = read_own(_OWNER, at=descriptor).decode()
        except (OSError, UnicodeDecodeError):
            continue
        finally:
            os.close(descriptor)
        words = owner.split()
        if (
            len(words) == 4
            and words[0] == _host()
            and words[2].isdecimal()
            and owner != _identity(int(words[2]))
        ):
            remove_tree(area)


def mirror_surroundings(area: Path, source: Path) -> tuple[Path, str]:
    """The path for the copy of ``source`` inside the area, and a note when its surroundings are too many.

    ``../mesh/big.dat`` in a program's input must be found from the copy too: the directories above
    are rebuilt with links to what stands beside the original.
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
    """Host, boot, pid and start time: names one process for ever."""
    process = read_stat(pid)
    started = process.start_ticks if process is not None else -1
    return f"{_host()} {Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {pid} {started}"


def _host() -> str:
    return socket.gethostname() or "-"
