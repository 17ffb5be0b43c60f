"""Files written completely or not at all."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from mpiric.model.errors import writing


def write_whole(path: Path, text: str, hint: str = "name another directory") -> None:
    """Write a file completely or not at all: a file beside it, then renamed. Raises NoRoomError."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with writing(path, hint):
            path.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
