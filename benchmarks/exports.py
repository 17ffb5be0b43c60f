"""Compare the gain of exports that are used by hand with the gain that mpiric claims for them.

Each case lets mpiric write something: the command of a recipe, a pack, a site's files, the modulefile of a
stand-in, the line and files of a placement, the tuning files of a sweep, a job script. The original command
and what was written then run in turns, the latter by a shell that knows nothing of mpiric.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from benchmarks._interleaved import in_turns, launch
from benchmarks._programs import Bed, beds, chosen, offer_choice, results_directory
from benchmarks._report import Result, options, run, tell
from benchmarks._statistics import ratio
from mpiric.host.installation.native import native_part
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.launch import Launch

_CLOSE = 0.05  # a gain by hand is at most so much below the claim
_LIMIT_S = 900.0
_SWEPT = ("--collectives", "bcast,allreduce,allgather", "--sizes", "8,1K,64K", "--ranks", "2")
# Library → ABI family of the programs that it serves through a shim.
_OTHER = {"mpich": "openmpi", "openmpi": "mpich", "intelmpi": "openmpi"}
_SLURM = ("--scheduler", "slurm")


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

    def tuned(self, *more: str, program: str = "malloc_churn") -> tuple[list[str], dict[str, Any]]:
        """A command, and what `mpiric tune --json` says of it."""
        argv = self.bed.line(2, program)
        store = ("--store", str(self.directory / "store"))
        tuned = json.loads(self.mpiric("tune", "--json", "--budget", self.budget, *store, *more, "--", *argv))
        if tuned["verdict"] != "faster":
            raise NothingWrittenError(f"tune proved no gain of {program}")
        return argv, tuned


def _shell(line: str) -> Launch:
    return launch(["sh", "-c", line])


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
    argv, tuned = place.tuned("--site", program="pingpong")
    modules = Path(tuned["store"]) / "site"
    line = f"{_loaded(modules, 'mpiric-site.tcl')}; {shlex.join(argv)}"
    return Written(line, launch(argv), _shell(line), tuned["ratio"])


def site_snippet(place: Place) -> Written:
    """The shell snippet of `tune --site`, sourced as from /etc/profile.d."""
    argv, tuned = place.tuned("--site", program="pingpong")
    snippet = Path(tuned["store"]) / "site/mpiric-site.sh"
    if not snippet.is_file():
        raise NothingWrittenError("every setting is one that other libraries read too: the module has them")
    line = f". {shlex.quote(str(snippet))}; {shlex.join(argv)}"
    return Written(line, launch(argv), _shell(line), tuned["ratio"])


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
TUNING_FILES, JOB_SCRIPT = "sweep's files", "job script"
_QUICK = ("recipe's command", "pack", "module of a stand-in", "placement", TUNING_FILES)


@dataclass(frozen=True)
class Case:
    """A kind of export under one library."""

    name: str
    mpi: str


COLUMNS = {
    "case": "written",
    "mpi": "MPI",
    "claim": "claim",
    "by_hand": "by hand",
    "by_hand_ci95": "95 %",
    "is_kept": "kept",
    "line": "without mpiric",
}


def main() -> int:
    """Run the cases that this machine has the libraries for."""
    parser = options("exports", "Does what mpiric writes gain without mpiric what it claims?")
    parser.add_argument("--budget", help="of one tune or sweep (default 2m, quick 30s)")
    parser.add_argument("--rounds", type=int, help="of original and written (default 15, quick 5)")
    offer_choice(parser)
    return run("exports", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Every case: let it be written, then the original and it in turns."""
    available = beds()
    names = _QUICK if arguments.quick and not arguments.only else (*CASES, TUNING_FILES, JOB_SCRIPT)
    of_form = [Case(name, mpi) for mpi in ("mpich", "openmpi", "intelmpi") for name in names]
    if arguments.quick and not arguments.mpi:
        of_form = [case for case in of_form if case.mpi == "mpich"]
    rows = [_row(case, available[case.mpi], arguments) for case in chosen(of_form, available, arguments)]
    return Result(COLUMNS, rows, summary_of(rows))


def summary_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence with the number of claims that hold by hand."""
    measured = [row for row in rows if row["is_kept"] is not None]
    kept_claims = sum(row["is_kept"] for row in measured)
    unwritten = len(rows) - len(measured)
    nothing = f"; {unwritten} wrote nothing" if unwritten else ""
    return f"{kept_claims} of {len(measured)} gain by hand at least the claim less {_CLOSE:.0%}{nothing}."


def is_kept(claim: float, by_hand: float) -> bool:
    """Return whether a gain by hand is at most 5 % below what was claimed."""
    return by_hand >= claim * (1 - _CLOSE)


def _row(case: Case, bed: Bed, arguments: Namespace) -> dict[str, Any]:
    tell(f"{case.name} under {bed.mpi.label} …")
    directory = results_directory("exports", case.name.replace("'", ""), bed)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    place = Place(bed, directory, arguments)
    row: dict[str, Any] = {"case": case.name, "mpi": bed.mpi.label, "is_kept": None}
    try:
        if case.name == TUNING_FILES:
            measured = _of_tuning_files(place)
        elif case.name == JOB_SCRIPT:
            measured = _of_script(place)
        else:
            measured = _of_sides(CASES[case.name](place), place)
    except (NothingWrittenError, ProgramFailedError) as error:
        none = dict.fromkeys(("claim", "by_hand", "by_hand_ci95"))
        # A failure by hand breaks the claim.
        broken = False if isinstance(error, ProgramFailedError) else None
        return {**row, **none, "is_kept": broken, "line": str(error)[-300:]}
    return {**row, **measured, "is_kept": is_kept(measured["claim"], measured["by_hand"])}


def _of_sides(written: Written, place: Place) -> dict[str, Any]:
    sides = {"original": written.original, "by hand": written.by_hand}
    if written.claimed is not None:
        sides["claimed"] = written.claimed
    rounds = place.given.rounds or (5 if place.given.quick else 15)
    times = in_turns(sides, place.bed.environment, rounds, place.given.seed)
    gain = ratio(times["original"], times["by hand"])
    claim = written.claim or ratio(times["original"], times["claimed"]).middle
    return {
        "claim": round(claim, 3),
        "by_hand": round(gain.middle, 3),
        "by_hand_ci95": gain.interval,
        "line": written.line,
        "times_s": times,
    }


def _of_tuning_files(place: Place) -> dict[str, Any]:
    """Measure the files that `mpiric sweep` exports by the times of the collectives, one launch per turn."""
    out, bed = place.directory / "swept", place.bed
    options = ("--no-own", "--budget", place.budget, "--json", "-o", str(out))
    swept = json.loads(place.mpiric("sweep", *_SWEPT, *options, "--", bed.mpi.launcher, "-n", "2"))
    shell = out / "collectives.sh"
    if not shell.is_file():
        raise NothingWrittenError("the sweep chose nothing but the library's own")
    probe = native_part("probe-collectives", bed.mpi.abi_families[0])
    chosen_keys = {key["collective"] for key in swept["keys"] if key["candidate"] != "library"}
    points = [f"{name}:2:2:{size}" for name in sorted(chosen_keys) for size in (8, 1024, 65536)]
    line = f". {shlex.quote(str(shell))}; {shlex.join([bed.mpi.launcher, '-n', '2', probe, '0.05', *points])}"
    sides = {"original": line.partition("; ")[2], "by hand": line}
    gains: list[float] = []
    for turn in range(place.given.rounds or (3 if place.given.quick else 9)):
        order = list(sides) if turn % 2 else list(reversed(sides))
        times = {name: _probed(sides[name], bed.environment) for name in order}
        common = times["original"].keys() & times["by hand"].keys()
        gains.append(geometric_mean(times["original"][key] / times["by hand"][key] for key in common))
    return {
        "claim": round(swept["exported"]["gain"], 3),
        "by_hand": round(median(gains), 3),
        "by_hand_ci95": ratio(gains, [1.0] * len(gains)).interval,
        "line": line,
        "gains": gains,
    }


def _probed(line: str, environment: Mapping[str, str]) -> dict[str, float]:
    """Collective and size → median time of a call."""
    done = subprocess.run(
        ["sh", "-c", line], env=environment, capture_output=True, text=True, check=False, timeout=_LIMIT_S
    )
    rows = [json.loads(row) for row in done.stdout.splitlines() if row.startswith("{")]
    if done.returncode or not rows:
        raise ProgramFailedError(f"{line[:80]} …: {done.stderr.strip()[-200:]}")
    return {f"{row['collective']} {row['bytes']}": row["median_s"] for row in rows}


def _of_script(place: Place) -> dict[str, Any]:
    """A job script of `mpiric script` under Slurm on the virtual cluster, beside the line that it is of.

    Both run in an allocation, so that no queue counts. The claim is that the script runs the line as it is.
    """
    if os.geteuid():
        raise NothingWrittenError("the virtual cluster needs root")
    manager = "pmi2" if place.bed.mpi.implementation in ("mpich", "intelmpi") else "pmix"
    argv = ["srun", f"--mpi={manager}", "-n", "2", place.bed.program("pingpong")]
    script = place.directory / "job.sh"
    with _slurm(place) as in_job:
        script.write_text(in_job(place.words("script", *_SLURM, "-N", "1", "--", *argv)))
        sides = {"original": shlex.join(argv), "by hand": f"sh {shlex.quote(str(script))}"}
        times: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(place.given.rounds or (3 if place.given.quick else 9)):
            for name in list(sides) if turn % 2 else list(reversed(sides)):
                clock = f"t=$(date +%s.%N); {sides[name]} >/dev/null && echo $t $(date +%s.%N)"
                started, ended = map(float, in_job(["sh", "-c", clock]).split())
                times[name].append(ended - started)
    gain = ratio(times["original"], times["by hand"])
    return {
        "claim": 1.0,
        "by_hand": round(gain.middle, 3),
        "by_hand_ci95": gain.interval,
        "line": f"sbatch {script}",
        "times_s": times,
    }


@contextmanager
def _slurm(place: Place) -> Any:
    """A host with Slurm; yields a function that runs a command in an allocation and returns its output."""
    from tests.lab import cluster
    from tests.lab.plan import Plan, host_names
    from tests.lab.slurm import daemons
    from tests.lab.slurm.config import SlurmPlan

    state = place.directory / "cluster"
    cluster.up(state, Plan(host_names("1")))
    try:
        daemons.up(state, SlurmPlan())

        def in_job(argv: list[str]) -> str:
            line = ["salloc", "--quiet", "--exclusive", "--nodes=1", *argv]
            done = cluster.run(state, "n1", line, dict(place.bed.environment), timeout=_LIMIT_S)
            if done.returncode:
                raise ProgramFailedError(f"{' '.join(argv)[:80]} …: {done.stderr.strip()[-300:]}")
            return done.stdout

        yield in_job
    finally:
        cluster.down(state)


def _loaded(modules: Path, name: str) -> str:
    """The line by which a shell loads a modulefile. Raises MpiricError without Environment Modules."""
    if shutil.which("modulecmd") is None:
        raise MpiricError("no modulecmd is here", hint="install environment-modules")
    return f'eval "$(MODULEPATH={shlex.quote(str(modules))} modulecmd sh load {shlex.quote(name)})"'


if __name__ == "__main__":
    sys.exit(main())
