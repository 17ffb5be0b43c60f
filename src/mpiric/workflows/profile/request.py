"""The request of a profile."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.host.processes.foreground import Output
from mpiric.model.mpi_library import AbiFamily


@dataclass(frozen=True)
class ProfileRequest:
    """The options of `mpiric profile`; ``argv`` is the user's launch line."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    directory: Path | None = None  # of the record; None for a new one in the working directory
    mpi: str = ""  # label of the MPI library to run under, "" for the launch line's own
    family: AbiFamily | None = None  # for programs whose MPI only shows when they run
    output: Output = Output.STDOUT
    limit_s: float | None = None  # after which the run is ended and what was recorded counts
    options: Mapping[str, str] = field(default_factory=dict)  # of the runtime, as spec/options.toml has them
