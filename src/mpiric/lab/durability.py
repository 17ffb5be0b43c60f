"""Durability of a run's output: it is synchronised on every node that may hold some of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mpiric.host.files import exists
from mpiric.host.isolation.page_cache import drop_cached, make_safe
from mpiric.host.isolation.working_copies import TrialDirectory
from mpiric.host.processes.captured import CommandLate, run_captured
from mpiric.lab.other_program import line_without_program
from mpiric.model.errors import MpiricError
from mpiric.model.job import Job
from mpiric.model.quoting import sh_command

_SMALL_BYTES = 1 << 20  # smaller amounts do not justify a launch on all nodes
_LIMIT_S = 600.0
# Each rank: time to synchronise its node's pages, in ns. `dd` drops a file's pages by fadvise.
_SCRIPT = (
    "begun=$(date +%s%N); sync -f . || exit 1; over=$(date +%s%N); "
    'for file; do dd if="$file" iflag=nocache count=0 status=none 2>/dev/null; done; '
    'echo "safe $((over - begun))"'
)


@dataclass(frozen=True)
class DurableFiles:
    """Output of a run: bytes in files that it created or changed, and the time until they were stored."""

    size_bytes: int
    until_safe_s: float


def make_durable(
    job: Job, nodes: int, directory: TrialDirectory, *, cold: tuple[str, ...] = (), read_back: bool = False
) -> DurableFiles:
    """Flush the output of a run to the servers; on several nodes with a launch that runs `sync` on each.

    The start of that launch does not count: each rank reports the duration on its node. It also drops the
    cached pages of the files ``cold``. With ``read_back`` later reads of the run's files come from the
    servers.

    Raises OSError if bytes were lost, MpiricError if the nodes cannot be reached.
    """
    files = list(directory.written().values())
    size_bytes = sum(path.stat().st_size for path in files if exists(path))
    local_s = make_safe(files)
    if read_back:
        drop_cached(files)
    if nodes <= 1 or size_bytes < _SMALL_BYTES or directory.mount is not None:
        return DurableFiles(size_bytes, local_s)
    return DurableFiles(size_bytes, local_s + _on_nodes(job, directory.path, cold))


def cool(directory: TrialDirectory, inputs: Iterable[str]) -> None:
    """Evict inputs from this node's page cache, so that the next run reads them from the servers."""
    drop_cached(directory.where(path) for path in inputs)


def _on_nodes(job: Job, directory: Path, cold: tuple[str, ...]) -> float:
    argv = [*line_without_program(job), "sh", "-c", _SCRIPT, "sh", *cold]
    try:
        done = run_captured(argv, directory=directory, environment=job.environment, limit_s=_LIMIT_S)
    except (OSError, CommandLate) as error:
        raise MpiricError(f"the nodes cannot be asked to synchronise: {error}") from error
    took = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("safe ")]
    if done.returncode != 0 or not took:
        raise MpiricError(
            f"`{sh_command(argv[:3])} … sync` failed on the nodes: {done.stderr.strip()[-200:]}"
        )
    return max(int(word) for word in took if word.isdigit()) / 1e9
