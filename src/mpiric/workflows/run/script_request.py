"""The request of a job script."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.model.batch import NodeShape
from mpiric.schedulers import (
    LayoutRequest,
    ScriptOptions,
)


@dataclass(frozen=True)
class ScriptRequest:
    """Options of `mpiric script`; "" and 0 are replaced by the site's defaults or the node's shape."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    layout: LayoutRequest = field(default_factory=LayoutRequest)
    shape: NodeShape | None = None
    options: ScriptOptions = field(default_factory=lambda: ScriptOptions(shebang=""))
    scheduler: str = ""  # "" for the installed one, else Slurm
    mpi: str = ""  # process manager of the scheduler's launcher
    defaults: Path | None = None
    recipe: Path | None = None
    allow_rounding: bool = False
    check: bool = True
