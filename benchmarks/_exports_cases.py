"""Exports of mpiric and their use without it: the cases of the benchmark of exports."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

from benchmarks._interleaved import launch
from benchmarks._programs import Bed, beds
from benchmarks._statistics import Ratio, ratio
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.job import Launch

LIMIT_S = 300.0
CLOSE = 0.05  # largest difference between a gain by hand and the claim
_MOST_ROUNDS = 4  # limit of the rounds of a case, relative to the rounds asked for
_SOURCE = Path(__file__).with_name("_exports.c")
# Library → ABI family of the programs that it serves through a shim.
_OTHER = {"mpich": "openmpi", "openmpi": "mpich", "intelmpi": "openmpi"}
_OBJECTIVE = ("--objective", r"output:seconds (\S+)")
# Launchers bind differently unless told; `mpiric run --mpi` keeps the binding of the program's own launcher.
_BOUND = {"mpich": ("-bind-to", "core"), "openmpi": ("--bind-to", "core"), "intelmpi": ()}
# Open MPI counts the cores that it may use, and refuses more ranks than that.
_CROWDED = {"openmpi": ("--map-by", ":OVERSUBSCRIBE", "--bind-to", "none")}


class NothingWrittenError(Exception):
    """There was nothing to gain here, so that mpiric wrote nothing."""


@dataclass(frozen=True)
class Written:
    """An export of mpiric and both sides of its comparison.

    ``claim`` is a gain and its 95 % interval as mpiric prints them; None takes the gain of the side
    ``claimed``: the same settings with mpiric at work.
    """

    line: str  # command line of the export, shown in the results
    original: Launch
    by_hand: Launch
    claim: Ratio | None = None
    claimed: Launch | None = None


@dataclass(frozen=True)
class Place:
    """The directory, library and options of a case, and the tunes that earlier cases of the library made."""

    bed: Bed
    directory: Path
    arguments: Namespace
    tunes: dict[str, dict[str, Any]]

    def mpiric(self, *options: str) -> str:
        """Run a verb and return its stdout. Raises ProgramFailedError."""
        return self.run(launch(self.words(*options)))

    def run(self, command: Launch) -> str:
        """Run a command and return its stdout. Raises ProgramFailedError."""
        environment = {k: v for k, v in self.bed.environment.items() if k not in command.unset}
        done = subprocess.run(
            command.argv,
            cwd=self.directory,
            env={**environment, **command.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
        if done.returncode:
            raise ProgramFailedError(f"{shlex.join(command.argv)[:120]} …: {done.stderr.strip()[-400:]}")
        return done.stdout

    @staticmethod
    def words(*options: str) -> list[str]:
        """Return the command line of a verb."""
        return [sys.executable, "-m", "mpiric", *options]

    @property
    def budget(self) -> str:
        """Return the time budget of one tune or sweep."""
        return self.arguments.budget or ("30s" if self.arguments.quick else "1m")

    @property
    def rounds(self) -> int:
        """Runs of each side."""
        return int(self.arguments.rounds or (3 if self.arguments.quick else 9))

    def program(self, mode: str, count: int, millions: int, bed: Bed | None = None) -> list[str]:
        """Return the program of all cases with its arguments, which are smaller in quick runs."""
        few = 10 if self.arguments.quick else 1
        built = (bed or self.bed).build(_SOURCE, "exports")
        return [built, mode, str(count // few), str(millions // few)]

    def line(self, mode: str, count: int, millions: int, bed: Bed | None = None) -> list[str]:
        """Return a launch line with two ranks."""
        return [(bed or self.bed).mpi.launcher, "-n", "2", *self.program(mode, count, millions, bed)]

    def tune_words(self, only: str, *more: str) -> list[str]:
        """Return the command of a tune that minimises the printed time, up to its `--`."""
        store = str(self.directory.parent / f"{self.bed.mpi.label}-tunes")
        options = ("--json", "--budget", self.budget, "--store", store, *_OBJECTIVE, "--only", only)
        return self.words("tune", *options, *more)

    def proved(self, name: str, tune: Callable[[], str]) -> dict[str, Any]:
        """Result of a tune that is made once for a library. Raises NothingWrittenError without a gain."""
        if name not in self.tunes:
            self.tunes[name] = json.loads(tune())
        if self.tunes[name]["verdict"] != "faster":
            raise NothingWrittenError(f"tune proved no gain of {name}")
        return self.tunes[name]


def compare(
    sides: Mapping[str, Callable[[], str]], rounds: int, claim: Ratio | None = None
) -> dict[str, Any]:
    """Run all sides in turns, and compare the seconds that the program prints."""

    def seconds(side: str) -> float:
        printed = re.findall(r"^seconds (\S+)$", sides[side](), re.MULTILINE)
        if len(printed) != 1:
            raise ProgramFailedError(f"{side}: {len(printed)} jobs have printed their time, not one")
        return float(printed[0])

    def one_round(turn: int) -> dict[str, float]:
        return {side: seconds(side) for side in (list(sides) if turn % 2 else list(sides)[::-1])}

    one_round(0)  # warms up
    return compare_rounds(one_round, rounds, claim)


def compare_rounds(
    one_round: Callable[[int], Mapping[str, float]], rounds: int, claim: Ratio | None = None
) -> dict[str, Any]:
    """Compare the gain by hand with the claim, from the time of each side in ``one_round(turn)``.

    Without a claim, that is the gain of the side "claimed". Rounds are added while the spread does not tell
    whether both gains are equal, up to `_MOST_ROUNDS` times ``rounds``.
    """
    measured: list[Mapping[str, float]] = []
    result: dict[str, Any] = {"kept": "undecided"}
    while len(measured) < rounds or (result["kept"] == "undecided" and len(measured) < _MOST_ROUNDS * rounds):
        measured.append(one_round(len(measured) + 1))
        if len(measured) >= rounds:
            result = judge({side: [times[side] for times in measured] for side in measured[0]}, claim)
    return result


def judge(times: Mapping[str, Sequence[float]], claim: Ratio | None) -> dict[str, Any]:
    """Compare the gain by hand with the claim.

    Both sides of a comparison ran in the same rounds if the side "claimed" was measured; else the intervals
    of both gains are compared.
    """
    by_hand = ratio(times["original"], times["by hand"])
    if claim is None:
        claim, quotient = (
            ratio(times["original"], times["claimed"]),
            ratio(times["claimed"], times["by hand"]),
        )
    else:
        quotient = Ratio(by_hand.middle / claim.middle, by_hand.low / claim.high, by_hand.high / claim.low)
    return {
        "claim": round(claim.middle, 3),
        "by_hand": round(by_hand.middle, 3),
        "by_hand_ci95": by_hand.interval,
        "quotient": round(quotient.middle, 3),
        "quotient_ci95": quotient.interval,
        "kept": is_kept(quotient),
        "times_s": times,
    }


def is_kept(quotient: Ratio) -> str:
    """Return "yes" for a gain by hand within 5 % of the claim, "no" if the interval excludes that."""
    if abs(quotient.middle - 1) <= CLOSE:
        return "yes"
    return "undecided" if quotient.low <= 1 + CLOSE and quotient.high >= 1 - CLOSE else "no"


def claim_of(tuned: Mapping[str, Any]) -> Ratio:
    """Return the ratio of a tune with its interval."""
    low, high = tuned["ratio_ci95"]
    return Ratio(tuned["ratio"], low or 0.0, high or inf)


def of_sides(written: Written, place: Place) -> dict[str, Any]:
    """Measure a case of this machine."""
    sides = {"original": partial(place.run, written.original), "by hand": partial(place.run, written.by_hand)}
    if written.claimed is not None:
        sides["claimed"] = partial(place.run, written.claimed)
    return {**compare(sides, place.rounds, written.claim), "line": written.line}


def _shell(line: str, environment: Mapping[str, str] | None = None) -> Launch:
    return launch(["sh", "-c", line], environment)


def _churn(place: Place) -> tuple[list[str], dict[str, Any]]:
    argv = place.line("churn", 10, 100)
    tune = [*place.tune_words("malloc"), "--", *argv]
    return argv, place.proved("churn", lambda: place.run(launch(tune)))


def recipe_command(place: Place) -> Written:
    """Launch line that `mpiric run --dry-run` prints for a recipe."""
    argv, tuned = _churn(place)
    line = place.mpiric("run", "--recipe", tuned["recipe"], "--dry-run", "--", *argv).strip().splitlines()[-1]
    return Written(line, launch(argv), _shell(line), claim_of(tuned))


def pack(place: Place) -> Written:
    """Pack that contains a recipe, started by the library's launcher."""
    argv, tuned = _churn(place)
    packed = str(place.directory / "churn.pack")
    place.mpiric("pack", "--recipe", tuned["recipe"], "-o", packed, "--", *argv)
    at = argv.index(place.program("churn", 10, 100)[0])
    line = shlex.join([*argv[:at], packed, *argv[at + 1 :]])
    return Written(line, launch(argv), _shell(line), claim_of(tuned))


def stand_in_module(place: Place) -> Written:
    """Modulefile of a shim, compared with `mpiric run --mpi`."""
    mine = place.bed.mpi
    other = beds()[_OTHER[mine.implementation]]
    argv = place.line("exchange", 1000, 100, bed=other)
    serving = place.directory / "stand-in"
    family = other.mpi.abi_families[0].value
    created = place.mpiric("mpi", "stand-in", "--json", "--for", family, "--by", mine.label, str(serving))
    module = Path(json.loads(created)["modulefile"])
    variables = {**other.mpi.environment, "LD_LIBRARY_PATH": ":".join(other.mpi.library_path)}
    clear = (f"unset {' '.join(other.mpi.environment)}; " if other.mpi.environment else "") + (
        "unset LD_LIBRARY_PATH; "
    )
    launcher = shlex.join([mine.launcher, *_BOUND[mine.implementation], *argv[1:]])
    line = f"{clear}{loaded(module.parent, module.name)}; {launcher}"
    bound = ("--mpi", mine.label, "--set", "binding=core")
    claimed = launch(place.words("run", "--no-recipe", *bound, "--", *argv), variables)
    return Written(line, launch(argv, variables), _shell(line), claimed=claimed)


def placement(place: Place) -> Written:
    """Launch line and files of `mpiric place`, compared with the knob `binding`.

    The original has one core for both ranks.
    """
    program = place.program("compute", 0, 150)
    launcher = place.bed.mpi.launcher
    crowded = _CROWDED.get(place.bed.mpi.implementation, ())
    original = ["taskset", "-c", "0", launcher, *crowded, "-n", "2", *program]
    planned = json.loads(place.mpiric("place", "-n", "2", "--json"))["launchers"][place.bed.mpi.dialect]
    for name, text in planned["files"].items():
        (place.directory / name).write_text(text)
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in planned["env"].items())
    by_hand = [launcher, *planned["argv"][1:], *program]
    line = f"cd {shlex.quote(str(place.directory))}; {settings} {shlex.join(by_hand)}"
    bound = place.words("run", "--no-recipe", "--set", "binding=core", "--", launcher, "-n", "2", *program)
    return Written(line, launch(original), _shell(line), claimed=launch(bound))


CASES: Mapping[str, Callable[[Place], Written]] = {
    "recipe's command": recipe_command,
    "pack": pack,
    "module of a stand-in": stand_in_module,
    "placement": placement,
}


def loaded(modules: Path, name: str) -> str:
    """Return the shell command that loads a modulefile. Raises MpiricError without Environment Modules."""
    if shutil.which("modulecmd") is None:
        raise MpiricError("modulecmd is not installed", hint="apt install environment-modules")
    return f'eval "$(MODULEPATH={shlex.quote(str(modules))} modulecmd sh load {shlex.quote(name)})"'
