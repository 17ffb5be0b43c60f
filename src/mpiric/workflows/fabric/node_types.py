"""`mpiric fabric` on each node type of a cluster, with separate jobs."""

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from mpiric.host.files import LARGEST_TEXT_BYTES, read_bounded
from mpiric.host.host import Host
from mpiric.host.owned_files import write_whole
from mpiric.host.packaged import own_command
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, writing
from mpiric.model.json_text import parse_json
from mpiric.model.quoting import directive, sh_command, sh_word
from mpiric.schedulers import BatchScheduler, JobRequest, SubmitSettings, installed_batch_scheduler
from mpiric.tuning.store import default_store, make_directory
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
    """Submit a job for each type, follow the jobs, read the results. Ctrl-C cancels all of them."""
    directory = default_store() / f"fabric-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}"
    scheduler = installed_batch_scheduler(host)
    types = scheduler.node_types(host, partition)
    if not types:
        raise MpiricError(f"{scheduler.title} names no nodes", hint="--partition names another partition")
    with writing(directory, "set XDG_STATE_HOME"):
        make_directory(directory)
        submitted = {
            _submit(
                request,
                scheduler,
                host,
                directory,
                JobRequest(
                    nodes=min(_NODES, count),
                    ranks_per_node=ranks_per_node,
                    partition=partition,
                    features=features,
                ),
            ): (features, count)
            for features, count in types.items()
        }
    problems: dict[str, str] = {}
    try:
        for job in scheduler.follow(host, list(submitted)):
            say(f"{submitted[job.job][0] or 'nodes without features'}: job {job.job} is {job.stage.value}")
            if job.is_over and not job.succeeded:
                problems[job.job] = f"the job ended as {job.state or job.stage.value} {job.reason}".strip()
    except BaseException:
        scheduler.cancel(host, list(submitted))
        raise
    return tuple(
        _result(directory, features, count, job, problems.get(job, ""))
        for job, (features, count) in submitted.items()
    )


def _name(features: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in features) or "any"


def _submit(
    request: FabricRequest, scheduler: BatchScheduler, host: Host, directory: Path, resources: JobRequest
) -> str:
    name = _name(resources.features)
    options = (*scheduler.fixed_options, *(text for text, _ in scheduler.options(resources)))
    rounds = ("--rounds", str(request.rounds), "--keep", str(max(request.keep, 6)))
    verb = (*own_command(host.python), "fabric", "--json", *rounds, "--limit", f"{request.limit_s:g}s")
    lines = (
        "#!/bin/sh",
        *(directive(scheduler.directive, option) for option in options),
        f"cd {sh_word(request.working_directory)} || exit 1",
        f"exec {sh_command([*verb, '--', *request.argv])} > {sh_word(str(directory / name))}.json",
    )
    script = directory / f"{name}.sh"
    write_whole(script, ("\n".join(lines) + "\n").encode())
    settings = SubmitSettings(
        name=f"mpiric-fabric-{name}", log=f"{directory / name}.log", mark=f"mpiric-{directory.name}-{name}"
    )
    return scheduler.submit(host, str(script), settings)


def _result(directory: Path, features: str, count: int, job: str, problem: str) -> NodeType:
    output = directory / f"{_name(features)}.json"
    answer: Mapping[str, Any] = {}
    if not problem:
        try:
            answer = parse_json(read_bounded(output, "answer", LARGEST_TEXT_BYTES))
        except (ValueError, MpiricError) as error:
            problem = f"it left no answer ({error}); see {output.with_suffix('.log')}"
    else:
        problem = f"{problem}; see {output.with_suffix('.log')}"
    return NodeType(features, count, job, output, answer, problem)
