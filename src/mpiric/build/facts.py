"""Data of this room and the dispatcher's sources: shipped inside the package, read when they are needed."""

import os
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from mpiric.model.errors import NotFoundError


def directory(name: str) -> str:
    """``data/cpu``, ``data/compilers`` or ``dispatch``: folders beside this file."""
    place = os.path.join(os.path.dirname(__file__), name)
    if not os.path.isdir(place):
        raise NotFoundError(
            f"mpiric's own files '{name}' are not installed", hint="install mpiric again: it is incomplete"
        )
    return place


@lru_cache
def table(name: str) -> Mapping[str, Any]:
    """One of the data files, ``data/cpu/x86_64`` for example, without its extension."""
    toml = import_module(
        "tomllib" if sys.version_info >= (3, 11) else "tomli"
    )  # a compilation rarely needs it
    folder, file = os.path.split(name)
    with open(os.path.join(directory(folder), f"{file}.toml"), "rb") as stream:
        parsed: Mapping[str, Any] = toml.load(stream)
    return parsed
