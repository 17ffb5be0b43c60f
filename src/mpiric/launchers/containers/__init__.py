"""Container engines, one module each: syntax of the command line, and passing of variables."""

from mpiric.launchers.containers._engine import Engine
from mpiric.launchers.containers._registry import engine_of, engines, split_container

__all__ = ["Engine", "engine_of", "engines", "split_container"]
