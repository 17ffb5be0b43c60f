"""`mpiric nodes` on the idle nodes of a partition: one job per node, compared with one another."""

from mpiric.fabric.nodes import NodesReport, judge_nodes, node_of
from mpiric.host.host import Host
from mpiric.model.amount import counted
from mpiric.model.errors import NotFoundError, ProgramFailedError
from mpiric.schedulers import JobRequest, Patience, installed_batch_scheduler, read_site_defaults
from mpiric.workflows.fabric.cluster_jobs import CommandJob, JobSeries, run_in_jobs
from mpiric.workflows.fabric.nodes import NodesRequest, Say

_MINUTES = 10  # time limit of a job


def examine_partition(
    request: NodesRequest,
    host: Host,
    say: Say,
    partition: str = "",
    options: tuple[str, ...] = (),
    patience: Patience | None = None,
) -> NodesReport:
    """Submit a job to each node of ``request.hosts``, or to each idle node, and compare the answers.

    ``options`` are in the scheduler's syntax. Raises ProgramFailedError if no node was measured.
    """
    scheduler = installed_batch_scheduler(host)
    site = read_site_defaults(host.environ, None, host.read_text).options
    partition = partition or site.partition
    names = request.hosts or scheduler.idle_nodes(host, partition)
    if not names:
        raise NotFoundError(
            f"{scheduler.title} has no idle nodes in {partition or 'the default partition'}",
            hint="--partition names another partition, and --hosts nodes whose jobs are waited for",
        )
    say(f"submitting a job to each of {counted(len(names), 'node')}")
    launcher = ("--", *request.argv) if request.argv else ()
    jobs = [
        CommandJob(
            name,
            ("nodes", "--json", "--no-history", *launcher),
            JobRequest(
                account=site.account,
                partition=partition,
                time=scheduler.time_text(_MINUTES),
                nodes=1,
                ranks=1,
                hosts=name,
            ),
        )
        for name in names
    ]
    series = JobSeries("nodes", tuple(jobs), request.working_directory, options)
    answers = run_in_jobs(series, scheduler, host, say, patience)
    nodes, failed = [], {}
    for name, result in answers.items():
        measured = [node for row in result.answer.get("nodes", []) if (node := node_of(row))]
        nodes += measured
        if not measured:
            failed[name] = result.problem or f"its job left no measurement; see {result.output}"
    if not nodes:
        reason = next(iter(failed.values()))
        raise ProgramFailedError(f"none of the nodes was measured: {reason}")
    return judge_nodes(nodes, failed, scheduler.name)
