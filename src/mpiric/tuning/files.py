"""Files of strangers, read whole or refused."""

import os
import stat
from pathlib import Path

from mpiric.host import owned_files
from mpiric.model.errors import MpiricError, NotFoundError, writing


def read_bounded(
    path: Path, what: str, most_bytes: int, maker: str = "`mpiric run --policy-out` or `mpiric sweep`"
) -> bytes:
    """Contents of a regular file; raises MpiricError for what is none, or too large."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO must not block
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise MpiricError(f"{path} is no file", hint=f"name a {what}")
            data = file.read(most_bytes + 1)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no {path}", hint=f"{maker} makes one") from error
    except OSError as error:
        raise NotFoundError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > most_bytes:
        raise MpiricError(f"{path} is larger than any {what} ({most_bytes >> 20} MiB)")
    return data


def write_whole(path: Path, text: str, hint: str = "name another directory") -> None:
    """Write a file completely or not at all, with its directories. Raises NoRoomError."""
    with writing(path, hint):
        path.parent.mkdir(parents=True, exist_ok=True)
        owned_files.write_whole(path, text.encode())
