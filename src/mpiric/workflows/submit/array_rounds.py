"""Rounds of runs in the arrays of a submission: their files, and how they get into Slurm.

``rounds/N/plan.json`` holds the blocks of round N; element K of its array works in ``rounds/N/K`` and leaves
``rounds/N/K.done``. Round 0 has no array: one job that looks at the command and plans the first. With each
array goes a job that begins when the array is over, however that came about: it plans the next round unless
the last element to finish has done so. Nothing but these files is needed to go on, from wherever.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mpiric.host.host import Host
from mpiric.model.batch import Spread
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MismatchError, MpiricError, NoRoomError
from mpiric.model.trial import Phase
from mpiric.schedulers import _slurm_jobs as jobs
from mpiric.schedulers._slurm_submission import (
    GOES_ON,
    LOG,
    ROUNDS,
    SCRIPT,
    after_options,
    array_options,
    name_of,
)
from mpiric.tuning.blocks import Planned, deal

__all__ = [
    "GOES_ON",
    "JOBS",
    "ArrayRound",
    "drop_after",
    "element_of",
    "is_double",
    "known_jobs",
    "latest",
    "round_of",
    "submit_round",
    "was_cancelled",
]

JOBS = "jobs"  # ids of the jobs of a submission, one a line; an element of an array as 12_3
_ELEMENT = "SLURM_ARRAY_TASK_ID"
_TOO_MANY = ("array", "limit", "Limit")  # in what Slurm says of an array larger than it takes


@dataclass(frozen=True)
class ArrayRound:
    """One round of a submission."""

    submission: Path  # its directory
    number: int

    @property
    def place(self) -> Path:
        """Of its files."""
        return self.submission / ROUNDS / str(self.number)

    @property
    def next(self) -> "ArrayRound":
        """The one after it."""
        return replace(self, number=self.number + 1)

    @property
    def is_planned(self) -> bool:
        """Whether its blocks are known."""
        return (self.place / "plan.json").is_file()

    @property
    def is_submitted(self) -> bool:
        """Whether its array is with Slurm, or has been."""
        return (self.place / "submitted").is_file()

    @property
    def size(self) -> int:
        """How many blocks it has; round 0 has none."""
        return len(self._plan())

    def plan(self, blocks: Sequence[Sequence[Planned]]) -> None:
        """Say what its elements do; blocks without runs are of work that plans itself."""
        document = [
            [
                {
                    "configuration": run.configuration.as_dict(),
                    "phase": run.phase.value,
                    "pair": run.pair,
                    "limit_s": run.limit_s,
                }
                for run in block
            ]
            for block in blocks
        ]
        _write(self.place / "plan.json", json.dumps(document))

    def deal_anew(self, count: int) -> None:
        """Have as many blocks."""
        if count < self.size:
            runs = [run for element in range(self.size) for run in self.block(element)]
            self.plan(deal(runs, count) if runs else [()] * count)

    def block(self, element: int) -> tuple[Planned, ...]:
        """What one element does."""
        return tuple(
            Planned(
                Configuration.of({str(knob): str(value) for knob, value in run["configuration"].items()}),
                Phase(run["phase"]),
                int(run["pair"]),
                run["limit_s"],
            )
            for run in self._plan()[element]
        )

    def _plan(self) -> list[list[dict[str, Any]]]:
        path = self.place / "plan.json"
        plan: list[list[dict[str, Any]]] = json.loads(path.read_text("utf-8")) if path.is_file() else []
        return plan

    def directory(self, element: int | None) -> Path:
        """Where an element works, or the job after them."""
        return self.place / ("after" if element is None else str(element))

    def finish(self, element: int) -> None:
        """An element has done all of its block."""
        _write(self.place / f"{element}.done", "")

    def is_finished(self, element: int) -> bool:
        """Whether an element has."""
        return (self.place / f"{element}.done").is_file()

    @property
    def is_complete(self) -> bool:
        """Whether all of them have."""
        return all(map(self.is_finished, range(self.size)))

    def tell(self, text: str) -> None:
        """A line for whoever follows the submission."""
        try:
            with (self.submission / LOG).open("a", encoding="utf-8") as file:
                file.write(f"  {text}\n")
        except OSError:
            return  # the next one that writes there will say why


def round_of(submission: Path | None, number: int) -> ArrayRound:
    """The round that a job is of. Raises MpiricError where nothing of the kind was submitted."""
    array_round = ArrayRound(submission.absolute(), number) if submission else None
    if (
        array_round is None
        or not (array_round.submission / SCRIPT).is_file()
        or (number and not array_round.is_planned)
    ):
        raise MpiricError("--round is for the jobs of --submit --array", hint="leave it away")
    return array_round


def latest(submission: Path) -> ArrayRound:
    """The last round that was planned."""
    array_round = ArrayRound(submission, 0)
    while array_round.next.is_planned:
        array_round = array_round.next
    return array_round


def element_of(host: Host) -> int | None:
    """Which element of an array this process is; None for the job after one."""
    word = host.environ.get(_ELEMENT, "")
    return int(word) if word.isdigit() else None


def submit_round(
    array_round: ArrayRound,
    spread: Spread,
    host: Host,
    say: Callable[[str], None],
    patience: jobs.Patience | None = None,
) -> None:
    """Hand a round to Slurm: its array, unless that was done before, and the job after it."""
    script, name, array = str(array_round.submission / SCRIPT), name_of(array_round.submission), ""
    round_word = (str(array_round.number),)
    if array_round.is_planned and not array_round.is_submitted:
        mark = f"{name}-{array_round.number}"
        array = jobs.marked(host, mark, patience)
        for count in () if array else _sizes(array_round, host):
            array_round.deal_anew(count)
            options = array_options(array_round.submission, array_round.number, count, spread.at_once)
            array = _taken(host, script, options, patience, mark, round_word, last=count == 1)
            if array:
                break
            say(f"Slurm takes no array of {count} jobs here: fewer")
        _remember(array_round, [f"{array}_{element}" for element in range(array_round.size)])
        _write(array_round.place / "submitted", array)
        say(f"round {array_round.number}: {array_round.size} jobs submitted as array {array}")
    mark = f"{name}-after-{array_round.number}-{len(known_jobs(array_round.submission))}"
    options = after_options(array_round.submission, array)
    after = jobs.submit(host, script, options, patience, mark, round_word)
    _remember(array_round, [after])
    if array:
        _write(array_round.place / "after.job", after)
    else:
        say(f"submitted as job {after}; it goes on when this is ended")


def is_double(array_round: ArrayRound, host: Host) -> bool:
    """Whether this is an element of an array submitted a second time, by somebody else at the same moment."""
    own = host.environ.get("SLURM_ARRAY_JOB_ID", "")
    return bool(own) and array_round.is_submitted and (array_round.place / "submitted").read_text() != own


def drop_after(array_round: ArrayRound, host: Host) -> None:
    """The job after a round's array is needed no more: an element has done its work."""
    path = array_round.place / "after.job"
    if path.is_file():
        jobs.cancel(host, [path.read_text()])


def was_cancelled(array_round: ArrayRound, host: Host) -> bool:
    """Whether this job, come after an array, finds that somebody has cancelled what was left of it.

    One that was submitted later, because somebody asked to go on, does not look.
    """
    path = array_round.place / "after.job"
    if not path.is_file() or host.environ.get("SLURM_JOB_ID") != path.read_text():
        return False
    array = (array_round.place / "submitted").read_text()
    left = [
        f"{array}_{element}" for element in range(array_round.size) if not array_round.is_finished(element)
    ]
    seen = jobs.look(host, left).values() if left else ()
    return any(each.word.startswith("CANCELLED") for each in seen)


def _sizes(array_round: ArrayRound, host: Host) -> list[int]:
    """Numbers of elements to try, until Slurm's limits allow one."""
    sizes = [min(array_round.size, max(1, jobs.most_elements(host) - 1))]
    while sizes[-1] > 1:
        sizes.append(sizes[-1] // 2)
    return sizes


def _taken(
    host: Host,
    script: str,
    options: Sequence[str],
    patience: jobs.Patience | None,
    mark: str,
    arguments: Sequence[str],
    *,
    last: bool,
) -> str:
    """The array's id; "" when Slurm does not take one of that size."""
    try:
        return jobs.submit(host, script, options, patience, mark, arguments)
    except MismatchError as error:
        if last or not any(word in error.message for word in _TOO_MANY):
            raise
        return ""


def known_jobs(submission: Path) -> tuple[str, ...]:
    """Ids of all jobs of a submission, in order."""
    try:
        return tuple((submission / JOBS).read_text().split())
    except OSError:
        return ()


def _remember(array_round: ArrayRound, ids: Sequence[str]) -> None:
    with (array_round.submission / JOBS).open("a") as file:
        file.write("".join(f"{job}\n" for job in ids))


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise NoRoomError(f"cannot write {path}: {error.strerror}") from error
