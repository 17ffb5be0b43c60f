"""Objective of a search (a time, core-hours, a number that a run or a command prints), and its budget."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from mpiric.host.processes.captured import CommandLate, run_in_shell
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import sh_word

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?"
TIMES = ("wall", "main", "core-hours", "io")  # objectives that are the time of a run or of a part of it
_COMMAND_LIMIT_S = 600
_MOST_BYTES = 64 << 20  # part of the output's end that is searched for a number


@dataclass(frozen=True)
class Objective:
    """Number that the search minimises; the reciprocal of a number that is to be maximised."""

    text: str = "wall"  # argument of --objective
    pattern: str = ""  # "output:REGEX": last number in the first group of the last match, or in the match
    command: str = ""  # "command:CMD": last number printed by a command that runs in the trial's directory
    maximise: bool = False


def check_pattern(pattern: str, option: str) -> str:
    """Return the regular expression of an option. Raises MpiricError for an invalid one."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise MpiricError(
            f"{option}: {pattern!r} is not a regular expression: {error}",
            hint="put a backslash before characters such as ( [ * + ? . to match them",
        ) from error
    return pattern


def parse_objective(text: str, *, maximise: bool = False) -> Objective:
    """Parse ``wall``, ``main``, ``io``, ``core-hours``, ``output:REGEX`` or ``command:CMD``.

    Raises MpiricError for anything else.
    """
    kind, colon, argument = text.partition(":")
    if kind == "output" and colon:
        check_pattern(argument, "--objective")
        return Objective(text, pattern=argument, maximise=maximise)
    if kind == "command" and argument.strip():
        return Objective(text, command=argument, maximise=maximise)
    if text in TIMES:
        if maximise:
            raise MpiricError(
                f"--maximise cannot be combined with the objective {text}", hint="leave --maximise out"
            )
        return Objective(text)
    raise MpiricError(
        f"unknown objective {text!r}",
        hint="one of wall, main, core-hours, io, "
        "'output:Rate (.*) ns/day' (with --maximise), command:./score.sh",
    )


@dataclass(frozen=True)
class Place:
    """Directory and environment of a run; ``enter`` brings a child process into a mounted directory."""

    directory: Path
    environment: Mapping[str, str]
    enter: Callable[[], None] | None = None


def value_of(objective: Objective, time_s: float, cores: int, stdout: Path, place: Place) -> float:
    """Return the objective of one trial. Raises MpiricError if the trial has none.

    ``time_s`` is the time of the complete run, of its main part, or from one mark to the next.
    """
    if objective.pattern:
        value = _value_in_output(objective.pattern, stdout)
    elif objective.command:
        value = _value_of_command(objective.command, stdout, place)
    else:
        return time_s * cores / 3600.0 if objective.text == "core-hours" else time_s
    if value <= 0:
        raise MpiricError(
            f"the objective is {value:g}, and must be above 0", hint="choose another number with --objective"
        )
    return 1.0 / value if objective.maximise else value


def shown(objective: Objective, value: float) -> float:
    """Return a value as the user knows it, without the reciprocal."""
    return 1.0 / value if objective.maximise else value


def _value_in_output(pattern: str, stdout: Path) -> float:
    with stdout.open("rb") as file:
        file.seek(max(0, stdout.stat().st_size - _MOST_BYTES))
        text = file.read().decode(errors="replace")
    match = None
    for match in re.finditer(pattern, text, re.MULTILINE):  # noqa: B007
        pass
    number = None if match is None else match.group(1 if match.re.groups else 0)
    return _number(number or "", f"the output has no number that matches {pattern!r}")


def _value_of_command(command: str, stdout: Path, place: Place) -> float:
    try:
        done = run_in_shell(
            command,
            directory=place.directory,
            environment={**place.environment, "MPIRIC_STDOUT": str(stdout)},
            limit_s=_COMMAND_LIMIT_S,
            enter=place.enter,
        )
    except CommandLate:
        raise MpiricError(
            f"the objective's command {sh_word(command)} did not end in {_COMMAND_LIMIT_S} s",
            hint="use a quicker command",
        ) from None
    if done.returncode != 0:
        raise MpiricError(
            f"the objective's command {sh_word(command)} ended with status {done.returncode}",
            hint="try it in the directory of the program, with $MPIRIC_STDOUT as a file with its output",
        )
    return _number(done.stdout, f"the objective's command {sh_word(command)} printed no number")


def _number(text: str, error: str) -> float:
    numbers = re.findall(_NUMBER, text)
    if not numbers:
        raise MpiricError(error, hint="compare --objective with the output of the program")
    return float(numbers[-1].lower().replace("d", "e"))


_MOST_RUNS = 100_000


@dataclass
class Budget:
    """Time and runs that may still be spent; None: no limit."""

    seconds: float | None = None
    runs: int | None = None
    clock: Callable[[], float] = field(default_factory=lambda: time.monotonic)
    reserve_s: Callable[[], float] = lambda: 0.0  # seconds that are reserved for later, as of now
    runs_done: int = 0
    spent_s: float = 0.0  # seconds spent before this object was created
    _started: float = field(init=False)

    def __post_init__(self) -> None:
        self._started = self.clock()

    @property
    def elapsed_s(self) -> float:
        """Return the seconds since the object was created, plus those spent before."""
        return self.spent_s + self.clock() - self._started

    @property
    def remaining_s(self) -> float:
        """Return the remaining seconds, never below 0; infinite without a limit."""
        if self.seconds is None:
            return float("inf")
        return max(0.0, self.seconds - self.elapsed_s - self.reserve_s())

    @property
    def remaining_runs(self) -> int | None:
        """Return the remaining runs; None without a limit."""
        return None if self.runs is None else max(0, self.runs - self.runs_done)

    def spend(self, runs: int = 1) -> None:
        """Count runs."""
        self.runs_done += runs

    def fits(self, run_s: float, runs: int = 1) -> bool:
        """Return whether ``runs`` more runs of about ``run_s`` seconds each fit."""
        return (
            self.remaining_runs is None or self.remaining_runs >= runs
        ) and self.remaining_s >= run_s * runs

    def runs_that_fit(self, run_s: float) -> int:
        """Return the number of runs of about ``run_s`` seconds that fit, at most 100,000."""
        by_time = _MOST_RUNS if self.seconds is None or run_s <= 0 else int(self.remaining_s / run_s)
        by_runs = _MOST_RUNS if self.remaining_runs is None else self.remaining_runs
        return max(0, min(_MOST_RUNS, by_time, by_runs))
