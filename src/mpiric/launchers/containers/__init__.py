"""One container engine per file: how its command line names the image, and how variables get inside."""

from mpiric.launchers.containers._engine import Engine
from mpiric.launchers.containers._registry import engine_of, engines, split_container

__all__ = ["Engine", "engine_of", "engines", "split_container"]
