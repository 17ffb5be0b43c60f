"""Control of the page cache around a run: written data is flushed to the servers, inputs are evicted.

Only clean pages can be evicted (posix_fadvise(2), POSIX_FADV_DONTNEED), so files are synchronised first. No
privileges are needed.
"""

import errno
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


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
