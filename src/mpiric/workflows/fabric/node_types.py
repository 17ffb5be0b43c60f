"""`mpiric fabric` on each node type of a cluster, with separate jobs."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mpiric.host.host import Host
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.schedulers import JobRequest, installed_batch_scheduler
from mpiric.workflows.fabric.cluster_jobs import CommandJob, JobSeries, run_in_jobs
from mpiric.workflows.fabric.fabric import FabricRequest

_NODES = 2  # sufficient for a pair


@dataclass(frozen=True)
class NodeType:
    """Nodes with equal features, and the measurements on two of them."""

    features: str
    nodes: int
    job: str
    output: Path  # the answer of `mpiric fabric --json`: a baseline for `mpiric history --against`
    answer: Mapping[str, Any]
    problem: str = ""


def examine_cluster(
    request: FabricRequest,
    host: Host,
    say: Callable[[str], None],
    partition: str = "",
    ranks_per_node: int = 1,
) -> tuple[NodeType, ...]:
    """Submit a job for each type, follow the jobs, read the results."""
    scheduler = installed_batch_scheduler(host)
    types = scheduler.node_types(host, partition)
    if not types:
        raise MpiricError(f"{scheduler.title} names no nodes", hint="--partition names another partition")
    rounds = ("--rounds", str(request.rounds), "--keep", str(max(request.keep, 6)))
    command = ("fabric", "--json", *rounds, "--limit", f"{request.limit_s:g}s", "--", *request.argv)
    jobs = [
        CommandJob(
            _name(features),
            command,
            JobRequest(
                nodes=min(_NODES, count),
                ranks_per_node=ranks_per_node,
                partition=partition,
                features=features,
            ),
        )
        for features, count in types.items()
    ]
    series = JobSeries("fabric", tuple(jobs), request.working_directory)
    answers = run_in_jobs(series, scheduler, host, say)
    return tuple(
        NodeType(features, count, result.job, result.output, result.answer, result.problem)
        for features, count in types.items()
        for result in (answers[_name(features)],)
    )


def _name(features: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in features) or "any"
