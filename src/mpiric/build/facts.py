"""Data of this room and the dispatcher's sources: shipped inside the package, read when they are needed."""

import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from mpiric.model.errors import NotFoundError


def directory(name: str) -> Path:
    """``data/cpu``, ``data/compilers`` or ``dispatch``: folders beside this file."""
    place = Path(__file__).parent / name
    if not place.is_dir():
        raise NotFoundError(
            f"mpiric's own files '{name}' are not installed", hint="install mpiric again: it is incomplete"
        )
    return place


@lru_cache
def table(name: str) -> Mapping[str, Any]:
    """One of the data files, ``data/cpu/x86_64`` for example, without its extension."""
    path = directory(str(Path(name).parent)) / f"{Path(name).name}.toml"
    toml = import_module(
        "tomllib" if sys.version_info >= (3, 11) else "tomli"
    )  # a compilation rarely needs it
    parsed: Mapping[str, Any] = toml.loads(path.read_text(encoding="utf-8"))
    return parsed
