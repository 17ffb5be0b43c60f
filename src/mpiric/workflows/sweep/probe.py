"""Launch a probe instead of the program, and read the rows that it prints."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from mpiric.host.files import exists
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import NoRoomError, ProgramFailedError
from mpiric.model.json_text import json_lines
from mpiric.model.launch import Spelling
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.run import Plan, Run
from mpiric.model.situation import Situation
from mpiric.model.trial import Outcome, Phase
from mpiric.workflows.trials.users_lab import PrintingRun

PROBE, IDENTITY = "probe-collectives", "probe-mpi"
_SONAMES = {AbiFamily.MPICH: "libmpi.so.12", AbiFamily.OPENMPI: "libmpi.so.40"}


class LaunchFailedError(ProgramFailedError):
    """A launch failed; ``rows`` were printed before."""

    def __init__(
        self,
        message: str,
        rows: tuple[dict[str, Any], ...] = (),
        output: str = "",
        *,
        timed_out: bool = False,
    ) -> None:
        super().__init__(message)
        self.rows, self.output, self.timed_out = rows, output, timed_out


def run_launch(
    situation: Situation, setting: Spelling, limit_s: float, directory: Path
) -> Plan[list[dict[str, Any]]]:
    """Make one launch and return the JSON lines that it printed. Raises LaunchFailedError.

    A library that is installed under another name than the probe's gets a link in ``directory``.
    """
    mpi = situation.mpi
    path = (*_under_name(directory, mpi), *mpi.library_path)
    around = replace(setting, environment={**mpi.environment, **setting.environment}, library_path=path)
    trial = yield Run(
        Configuration(), Phase.OBSERVE, limit_s=limit_s, probe=PrintingRun(around), situation=situation
    )
    out, err = (
        Path(name).read_text(errors="replace") if name and exists(name) else ""
        for name in (trial.stdout, trial.stderr)
    )
    # Complete lines only, since the last line of an ended launch may be cut off.
    rows = tuple(json_lines(out))
    if trial.outcome is not Outcome.OK:
        output = " ".join((err or out or trial.reason).split())[-300:]
        line = render(Configuration(), situation, around).shell_line()[:300]
        raise LaunchFailedError(
            f"{line} failed: {output}", rows, output, timed_out=trial.outcome is Outcome.TIMED_OUT
        )
    return list(rows)


def _under_name(directory: Path, mpi: MpiLibrary) -> tuple[str, ...]:
    """Return a directory with a link to the library under the name that the probes need (Debian's MPICH)."""
    soname = _SONAMES.get(mpi.abi_families[0], mpi.soname)
    if soname == mpi.soname:
        return ()
    links = (directory / "lib").absolute()
    try:
        links.mkdir(parents=True, exist_ok=True)
        if not (links / soname).is_symlink():
            (links / soname).symlink_to(mpi.library)
    except OSError as error:
        raise NoRoomError(f"cannot write {links}: {error.strerror}", hint="name another --out") from error
    return (str(links),)
