"""Objective: what the search makes small: a time, core-hours, a printed number, a command's answer."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mpiric.host.processes.captured import CommandLate, run_in_shell
from mpiric.model.errors import MpiricError
from mpiric.model.quoting import sh_word

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?"
TIMES = ("wall", "main", "core-hours", "io")  # objectives that are the time of a run, or of a part of it
_COMMAND_LIMIT_S = 600
_MOST_BYTES = 64 << 20  # a number is looked for in this much of the output's end


@dataclass(frozen=True)
class Objective:
    """What the search makes small, ``text`` as the user wrote it; of what is to be large, the reciprocal."""

    text: str = "wall"
    pattern: str = ""  # of "output:REGEX": the last match counts, its first group or else its first number
    command: str = ""  # of "command:CMD": run in the trial's directory, the last number it prints counts
    maximise: bool = False


def parse_objective(text: str, *, maximise: bool = False) -> Objective:
    """Read ``wall``, ``main``, ``io``, ``core-hours``, ``output:REGEX``, ``command:CMD``.

    Raises MpiricError for anything else.
    """
    kind, colon, rest = text.partition(":")
    if kind == "output" and colon:
        try:
            re.compile(rest)
        except re.error as error:
            raise MpiricError(f"--objective: {rest!r} is no regular expression: {error}") from error
        return Objective(text, pattern=rest, maximise=maximise)
    if kind == "command" and rest.strip():
        return Objective(text, command=rest, maximise=maximise)
    if text in TIMES:
        if maximise:
            raise MpiricError(f"--maximise makes no sense with the objective {text}")
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
    """The value of one trial, to be made small. Raises MpiricError when the trial shows none.

    ``time_s`` is the time that counts: of the whole run, of its main part, or from one mark to the next.
    """
    if objective.pattern:
        value = _captured(objective.pattern, stdout)
    elif objective.command:
        value = _answered(objective.command, stdout, place)
    else:
        return time_s * cores / 3600.0 if objective.text == "core-hours" else time_s
    if value <= 0:
        raise MpiricError(f"the objective came out as {value:g}; ratios need a number above 0")
    return 1.0 / value if objective.maximise else value


def shown(objective: Objective, value: float) -> float:
    """A value as the user means it: the reciprocal taken back."""
    return 1.0 / value if objective.maximise else value


def _captured(pattern: str, stdout: Path) -> float:
    with stdout.open("rb") as file:
        file.seek(max(0, stdout.stat().st_size - _MOST_BYTES))
        text = file.read().decode(errors="replace")
    found = None
    for found in re.finditer(pattern, text, re.MULTILINE):  # noqa: B007
        pass
    words = None if found is None else (found.group(1) if found.re.groups else found.group(0))
    return _number(words or "", f"the output has no number that matches {pattern!r}")


def _answered(command: str, stdout: Path, place: Place) -> float:
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
            f"the objective's command {sh_word(command)} did not end in {_COMMAND_LIMIT_S} s"
        ) from None
    if done.returncode != 0:
        raise MpiricError(f"the objective's command {sh_word(command)} ended with status {done.returncode}")
    return _number(done.stdout, f"the objective's command {sh_word(command)} printed no number")


def _number(text: str, otherwise: str) -> float:
    numbers = re.findall(_NUMBER, text)
    if not numbers:
        raise MpiricError(otherwise)
    return float(numbers[-1].lower().replace("d", "e"))
