"""A series: jobs of one program, arguments and size with one recipe; its ledger, and what enters it."""

import hashlib
import json
import os
import secrets
import shutil
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mpiric.host.files import is_file
from mpiric.host.host import Host
from mpiric.model.errors import MpiricError
from mpiric.model.job import Job
from mpiric.model.recipe import Fingerprint, Recipe
from mpiric.profile.marks import read_marks
from mpiric.schedulers import batch_scheduler_here
from mpiric.tuning.explore.evidence import Assignment
from mpiric.tuning.explore.ledger import VERSION, ExploredJob, JobEnd, Ledger, end_fields, read_ledger
from mpiric.tuning.marks.later_pace import pace_of
from mpiric.tuning.store.events import read_log
from mpiric.tuning.store.lock import process_started
from mpiric.tuning.store.store import EVENTS, Store, TuneLog, default_store
from mpiric.workflows.trials.seeing_mounts import inputs_seen

_DIRECTORY = "explore"  # of the store
_PATIENCE_S, _PAUSE_S = 30.0, 0.1  # for another job that writes into the ledger
_ENDS_BYTES = 1 << 20  # of a large input, at its begin and its end, that are looked at


def series_directory(store: Path | None, fingerprint: Fingerprint, recipe: Recipe) -> Path:
    """Directory of the ledger; another program, size, library or recipe has another."""
    mark = recipe.marks.pair.option if recipe.marks else ""
    facts = [dict(fingerprint.program), dict(fingerprint.mpi), recipe.configuration.as_dict(), mark]
    word = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    name = "".join(c if c.isalnum() or c in "._-" else "-" for c in recipe.name)[:40] or "program"
    return (store or default_store()).absolute() / _DIRECTORY / f"{name}-{word}"


def all_series(store: Path | None) -> tuple[Path, ...]:
    """Directories of all ledgers, the one written last at the end."""
    paths = ((store or default_store()) / _DIRECTORY).glob(f"*/{EVENTS}")
    return tuple(
        path.parent for path in sorted(filter(is_file, paths), key=lambda path: path.stat().st_mtime)
    )


def ledger_in(directory: Path) -> Ledger:
    """What a ledger says."""
    return read_ledger(read_log(directory / EVENTS))


@contextmanager
def open_ledger(directory: Path, **meta: object) -> Iterator[TuneLog]:
    """The ledger, for this process alone. Raises MpiricError where it stays locked or cannot be written."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            log = Store.part(directory, ledger=VERSION, **meta)
            break
        except MpiricError as error:
            if "another mpiric works on" not in error.message or time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)
    with log:
        yield log


def digest_of_inputs(job: Job, known: Iterable[str] = ()) -> str:
    """One word for the contents of the inputs; of large ones size, begin and end.

    These are the files that the command names and those that are ``known``, as far as they are there.
    """
    state = hashlib.sha256()
    for word in sorted({*inputs_seen(job), *known}):
        path = Path(job.working_directory, word)
        if not is_file(path):
            continue
        state.update(f"{word}\0{path.stat().st_size}\0".encode(errors="surrogateescape"))
        with path.open("rb") as file:
            state.update(file.read(_ENDS_BYTES))
            file.seek(max(file.tell(), path.stat().st_size - _ENDS_BYTES))
            state.update(file.read(_ENDS_BYTES))
    return state.hexdigest()[:16]


def beginning_job(place: Assignment, inputs: str, directory: Path, host: Host) -> ExploredJob:
    """A job that is about to begin, with what tells later whether it is still there."""
    scheduler = batch_scheduler_here(host)
    own = scheduler.own_job(host.environ) if scheduler else ""
    name = secrets.token_hex(6)
    return ExploredJob(
        name,
        place.block,
        place.side,
        inputs,
        host=socket.gethostname(),
        process=(os.getpid(), process_started(os.getpid())),
        scheduler=(scheduler.name if scheduler and own else "", own),
        directory=str(directory / name),
    )


def settle(log: TuneLog, jobs: tuple[ExploredJob, ...], host: Host) -> None:
    """Enter the ends of jobs that are gone without having told: as far as their marks say."""
    pair = read_ledger(log.read()).pair
    for job in jobs:
        if job.end is None and _is_gone(job, host):
            job_directory = log.path / job.job  # not where the ledger says: somebody may have edited it
            try:
                marks = read_marks(job_directory)
            except MpiricError:
                marks = None
            pace = pace_of(marks, pair) if pair else None
            log.append("ended", end_fields(job.job, JobEnd(None, end_requested=True, pace=pace)))
            if marks is not None:
                shutil.rmtree(job_directory, ignore_errors=True)


def _is_gone(job: ExploredJob, host: Host) -> bool:
    if job.host == socket.gethostname():
        return process_started(job.process[0]) != job.process[1]
    scheduler, name = batch_scheduler_here(host), job.scheduler[1]
    if scheduler is None or not name or scheduler.name != job.scheduler[0]:
        return False  # nobody can tell
    try:
        return scheduler.look(host, [name])[name].is_over
    except (MpiricError, KeyError):
        return False
