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
    directory: Path | None = None  # directory of the record; None for a new one in the working directory
    mpi: str = ""  # label of the MPI library to run under, "" for the launch line's own
    family: AbiFamily | None = None  # ABI family of a program whose MPI library is unknown before it runs
    output: Output = Output.STDOUT
    limit_s: float | None = None  # time after which the run is ended
    options: Mapping[str, str] = field(default_factory=dict)  # options of the runtime, see spec/options.toml
