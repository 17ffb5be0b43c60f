"""Checked reading of regular files of limited size, search for files, and digests of HDF5 files.

Around a run, written data is flushed to the servers and inputs are evicted from the page cache. Only clean
pages can be evicted (posix_fadvise(2), POSIX_FADV_DONTNEED), so files are synchronised first.
"""

import errno
import os
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path

from mpiric.host.command_log import log_start
from mpiric.host.host import Host
from mpiric.host.user_directories import probe_environment
from mpiric.model.errors import MpiricError, NotFoundError

LARGEST_TEXT_BYTES = 64 << 20  # size limit of text files
_PART_BYTES = 1 << 20  # the kernel refuses reads of 4 MiB and more from files in /proc/sys (ENOMEM)
# Streams of this process, for example of `<(command)` in a shell: a pipe is intended there.
_OWN_STREAM = re.compile(r"/dev/stdin|/dev/fd/[0-9]+|/proc/self/fd/[0-9]+")


def is_file(path: str | os.PathLike[str]) -> bool:
    """Return whether the path is a regular file or a link to one; False for a text that cannot be a path."""
    return os.path.isfile(path)  # noqa: PTH113 unlike Path.is_file never raises


def is_directory(path: str | os.PathLike[str]) -> bool:
    """Return whether the path is a directory or a link to one; False for a text that cannot be a path."""
    return os.path.isdir(path)  # noqa: PTH112 unlike Path.is_dir never raises


def exists(path: str | os.PathLike[str]) -> bool:
    """Return whether the path exists; False for a text that cannot be a path."""
    return os.path.exists(path)  # noqa: PTH110 unlike Path.exists never raises


def read_bounded(path: str | os.PathLike[str], what: str, most_bytes: int, hint: str = "") -> bytes:
    """Return the content of a regular file of at most ``most_bytes``; ``what`` names its kind in errors.

    Raises NotFoundError if the file cannot be opened, MpiricError if it is not regular or too large.
    """
    try:
        return open_and_read(path, what, most_bytes, hint)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no {_truncated(path)}", hint=hint) from error
    except (OSError, ValueError) as error:
        raise NotFoundError(f"cannot read {_truncated(path)}: {reason(error)}", hint=hint) from error


def open_and_read(path: str | os.PathLike[str], what: str, most_bytes: int, hint: str = "") -> bytes:
    """Read like `read_bounded`, but raise OSError or ValueError for a file that cannot be opened."""
    is_stream = _OWN_STREAM.fullmatch(os.fspath(path)) is not None
    # Checked before opening: opening a device may have side effects.
    _require_regular(path, os.stat(path).st_mode, what, hint, is_stream=is_stream)  # noqa: PTH116
    blocking = 0 if is_stream else os.O_NONBLOCK  # a FIFO created in the meantime must not block
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | blocking), "rb") as file:  # noqa: PTH123
        _require_regular(path, os.fstat(file.fileno()).st_mode, what, hint, is_stream=is_stream)
        data = bytearray()
        while len(data) <= most_bytes and (part := file.read(min(_PART_BYTES, most_bytes + 1))):
            data += part
    if len(data) > most_bytes:
        raise _too_large(path, what, most_bytes, hint)
    return bytes(data)


def require_readable(path: str | os.PathLike[str], what: str, most_bytes: int, hint: str = "") -> None:
    """Raise MpiricError for a file that is missing, forbidden, not regular, or too large."""
    try:
        facts = os.stat(path)  # noqa: PTH116 may be an invalid path
        is_stream = _OWN_STREAM.fullmatch(os.fspath(path)) is not None
        _require_regular(path, facts.st_mode, what, hint, is_stream=is_stream)
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no {what} {_truncated(path)}", hint=hint) from error
    except (OSError, ValueError) as error:
        raise NotFoundError(
            f"cannot read the {what} {_truncated(path)}: {reason(error)}", hint=hint
        ) from error
    if facts.st_size > most_bytes:
        raise _too_large(path, what, most_bytes, hint)


def why_unreadable(path: str, what: str, hint: str = "") -> MpiricError:
    """Return the error for a text file that a host could not read."""
    try:
        require_readable(path, what, LARGEST_TEXT_BYTES, hint)
    except MpiricError as error:
        return error
    return NotFoundError(f"cannot read the {what} {_truncated(path)}", hint=hint)


def text_of(host: Host, path: str, what: str, hint: str = "") -> str:
    """Return the text of a file that the user named. Raises MpiricError if it is unreadable."""
    text = host.read_text(path)
    if text is None:
        raise why_unreadable(path, what, hint=hint)
    return text


def reason(error: Exception) -> str:
    """Return the system's reason for a failed access, as a phrase."""
    return (error.strerror if isinstance(error, OSError) else None) or " ".join(str(error).split())


def _require_regular(
    path: str | os.PathLike[str], mode: int, what: str, hint: str, *, is_stream: bool
) -> None:
    if stat.S_ISREG(mode) or (is_stream and stat.S_ISFIFO(mode)):
        return
    kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
    raise MpiricError(f"{_truncated(path)} is {kind}", hint=hint or f"name a {what}")


def _too_large(path: str | os.PathLike[str], what: str, most_bytes: int, hint: str) -> MpiricError:
    limit = f"{most_bytes >> 20} MiB" if most_bytes >= 1 << 20 else f"{most_bytes >> 10} KiB"
    return MpiricError(
        f"{_truncated(path)} is larger than any {what} may be ({limit})", hint=hint or f"name a {what}"
    )


def _truncated(path: str | os.PathLike[str]) -> str:
    """Return the path for a message, at most 200 characters of it."""
    text = os.fspath(path)
    return text if len(text) <= 200 else f"{text[:200]}…"


def matching(host: Host, pattern: str) -> Iterator[str]:
    """Yield the paths that match an absolute shell pattern, ascending; ``*`` does not match ``/``."""
    head, *parts = pattern.split("/")
    yield from _below(host, head, parts)


def _below(host: Host, directory: str, parts: list[str]) -> Iterator[str]:
    if not parts:
        yield directory
        return
    part, *later_parts = parts
    path = f"{directory}/{part}"
    if any(mark in part for mark in "*?["):
        for name in host.list_dir(directory or "/"):
            if fnmatchcase(name, part) and not name.startswith("."):
                yield from _below(host, f"{directory}/{name}", later_parts)
    elif later_parts or host.is_file(path) or host.list_dir(path):
        yield from _below(host, path, later_parts)


def linker_cache(host: Host) -> tuple[tuple[str, str], ...]:
    """Return (library name, path) pairs of ``ldconfig -p``, which needs no privileges."""
    command = host.which("ldconfig") or "/sbin/ldconfig"  # users on Debian do not have sbin in PATH
    entries = re.findall(
        r"^\s+(\S+) \(.*\) => (\S+)$",
        host.run_cached([command, "-p"], ["/etc/ld.so.cache"]).stdout,
        re.MULTILINE,
    )
    return tuple((name, path) for name, path in entries)


_MAGIC = b"\x89HDF\r\n\x1a\n"
_EVERY_DIGIT = "%.17g"


def is_hdf5(path: Path) -> bool:
    """Return whether a file starts with the HDF5 signature."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def contents_digest(path: Path) -> str:
    """Return a digest of the names, types, attributes and data of a file; "" if they cannot be read."""
    program = shutil.which("h5dump")
    if program is None:
        return ""
    state = blake2b(digest_size=16)
    command = [program, "-m", _EVERY_DIGIT, str(path.absolute())]
    log_start(command)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=probe_environment(os.environ), cwd="/"
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # skip the file name
        while block := process.stdout.read(1 << 20):
            state.update(block)
    return state.hexdigest() if process.returncode == 0 else ""


def make_safe(paths: Iterable[Path]) -> float:
    """Synchronise files and their directories; return the duration in seconds.

    Missing and unreadable files are ignored. Raises OSError if the file system reports lost data: on a full
    disk, or after the failure of a server.
    """
    start_s = time.monotonic()
    directories = set()
    for path in paths:
        directories.add(path.parent)
        _synchronise(path)
    for path in directories:
        _synchronise(path)
    return time.monotonic() - start_s


def drop_cached(paths: Iterable[Path]) -> None:
    """Evict files from the page cache, so that the next read comes from the servers."""
    for path in paths:
        with suppress(OSError):
            _synchronise(path)
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)


def _synchronise(path: Path) -> None:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(file)


_NO_SYNC = (errno.EINVAL, errno.EOPNOTSUPP)  # not a file that can be synchronised
