"""Jobs of the scheduler that run a command of mpiric on other nodes and leave its JSON answer in a file."""

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from mpiric.host.files import LARGEST_TEXT_BYTES, read_bounded
from mpiric.host.host import Host
from mpiric.host.owned_files import write_whole
from mpiric.host.packaged import own_command
from mpiric.model.batch import BatchJob
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError, MpiricError, writing
from mpiric.model.json_text import parse_json
from mpiric.model.quoting import directive, sh_command, sh_word
from mpiric.schedulers import BatchScheduler, JobRequest, Patience, SubmitSettings
from mpiric.tuning.store import default_store, make_directory

_FEW = 8  # number of jobs up to which each change of their states is reported


@dataclass(frozen=True)
class CommandJob:
    """Command of mpiric that prints JSON, and the resources of its job."""

    name: str  # unique among the jobs; also the name of its files
    arguments: tuple[str, ...]  # command line after `mpiric`
    resources: JobRequest


@dataclass(frozen=True)
class JobAnswer:
    """Result of a job."""

    job: str  # id of the scheduler, "" if it refused the job
    output: Path
    answer: Mapping[str, Any]  # {} with a problem
    problem: str = ""


@dataclass(frozen=True)
class JobSeries:
    """Jobs that start in the same directory."""

    verb: str  # command of mpiric, for the names of the jobs
    jobs: tuple[CommandJob, ...]
    working_directory: str
    options: tuple[str, ...] = ()  # further options in the scheduler's syntax


def run_in_jobs(
    series: JobSeries,
    scheduler: BatchScheduler,
    host: Host,
    say: Callable[[str], None],
    patience: Patience | None = None,
) -> dict[str, JobAnswer]:
    """Submit all jobs, follow them to their ends, and return the answers by name.

    A job that the scheduler refuses has a problem; MismatchError is raised if it refuses all of them. Ctrl-C
    cancels the jobs that have not ended; the answers of the others are returned if there are any.
    """
    directory = default_store() / f"{series.verb}-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}"
    names: dict[str, str] = {}  # id of a job → its name
    problems: dict[str, str] = {}  # name → reason
    over: set[str] = set()
    try:
        with writing(directory, "set XDG_STATE_HOME"):
            make_directory(directory)
            for job in series.jobs:
                identity, refusal = _submit(job, series, scheduler, host, directory)
                if identity:
                    names[identity] = job.name
                else:
                    problems[job.name] = refusal
        if not names:
            raise MismatchError(next(iter(problems.values()), "no jobs were submitted"))
        for state in scheduler.follow(host, list(names), patience):
            _report(state, names[state.job], over, len(names), say)
            if state.is_over and not state.succeeded:
                word = state.state or state.stage.value
                problems[names[state.job]] = f"the job ended as {word} {state.reason}".strip()
    except BaseException as error:
        unfinished = [identity for identity in names if identity not in over]
        if unfinished:
            scheduler.cancel(host, unfinished)
        if not isinstance(error, KeyboardInterrupt) or not over:
            raise
        problems |= {names[identity]: "its job was cancelled" for identity in unfinished}
    identities = {name: identity for identity, name in names.items()}
    return {
        job.name: _answer(directory, job.name, identities.get(job.name, ""), problems.get(job.name, ""))
        for job in series.jobs
    }


def _report(state: BatchJob, name: str, over: set[str], count: int, say: Callable[[str], None]) -> None:
    """Report the state of a job, or of many jobs only their number, and note whether it has ended."""
    if state.is_over:
        over.add(state.job)
    if count <= _FEW:
        say(f"{name}: job {state.job} is {state.stage.value}")
    elif state.is_over:
        say(f"{len(over)} of {count} jobs ended")


def _submit(
    job: CommandJob, series: JobSeries, scheduler: BatchScheduler, host: Host, directory: Path
) -> tuple[str, str]:
    """Return the id of the job, or "" and why the scheduler refuses it."""
    of_job = scheduler.override(scheduler.options(job.resources), series.options)
    options = (*scheduler.fixed_options, *of_job)
    command = sh_command([*own_command(host.python), *job.arguments])
    lines = (
        "#!/bin/sh",
        *(directive(scheduler.directive, option) for option in options),
        f"cd {sh_word(series.working_directory)} || exit 1",
        f"exec {command} > {sh_word(str(directory / job.name))}.json",
    )
    script = directory / f"{job.name}.sh"
    write_whole(script, ("\n".join(lines) + "\n").encode())
    settings = SubmitSettings(
        name=f"mpiric-{series.verb}-{job.name}",
        log=f"{directory / job.name}.log",
        mark=f"mpiric-{directory.name}-{job.name}",
    )
    try:
        return scheduler.submit(host, str(script), settings), ""
    except MismatchError as error:
        return "", error.message


def _answer(directory: Path, name: str, job: str, problem: str) -> JobAnswer:
    output, log = directory / f"{name}.json", directory / f"{name}.log"
    answer: Mapping[str, Any] = {}
    if not problem:
        try:
            answer = parse_json(read_bounded(output, "answer", LARGEST_TEXT_BYTES))
        except (ValueError, MpiricError) as error:
            problem = f"it left no answer ({error})"
    if problem and job:
        problem = f"{problem.strip()}; see {log}"
    return JobAnswer(job, output, answer, problem)
