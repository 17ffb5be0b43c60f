"""Series of explored jobs: one program, arguments, size and recipe, recorded in a ledger."""

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
from mpiric.model.evidence import Fingerprint, Recipe
from mpiric.model.job import Job
from mpiric.profile.marks import read_marks
from mpiric.schedulers import batch_scheduler_here
from mpiric.tuning.events import read_log
from mpiric.tuning.exploration import (
    VERSION,
    ExploredJob,
    JobEnd,
    Ledger,
    Side,
    end_fields,
    read_ledger,
)
from mpiric.tuning.mark_split import pace_of
from mpiric.tuning.store import EVENTS, Store, TuneLog, default_store, process_started
from mpiric.workflows.trials.users_lab import inputs_seen

_DIRECTORY = "explore"  # subdirectory of the store
_PATIENCE_S, _PAUSE_S = 30.0, 0.1  # wait for another job that writes into the ledger
_ENDS_BYTES = 1 << 20  # bytes at the beginning and the end of a large input that are compared


def series_directory(store: Path | None, fingerprint: Fingerprint, recipe: Recipe) -> Path:
    """Return the directory of the ledger for a program, size, library and recipe."""
    mark = recipe.marks.pair.option if recipe.marks else ""
    facts = [dict(fingerprint.program), dict(fingerprint.mpi), recipe.configuration.as_dict(), mark]
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    name = "".join(c if c.isalnum() or c in "._-" else "-" for c in recipe.name)[:40] or "program"
    return (store or default_store()).absolute() / _DIRECTORY / f"{name}-{digest}"


def all_series(store: Path | None) -> tuple[Path, ...]:
    """Return the directories of all ledgers, ordered by the time of the last change."""
    paths = ((store or default_store()) / _DIRECTORY).glob(f"*/{EVENTS}")
    return tuple(
        path.parent for path in sorted(filter(is_file, paths), key=lambda path: path.stat().st_mtime)
    )


def ledger_in(directory: Path) -> Ledger:
    """Read the ledger of a series."""
    return read_ledger(read_log(directory / EVENTS))


@contextmanager
def open_ledger(directory: Path, **meta: object) -> Iterator[TuneLog]:
    """Open and lock a ledger. Raises MpiricError if it stays locked or cannot be written."""
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


def digest_of_inputs(job: Job, more: Iterable[str] = ()) -> str:
    """Return a digest of the inputs: size, beginning and end of each file.

    The inputs are the existing files that the command names, and ``more``.
    """
    state = hashlib.sha256()
    for word in sorted({*inputs_seen(job), *more}):
        path = Path(job.working_directory, word)
        if not is_file(path):
            continue
        state.update(f"{word}\0{path.stat().st_size}\0".encode(errors="surrogateescape"))
        with path.open("rb") as file:
            state.update(file.read(_ENDS_BYTES))
            file.seek(max(file.tell(), path.stat().st_size - _ENDS_BYTES))
            state.update(file.read(_ENDS_BYTES))
    return state.hexdigest()[:16]


def beginning_job(block: int, side: Side, inputs: str, directory: Path, host: Host) -> ExploredJob:
    """Describe a job that begins, with its process and scheduler job, by which its end is found later."""
    scheduler = batch_scheduler_here(host)
    scheduler_job = scheduler.own_job(host.environ) if scheduler else ""
    name = secrets.token_hex(6)
    return ExploredJob(
        name,
        block,
        side,
        inputs,
        host=socket.gethostname(),
        process=(os.getpid(), process_started(os.getpid())),
        scheduler=(scheduler.name if scheduler and scheduler_job else "", scheduler_job),
        directory=str(directory / name),
    )


def settle(log: TuneLog, host: Host) -> None:
    """Enter the ends of jobs that ended without an entry, as far as their step markers show them."""
    ledger = read_ledger(log.read())
    for job in ledger.jobs:
        if job.end is None and _is_gone(job, host):
            job_directory = log.path / job.job  # not the path in the ledger, which may have been edited
            try:
                marks = read_marks(job_directory)
            except MpiricError:
                marks = None
            pace = pace_of(marks, ledger.pair) if ledger.pair else None
            log.append("ended", end_fields(job.job, JobEnd(None, end_requested=True, pace=pace)))
            if marks is not None:
                shutil.rmtree(job_directory, ignore_errors=True)


def _is_gone(job: ExploredJob, host: Host) -> bool:
    if job.host == socket.gethostname():
        return process_started(job.process[0]) != job.process[1]
    scheduler, name = batch_scheduler_here(host), job.scheduler[1]
    if scheduler is None or not name or scheduler.name != job.scheduler[0]:
        return False  # cannot be found out
    try:
        return scheduler.look(host, [name])[name].is_over
    except (MpiricError, KeyError):
        return False
