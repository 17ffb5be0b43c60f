"""Directories of runs: of trials, and the lab of verbs that run in the user's directory without output."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from mpiric import launchers
from mpiric.host.files import exists, is_file
from mpiric.host.host import Host
from mpiric.host.isolation.working_copies import CopyPolicy, WorkingCopies
from mpiric.host.processes.execution import Runner
from mpiric.lab.directory_runs import Recorded, UsersDirectory
from mpiric.lab.judge import Judge
from mpiric.lab.lab import Lab
from mpiric.lab.probes import Probe
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.job import Job, Spelling
from mpiric.model.run import Trial
from mpiric.model.situation import Situation
from mpiric.schedulers import find_allocation
from mpiric.tuning.objective import Objective
from mpiric.tuning.store import Store
from mpiric.workflows.launch.nodes import cleaned_nodes
from mpiric.workflows.launch.parse_job import ParsedJob


@dataclass(frozen=True)
class PrintingRun(Probe):
    """A run whose output is read, with further variables and libraries for its ranks."""

    around: Spelling = field(default_factory=Spelling)
    keeps_output = True

    def spelling(self) -> Spelling:
        """Return the additional variables and libraries."""
        return self.around


@contextmanager
def users_lab(situation: Situation, host: Host) -> Iterator[Lab]:
    """Make the lab; leftovers of ended runs on the nodes are removed."""
    job = situation.job
    with (
        tempfile.TemporaryDirectory(prefix="mpiric-") as place,
        Store(Path(place)).create("runs", "runs", job.argv) as log,
        cleaned_nodes(job, situation.nodes, host) as after_ended_run,
        Runner() as runner,
    ):
        lab = Lab(runner, UsersDirectory(Path(job.working_directory), {}), log, Judge(Objective()))
        lab.situation, lab.after_ended_run = situation, after_ended_run
        yield lab


def printed(trial: Trial) -> str:
    """Return the output of a run, standard error first; "" for a run that was not started."""
    paths = [Path(path) for path in (trial.stderr, trial.stdout) if path]
    return "\n".join(path.read_text(errors="replace") for path in paths if exists(path))


@contextmanager
def trial_directories(
    parsed: ParsedJob, store: Path, runner: Runner, host: Host, *, in_place: bool
) -> Iterator[WorkingCopies]:
    """Make the directories of trials: overlays if every process of the launch sees them, else copies."""
    policy = CopyPolicy(
        in_place,
        on_this_node=parsed.nodes == 1,
        mounter=runner if sees_mounts(parsed, host) else None,
        temporary=("/tmp", "/dev/shm", *filter(None, [host.environ.get("TMPDIR")])),  # noqa: S108
    )
    with WorkingCopies(Path(parsed.job.working_directory), store, policy) as copies:
        copies.depend_on(inputs_seen(parsed.job))
        yield copies


def sees_mounts(parsed: ParsedJob, host: Host) -> bool:
    """Return whether all ranks are descendants of the keeper process, which holds the mounts.

    Ranks on other nodes, in containers or started by daemons are not. Within an allocation launchers start
    ranks through the daemons of the scheduler, also on this node, and ranks on named hosts through ssh.
    """
    job = parsed.job
    if job.container is not None or parsed.nodes != 1 or launchers.named_hosts(job):
        return False
    if job.launcher_words and launchers.dialects()[job.dialect].neutral:
        return False
    try:
        return not find_allocation(host).job
    except MpiricError:
        return False  # an inconsistent allocation


def inputs_seen(job: Job, recorded: Sequence[Recorded] = ()) -> tuple[str, ...]:
    """Return possible inputs: files named in the command, its standard input, files that ranks read."""
    paths = [path for word in (*job.argv, job.stdin) for path in (word, word.partition("=")[2])]
    named = [
        path
        for path in paths
        if path and not path.startswith("-") and is_file(Path(job.working_directory, path))
    ]
    files = (file for run in recorded for rank in run.record.ranks for file in rank.files)
    return (*named, *(file.path for file in files if file.reads and not file.writes))
