"""Files written completely or not at all."""

from pathlib import Path

from mpiric.host import owned_files
from mpiric.model.errors import writing


def write_whole(path: Path, text: str, hint: str = "name another directory") -> Path:
    """Write a file completely or not at all, with its directories; return its path. Raises NoRoomError."""
    with writing(path, hint):
        path.parent.mkdir(parents=True, exist_ok=True)
        owned_files.write_whole(path, text.encode())
    return path
