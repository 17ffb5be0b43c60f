"""Links under which a library answers to another name, kept for as long as the user's files are.

A program that asks for ``libmpi.so.12`` can run under a library called ``libmpich.so.12`` when a directory in
its library path has a link of the wanted name. Commands that mpiric prints rely on such directories,
so they stand under the XDG data directory and stay.
"""

import hashlib
import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from mpiric.host.owned_files import is_own_directory


def linked_directory(label: str, links: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """A directory that holds each link (name → absolute path), made or repaired; "" when none can be had.

    Where the data directory cannot be written, the system's temporary directory takes its place.
    """
    targets = hashlib.sha256("\0".join(sorted(links.values())).encode()).hexdigest()[:8]
    for base in bases(environ):
        directory = base / "links" / f"{label}-{targets}"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for name, target in links.items():
                make_link(directory / name, target)
        except OSError:
            continue
        return str(directory)
    return ""


def make_link(path: Path, target: str) -> None:
    """Make or repair one link; whoever looks sees the old one or the new one."""
    try:
        if os.readlink(path) == target:  # noqa: PTH115 the text, not a path
            return
    except OSError:
        pass  # missing, or no link
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    beside.symlink_to(target)
    beside.replace(path)


def bases(environ: Mapping[str, str]) -> Iterator[Path]:
    """Directories for what has to stay, the best first.

    The one in the temporary directory is made when it is asked for, after the others have failed.
    """
    data = environ.get("XDG_DATA_HOME", "")
    home = environ.get("HOME", "")
    chosen = Path(data) if data.startswith("/") else Path(home) / ".local/share" if home else None
    if chosen:
        yield chosen / "mpiric"
    own = Path(tempfile.gettempdir()) / f"mpiric-{os.getuid()}"
    with suppress(OSError):
        own.mkdir(mode=0o700, exist_ok=True)
    if is_own_directory(own):  # the temporary directory is everybody's
        yield own


def library_bases(environ: Mapping[str, str]) -> Iterator[Path]:
    """Directories for libraries that have to stay: of `bases`, those that are not mounted ``noexec``."""
    return filter(_can_be_loaded_from, bases(environ))


def _can_be_loaded_from(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return not os.statvfs(directory).f_flag & os.ST_NOEXEC
    except OSError:
        return False
