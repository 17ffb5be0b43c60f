"""The page cache around a run: what it wrote is brought to the servers, what it will read is dropped.

Only clean pages can be dropped (posix_fadvise(2), POSIX_FADV_DONTNEED), so that files are synchronised first;
no right of an administrator is needed.
"""

import errno
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def make_safe(paths: Iterable[Path]) -> float:
    """Synchronise files and their directories; the seconds that it took.

    Files that are gone or cannot be opened are passed over. Raises OSError where the file system says that
    bytes were lost: on a full disk, or when a server failed.
    """
    begun = time.monotonic()
    directories = set()
    for path in paths:
        directories.add(path.parent)
        _synchronise(path)
    for path in directories:
        _synchronise(path)
    return time.monotonic() - begun


def drop_cached(paths: Iterable[Path]) -> None:
    """Have these files read from the servers next time."""
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


_NO_SYNC = (errno.EINVAL, errno.EOPNOTSUPP)  # nothing there to be synchronised
