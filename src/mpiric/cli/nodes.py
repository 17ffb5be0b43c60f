"""`mpiric nodes`: find slow nodes, and nodes with other settings than the rest."""

from collections.abc import Iterator
from typing import Any

import click
from cloup import option_group
from rich.table import Table

from mpiric.cli._errors import say
from mpiric.cli._json import print_json
from mpiric.cli._options import (
    BATCH_JOBS,
    cli_command,
    complete_files,
    flag,
    json_option,
    launch_request_of,
    option,
)
from mpiric.cli._submitting import job_options, parsed_job_options, refuse_unsubmitted
from mpiric.cli._terminal import status_line, stderr_console, stdout_console
from mpiric.fabric.nodes import Difference, NodesReport, unit_of
from mpiric.host.facts.local import LocalHost
from mpiric.model.amount import counted, share
from mpiric.model.batch import hosts_of
from mpiric.model.errors import ExitCode
from mpiric.model.slow_nodes import FALSE_ALARMS, LEAST
from mpiric.schedulers import batch_schedulers
from mpiric.workflows.fabric.nodes import NodesRequest, examine_nodes, keep, ledger, past_measurements
from mpiric.workflows.fabric.partition_nodes import examine_partition

_SHOWN = ("arithmetic", "slowest core", "memory bandwidth", "latency", "bandwidth")
_BUSY = 0.7  # load average from which the table of a slow node names it
_MOST_HOSTS = 8  # limit for the hosts in one line


def _hosts(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(hosts_of(value)) if value else ()


@cli_command("nodes", context_settings={"allow_interspersed_args": False})
@option(
    "--hosts",
    "LIST",
    "Nodes to measure, as n1,n2 or n[01-16]. [default: the hosts of LAUNCHER, or of the allocation]",
    callback=_hosts,
)
@flag("--history", "Show the earlier measurements of each node, and measure nothing.")
@flag("--no-history", "Do not keep the measurements for --history.")
@json_option
@option_group(
    BATCH_JOBS,
    flag(
        "--submit",
        "Measure each idle node of a partition, or each node of --hosts, in a job of its own, and compare "
        "the nodes.",
    ),
    option("--partition", "-p", "NAME", "Partition of these jobs. [default: the scheduler's]"),
    job_options("Further options of these jobs in the syntax of the scheduler: --sbatch='-A project'."),
)
@click.argument(
    "launch_line", nargs=-1, type=click.UNPROCESSED, shell_complete=complete_files, metavar="[-- LAUNCHER]"
)
def command(launch_line: tuple[str, ...], hosts: tuple[str, ...], as_json: bool, **options: Any) -> int:  # noqa: FBT001
    """Find slow nodes, and nodes with other settings than the rest.

    All nodes are measured at once for about 15 seconds: arithmetic of each core, memory bandwidth of each
    NUMA node, and messages to several other nodes in turn. A node is reported if it is slower than the other
    nodes of the same kind by more than the noise. The exit status is 80 if a node is slow, and 0 otherwise.

    LAUNCHER is a launch line without a program. [default: mpiexec on PATH]
    """
    if options["history"]:
        return _history(hosts, as_json=as_json)
    refuse_unsubmitted(options)
    request = launch_request_of(NodesRequest, launch_line, {"hosts": hosts})
    console = stderr_console()
    with status_line("measuring", console) as show:
        tell = show if console.is_terminal else console.print
        if options["submit"]:
            of_jobs = parsed_job_options(options["job_options"])
            report = examine_partition(request, LocalHost(), tell, options["partition"], of_jobs)
        else:
            report = examine_nodes(request, LocalHost(), tell)
    if not options["no_history"]:
        keep(report)
    if as_json:
        print_json(
            {
                "slow": report.slow,
                "exclude": _without(report),
                "outliers": report.outliers,
                "differences": report.differences,
                "failed": report.failed,
                "nodes": report.nodes,
                "false_alarms": FALSE_ALARMS,
            }
        )
    else:
        stdout_console().print(_table(report))
        for line in _sentences(report):
            print(line)
    for name, reason in report.failed.items():
        say(f"{name} was not measured: {reason}")
    return int(ExitCode.SLOWER) if report.slow else 0


def _table(report: NodesReport) -> Table:
    """Return a row for each node, or of many nodes only for the remarkable ones."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    quantities = [name for name in _SHOWN if any(name in node.speeds for node in report.nodes)]
    for heading in ("node", *(f"{name}\n{unit_of(name)}" for name in quantities)):
        table.add_column(heading, justify="left" if heading == "node" else "right")
    remarkable = {*report.slow, *(host for entry in report.differences for host in entry.hosts)}
    for node in report.nodes:
        if len(report.nodes) <= _MOST_HOSTS or node.host in remarkable:
            values = (f"{node.typical(name):.3g}" if name in node.speeds else "" for name in quantities)
            table.add_row(node.host, *values)
    return table


def _sentences(report: NodesReport) -> Iterator[str]:
    kinds = list(dict.fromkeys(node.kind for node in report.nodes))
    for kind in kinds:
        alike = [node.host for node in report.nodes if node.kind == kind]
        yield f"\n{counted(len(alike), 'node')} of one kind: {kind}"
        if len(alike) == 1:
            yield f"  {alike[0]} has no other node of its kind to be compared with"
    by_host = {node.host: node for node in report.nodes}
    for host in report.slow:
        yield f"\n{host} is slow:"
        yield from (f"  {entry}" for entry in report.outliers if entry.host == host)
        # Name other processes as a cause, where the load before the measurement was higher than elsewhere.
        node = by_host[host]
        idle = min(other.load for other in report.nodes)
        if node.load >= idle + _BUSY:
            yield (
                f"  its load average was {node.load:g} before the measurement and {idle:g} on another node: "
                "look for other processes (mpiric ps)"
            )
    yield from (f"\n{_difference(entry)}" for entry in report.differences)
    if without := _without(report):
        yield f"\nwithout the slow nodes: {without}"
    elif not report.slow:
        yield (
            f"\nNo node is slower than the others of its kind by {share(LEAST)} or more beyond the noise "
            f"(false alarms: at most {share(FALSE_ALARMS)} of such comparisons)."
        )


def _difference(entry: Difference) -> str:
    names = ", ".join(entry.hosts[:_MOST_HOSTS])
    more = f" and {len(entry.hosts) - _MOST_HOSTS} more" if len(entry.hosts) > _MOST_HOSTS else ""
    return f"{entry.setting}: {entry.value} on {names}{more}, {entry.usual} on most nodes of this kind"


def _without(report: NodesReport) -> str:
    """Return the option that leaves out the slow nodes: of the scheduler, or a list of the other hosts."""
    if not report.slow:
        return ""
    scheduler = batch_schedulers().get(report.scheduler)
    if scheduler and scheduler.exclusion:
        return scheduler.exclusion.format(",".join(report.slow))
    remaining = [node.host for node in report.nodes if node.host not in report.slow]
    return f"--hosts {','.join(remaining)}" if remaining else ""


def _history(hosts: tuple[str, ...], *, as_json: bool) -> int:
    rows = sorted(past_measurements(hosts), key=lambda row: str(row.get("host")))
    if as_json:
        print_json({"measurements": rows})
        return 0
    if not rows:
        print(f"no measurements of {', '.join(hosts) or 'any node'} in {ledger()}")
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("node", "time (UTC)", *(f"{name}\n{unit_of(name)}" for name in _SHOWN), "slow in"):
        table.add_column(heading)
    for row in rows:
        speeds = (row["speeds"].get(name) for name in _SHOWN)
        values = (f"{value:.3g}" if isinstance(value, float) else "" for value in speeds)
        slow = (f"{name} {100 * float(change):+.0f} %" for name, change in row["slow"].items())
        table.add_row(str(row.get("host")), row["at"][:16].replace("T", " "), *values, ", ".join(slow))
    stdout_console().print(table)
    return 0
