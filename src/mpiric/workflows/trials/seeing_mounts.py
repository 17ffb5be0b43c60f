"""Directories of trials: visibility of mpiric's overlay mounts in a launch, and input files of a command."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mpiric import launchers
from mpiric.host.files import is_file
from mpiric.host.host import Host
from mpiric.host.isolation.working_copies import CopyPolicy, WorkingCopies
from mpiric.host.processes.execution import Runner
from mpiric.lab.recording import Recorded
from mpiric.model.errors import MpiricError
from mpiric.model.job import Job
from mpiric.schedulers import find_allocation
from mpiric.workflows.launch.parse_job import ParsedJob


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
