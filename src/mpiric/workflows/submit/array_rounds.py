"""Rounds of runs in job arrays of a submission: their files and their submission.

``rounds/N/plan.json`` contains the blocks of round N; element K of its array works in ``rounds/N/K`` and
creates ``rounds/N/K.done``. Round 0 has no array: one job observes the command and plans the first round.
With each array a job is submitted that starts after the end of the array, for any reason: it plans the next
round unless the last element has done so. These files are sufficient to continue from anywhere.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpiric.host.files import is_file
from mpiric.host.host import Host
from mpiric.host.owned_files import append, write_text
from mpiric.model.batch import End, Spread
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError, MpiricError
from mpiric.model.json_text import parse_json
from mpiric.model.run import Phase, Run
from mpiric.schedulers import (
    JOBS,
    LOG,
    ROUNDS,
    SCRIPT,
    BatchScheduler,
    Patience,
    array_settings,
    element_of,
    installed_batch_scheduler,
    job_settings,
    name_of,
)
from mpiric.statistics.blocks import deal


@dataclass(frozen=True)
class ArrayRound:
    """Round of a submission."""

    submission: Path  # directory of the submission
    number: int

    @property
    def path(self) -> Path:
        """Return the directory of its files."""
        return self.submission / ROUNDS / str(self.number)

    @property
    def next(self) -> "ArrayRound":
        """Return the next round."""
        return replace(self, number=self.number + 1)

    @property
    def is_planned(self) -> bool:
        """Return whether its blocks are known."""
        return is_file(self.path / "plan.json")

    @property
    def is_submitted(self) -> bool:
        """Return whether its array is submitted."""
        return is_file(self.path / "submitted")

    @property
    def array(self) -> str:
        """Return the id of its array, "" before it is submitted."""
        return (self.path / "submitted").read_text() if self.is_submitted else ""

    @property
    def size(self) -> int:
        """Return the number of blocks; 0 for round 0."""
        return len(self._plan())

    def plan(self, blocks: Sequence[Sequence[Run]]) -> None:
        """Write the blocks of its elements; blocks without runs are for work that plans itself."""
        document = [
            [
                {
                    "configuration": run.configuration.as_dict(),
                    "phase": run.phase.value,
                    "pair": run.pair,
                    "limit_s": run.limit_s,
                    "replicate": run.replicate,
                }
                for run in block
            ]
            for block in blocks
        ]
        write_text(self.path / "plan.json", json.dumps(document))

    def block(self, element: int) -> tuple[Run, ...]:
        """Return the runs of one element."""
        return tuple(
            Run(
                Configuration.of({str(knob): str(value) for knob, value in run["configuration"].items()}),
                Phase(run["phase"]),
                int(run["pair"]),
                run["limit_s"],
                int(run.get("replicate", 0)),
            )
            for run in self._plan()[element]
        )

    def _plan(self) -> list[list[dict[str, Any]]]:
        path = self.path / "plan.json"
        plan: list[list[dict[str, Any]]] = parse_json(path.read_bytes()) if is_file(path) else []
        return plan

    def directory(self, element: int | None) -> Path:
        """Return the working directory of an element, or of the job after the array."""
        return self.path / ("after" if element is None else str(element))

    def finish(self, element: int) -> None:
        """Record that an element has completed its block."""
        write_text(self.path / f"{element}.done", "")

    def is_finished(self, element: int) -> bool:
        """Return whether an element has completed its block."""
        return is_file(self.path / f"{element}.done")

    @property
    def is_complete(self) -> bool:
        """Return whether all elements have completed their blocks."""
        return all(map(self.is_finished, range(self.size)))

    def tell(self, text: str) -> None:
        """Write a line for the process that follows the submission."""
        try:
            append(self.submission / LOG, f"  {text}\n")
        except OSError:
            return  # the next writer will report the error


def round_of(submission: Path | None, number: int) -> ArrayRound:
    """Return the round of a job. Raises MpiricError if the submission does not exist."""
    array_round = ArrayRound(submission.absolute(), number) if submission else None
    if (
        array_round is None
        or not is_file(array_round.submission / SCRIPT)
        or (number and not array_round.is_planned)
    ):
        raise MpiricError("--round is for the jobs of --submit --array", hint="remove it")
    return array_round


def latest(submission: Path) -> ArrayRound:
    """Return the last planned round."""
    array_round = ArrayRound(submission, 0)
    while array_round.next.is_planned:
        array_round = array_round.next
    return array_round


def submit_round(
    array_round: ArrayRound,
    spread: Spread,
    host: Host,
    say: Callable[[str], None],
    patience: Patience | None = None,
) -> None:
    """Submit a round: its array, unless it was submitted before, and the job after it."""
    scheduler = installed_batch_scheduler(host)
    directory, number = array_round.submission, array_round.number
    script, name, array = str(directory / SCRIPT), name_of(directory), ""
    if array_round.is_planned and not array_round.is_submitted:
        array = scheduler.find(host, f"{name}-{number}", patience)
        array = array or _submit_array(array_round, spread, scheduler, host, say, patience)
        _remember(array_round, scheduler.elements(array, array_round.size))
        write_text(array_round.path / "submitted", array)
        say(f"round {number}: {array_round.size} jobs submitted as array {array}")
    mark = f"{name}-after-{number}-{len(known_jobs(directory))}"
    after = scheduler.submit(host, script, job_settings(directory, mark, number, array), patience)
    _remember(array_round, [after])
    if array:
        write_text(array_round.path / "after.job", after)
    else:
        say(f"submitted as job {after}; it continues if this command is interrupted")


def _submit_array(
    array_round: ArrayRound,
    spread: Spread,
    scheduler: BatchScheduler,
    host: Host,
    say: Callable[[str], None],
    patience: Patience | None,
) -> str:
    """Submit an array with as many elements as the scheduler permits; return its id."""
    directory, number = array_round.submission, array_round.number
    mark, count = f"{name_of(directory)}-{number}", min(array_round.size, max(1, scheduler.array_limit(host)))
    while True:
        if count < array_round.size:
            runs = [run for element in range(array_round.size) for run in array_round.block(element)]
            array_round.plan(deal(runs, count) if runs else [()] * count)
        array_round.path.mkdir(parents=True, exist_ok=True)  # directory for the logs of its elements
        settings = array_settings(directory, mark, number, count, spread.at_once)
        try:
            return scheduler.submit(host, str(directory / SCRIPT), settings, patience)
        except MismatchError as error:
            if count == 1 or not any(text in error.message for text in scheduler.too_many):
                raise
        say(f"{scheduler.title} takes no array of {count} jobs here: fewer")
        count //= 2


def is_double(array_round: ArrayRound, host: Host) -> bool:
    """Return whether this is an element of an array that another process submitted at the same time."""
    if element_of(host.environ) is None or not array_round.is_submitted:
        return False
    scheduler = installed_batch_scheduler(host)
    return scheduler.own_job(host.environ) not in scheduler.elements(array_round.array, array_round.size)


def drop_after(array_round: ArrayRound, host: Host) -> None:
    """Cancel the job after a round's array, because an element has done its work."""
    path = array_round.path / "after.job"
    if is_file(path):
        installed_batch_scheduler(host).cancel(host, [path.read_text()])


def was_cancelled(array_round: ArrayRound, host: Host) -> bool:
    """Return whether the remaining elements of the array before this job were cancelled.

    A job that was submitted later to continue does not check this.
    """
    path = array_round.path / "after.job"
    scheduler = installed_batch_scheduler(host)
    if not is_file(path) or scheduler.own_job(host.environ) != path.read_text():
        return False
    elements = scheduler.elements(array_round.array, array_round.size)
    unfinished = [job for element, job in enumerate(elements) if not array_round.is_finished(element)]
    states = scheduler.look(host, unfinished).values() if unfinished else ()
    return any(state.end is End.CANCELLED for state in states)


def known_jobs(submission: Path) -> tuple[str, ...]:
    """Return the ids of all jobs of a submission, in order."""
    try:
        return tuple((submission / JOBS).read_text().split())
    except OSError:
        return ()


def _remember(array_round: ArrayRound, ids: Sequence[str]) -> None:
    append(array_round.submission / JOBS, "".join(f"{job}\n" for job in ids))
