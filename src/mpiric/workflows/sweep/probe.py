"""One launch of a probe in the place of the program, and the rows that it prints."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpiric import launchers
from mpiric.host.host import HERE, TIMED_OUT, Host
from mpiric.model.errors import NoRoomError, ProgramFailedError
from mpiric.model.job import Job
from mpiric.model.json_text import json_lines
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.spelling import Spelling
from mpiric.workflows.sweep.request import SweepRequest

PROBE, IDENTITY = "probe-collectives", "probe-mpi"
_SONAMES = {AbiFamily.MPICH: "libmpi.so.12", AbiFamily.OPENMPI: "libmpi.so.40"}


class LaunchFailedError(ProgramFailedError):
    """A launch came to no good end; what it had printed by then counts."""

    def __init__(
        self, message: str, rows: tuple[dict[str, Any], ...] = (), status: int = 1, output: str = ""
    ) -> None:
        super().__init__(message)
        self.rows, self.output = rows, output
        self.timed_out = status == TIMED_OUT


def run_launch(
    request: SweepRequest,
    job: Job,
    host: Host,
    mpi: MpiLibrary,
    setting: Spelling,
    limit_s: float,
) -> list[dict[str, Any]]:
    """One launch; the JSON lines that it printed. Raises LaunchFailedError."""
    path = (*_under_name(request.directory, mpi), *mpi.library_path)
    spelling = replace(setting, environment={**mpi.environment, **setting.environment}, library_path=path)
    launch = launchers.render(job, [("sweep", "on", spelling)])
    whole: dict[str, str | None] = dict.fromkeys(launch.unset)
    done = host.run(
        launch.argv,
        environment={**request.environment, **whole, **launch.environment},
        timeout_s=limit_s,
        working_directory=HERE,
    )
    rows = tuple(_rows(done.stdout))
    if done.status != 0:
        output = " ".join((done.stderr or done.stdout).split())[-300:]
        raise LaunchFailedError(f"{launch.shell_line()[:300]} failed: {output}", rows, done.status, output)
    return list(rows)


def _rows(stdout: str) -> Iterator[dict[str, Any]]:
    """Whole lines alone: a launch that was ended may leave a part of one."""
    return json_lines(stdout)


def _under_name(directory: Path, mpi: MpiLibrary) -> tuple[str, ...]:
    """Where the library answers to the name that the probes ask for; Debian's MPICH has another."""
    soname = _SONAMES.get(mpi.abi_families[0], mpi.soname)
    if soname == mpi.soname:
        return ()
    place = (directory / "lib").absolute()
    try:
        place.mkdir(parents=True, exist_ok=True)
        if not (place / soname).is_symlink():
            (place / soname).symlink_to(mpi.library)
    except OSError as error:
        raise NoRoomError(f"cannot write {place}: {error.strerror}", hint="name another --out") from error
    return (str(place),)
