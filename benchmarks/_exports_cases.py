"""What mpiric writes for use without it, and how that is used: the cases of the benchmark of exports."""

import json
import shlex
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._interleaved import launch
from benchmarks._programs import Bed, beds
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.launch import Launch

_LIMIT_S = 900.0
# Library → ABI family of the programs that it serves through a shim.
_OTHER = {"mpich": "openmpi", "openmpi": "mpich", "intelmpi": "openmpi"}
# Inherited settings that keep ranks of a node from using shared memory, which a site default sets right.
# Open MPI has no variable whose value does so: there a recipe takes the setting away.
SLOW = {"mpich": {"MPIR_CVAR_NOLOCAL": "1"}, "intelmpi": {"I_MPI_FABRICS": "ofi"}}


class NothingWrittenError(Exception):
    """There was nothing to gain here, so that mpiric wrote nothing."""


@dataclass(frozen=True)
class Written:
    """An export of mpiric and both sides of its comparison.

    ``claim`` is a gain as mpiric prints it; None where it is that of the side ``claimed``: the same settings
    with mpiric at work.
    """

    line: str  # command line of the export, shown in the results
    original: Launch
    by_hand: Launch
    claim: float | None = None
    claimed: Launch | None = None


@dataclass(frozen=True)
class Place:
    """The directory, library and options of a case."""

    bed: Bed
    directory: Path
    given: Namespace

    def mpiric(self, *options: str, environment: Mapping[str, str] | None = None) -> str:
        """Run a verb and return its stdout. Raises ProgramFailedError."""
        done = subprocess.run(
            self.words(*options),
            cwd=self.directory,
            env={**self.bed.environment, **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=_LIMIT_S,
        )
        if done.returncode:
            raise ProgramFailedError(f"mpiric {' '.join(options[:6])} …: {done.stderr.strip()[-400:]}")
        return done.stdout

    @staticmethod
    def words(*options: str) -> list[str]:
        """The command of a verb."""
        return [sys.executable, "-m", "mpiric", *options]

    @property
    def exchanges(self) -> int:
        """Round trips of the ping-pong."""
        return 500 if self.given.quick else 200_000

    @property
    def budget(self) -> str:
        """Return the time budget of one tune or sweep."""
        return self.given.budget or ("30s" if self.given.quick else "2m")

    def tuned(
        self, *more: str, program: str = "malloc_churn", environment: Mapping[str, str] | None = None
    ) -> tuple[list[str], dict[str, Any]]:
        """A command, and what `mpiric tune --json` says of it."""
        argv = self.bed.line(2, program)
        options = ("--json", "--budget", self.budget, "--store", str(self.directory / "store"), *more)
        tuned = json.loads(self.mpiric("tune", *options, "--", *argv, environment=environment))
        if tuned["verdict"] != "faster":
            raise NothingWrittenError(f"tune proved no gain of {program}")
        return argv, tuned


def _shell(line: str, environment: Mapping[str, str] | None = None) -> Launch:
    return launch(["sh", "-c", line], environment)


def _site(place: Place) -> tuple[list[str], dict[str, Any], Mapping[str, str]]:
    """The ping-pong, its tune as a site makes it, and the inherited settings that it has to set right."""
    slow = SLOW[place.bed.mpi.implementation]
    argv, tuned = place.tuned("--site", "--only", "transport", program="pingpong", environment=slow)
    return argv, tuned, slow


def recipe_command(place: Place) -> Written:
    """The line that `mpiric run --dry-run` prints of a recipe."""
    argv, tuned = place.tuned()
    line = place.mpiric("run", "--recipe", tuned["recipe"], "--dry-run", "--", *argv).strip().splitlines()[-1]
    return Written(line, launch(argv), _shell(line), tuned["ratio"])


def pack(place: Place) -> Written:
    """A pack with a recipe in it, started by the library's own launcher."""
    argv, tuned = place.tuned()
    packed = str(place.directory / "churn.pack")
    place.mpiric("pack", "--recipe", tuned["recipe"], "-o", packed, "--", *argv)
    line = shlex.join([*argv[:-1], packed])
    return Written(line, launch(argv), _shell(line), tuned["ratio"])


def site_module(place: Place) -> Written:
    """The modulefile of `tune --site`, loaded as a user does."""
    argv, tuned, slow = _site(place)
    modules = Path(tuned["store"]) / "site"
    line = f"{_loaded(modules, 'mpiric-site.tcl')}; {shlex.join(argv)}"
    return Written(line, launch(argv, slow), _shell(line, slow), tuned["ratio"])


def site_snippet(place: Place) -> Written:
    """The shell snippet of `tune --site`, sourced as from /etc/profile.d."""
    argv, tuned, slow = _site(place)
    snippet = Path(tuned["store"]) / "site/mpiric-site.sh"
    if not snippet.is_file():
        raise NothingWrittenError("every setting is one that other libraries read too: the module has them")
    line = f". {shlex.quote(str(snippet))}; {shlex.join(argv)}"
    return Written(line, launch(argv, slow), _shell(line, slow), tuned["ratio"])


def stand_in_module(place: Place) -> Written:
    """The modulefile of a stand-in, compared with `mpiric run --mpi`."""
    mine = place.bed.mpi
    other = beds()[_OTHER[mine.implementation]]
    argv = other.line(2, "pingpong", place.exchanges)
    serving = place.directory / "stand-in"
    family = other.mpi.abi_families[0].value
    created = place.mpiric("mpi", "stand-in", "--json", "--for", family, "--by", mine.label, str(serving))
    module = Path(json.loads(created)["modulefile"])
    variables = {**other.mpi.environment, "LD_LIBRARY_PATH": ":".join(other.mpi.library_path)}
    clear = (f"unset {' '.join(other.mpi.environment)}; " if other.mpi.environment else "") + (
        "unset LD_LIBRARY_PATH; "
    )
    launcher = shlex.join([mine.launcher, *argv[1:]])
    line = f"{clear}{_loaded(module.parent, module.name)}; {launcher}"
    claimed = launch(place.words("run", "--no-recipe", "--mpi", mine.label, "--", *argv), variables)
    return Written(line, launch(argv, variables), _shell(line), claimed=claimed)


def placement(place: Place) -> Written:
    """The line and files that `mpiric place` writes, compared with the knob that binds alike."""
    argv = place.bed.line(2, "pingpong", place.exchanges)
    planned = json.loads(place.mpiric("place", "-n", "2", "--json"))["launchers"][place.bed.mpi.dialect]
    for name, text in planned["files"].items():
        (place.directory / name).write_text(text)
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in planned["env"].items())
    launch_argv = [place.bed.mpi.launcher, *planned["argv"][1:], *argv[3:]]
    line = f"cd {shlex.quote(str(place.directory))}; {settings} {shlex.join(launch_argv)}"
    claimed = launch(place.words("run", "--no-recipe", "--set", "binding=core", "--", *argv))
    return Written(line, launch(argv), _shell(line), claimed=claimed)


CASES: Mapping[str, Callable[[Place], Written]] = {
    "recipe's command": recipe_command,
    "pack": pack,
    "site's module": site_module,
    "site's snippet": site_snippet,
    "module of a stand-in": stand_in_module,
    "placement": placement,
}


def _loaded(modules: Path, name: str) -> str:
    """The line by which a shell loads a modulefile. Raises MpiricError without Environment Modules."""
    if shutil.which("modulecmd") is None:
        raise MpiricError("no modulecmd is here", hint="install environment-modules")
    return f'eval "$(MODULEPATH={shlex.quote(str(modules))} modulecmd sh load {shlex.quote(name)})"'
