"""Measurement of all nodes of an allocation or a list of hosts, and the ledger of the measurements."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timezone
from itertools import chain, islice
from pathlib import Path
from typing import Any

from mpiric import launchers, mpis
from mpiric.fabric.nodes import FILES, NodeSpeed, NodesReport, judge_nodes, read_nodes
from mpiric.host.files import LARGEST_TEXT_BYTES, exists, read_bounded
from mpiric.host.host import TIMED_OUT, Host
from mpiric.host.installation.native import native_part
from mpiric.host.owned_files import append
from mpiric.lab.render import can_be_written, render
from mpiric.model.amount import counted
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NotFoundError, ProgramFailedError, writing
from mpiric.model.job import HostSlots, LaunchOption, Meaning, Spelling
from mpiric.model.json_text import json_lines
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.run import Outcome, Phase, Run
from mpiric.model.situation import EVERYTHING, Situation
from mpiric.schedulers import find_allocation
from mpiric.tuning.store import default_store, make_directory
from mpiric.workflows.launch.interchange import ready_to_serve
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.trials.expected import expected_situation
from mpiric.workflows.trials.users_lab import PrintingRun, printed, users_lab

_PASSES = 8
_LIMIT_S = 180.0
_ALONE_S = 30.0  # time limit of a launch on one host
_AT_ONCE = 16
_UNBOUND = Configuration.of({"binding": "none"})  # the probe binds its threads itself
_REPLACED = {
    *(Meaning.RANKS, Meaning.RANKS_PER_NODE, Meaning.NODES, Meaning.THREADS_PER_RANK, Meaning.HOSTS),
    *(Meaning.HOSTFILE, Meaning.MAPPING, Meaning.RANKING, Meaning.BINDING, Meaning.MEMORY_BINDING),
}

Say = Callable[[str], None]


@dataclass(frozen=True)
class NodesRequest:
    """Options of `mpiric nodes`; ``argv`` is a launch line without a program, () for a library's launcher."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    hosts: tuple[str, ...] = ()  # () for the hosts of the launch line or the allocation


def examine_nodes(request: NodesRequest, host: Host, say: Say) -> NodesReport:
    """Measure all hosts at once; if that fails, find the hosts that do not start, and measure the others."""
    allocation = find_allocation(host)
    situation = _situation(request, host)
    named = [entry.name for entry in launchers.named_hosts(situation.job)]
    allocated = [entry.name for entry in allocation.hosts] if allocation.job else []
    hosts = tuple(dict.fromkeys(request.hosts or named or allocated))
    if not hosts:
        raise MpiricError(
            "this is not an allocation of a scheduler, and no hosts are named",
            hint="mpiric nodes --hosts n1,n2,n3",
        )
    say(f"measuring {counted(len(hosts), 'node')} at once for about 15 s")
    try:
        return judge_nodes(_measure(hosts, situation, host), {}, allocation.scheduler)
    except ProgramFailedError as error:
        if len(hosts) == 1:
            raise
        say(f"the launch on all nodes failed; starting each of the {len(hosts)} nodes alone")
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            reasons = dict(
                zip(hosts, pool.map(lambda name: _fails(name, situation, host), hosts), strict=True)
            )
        working = tuple(name for name, reason in reasons.items() if not reason)
        if not working or len(working) == len(hosts):
            raise error from None
    failed = {name: reason for name, reason in reasons.items() if reason}
    say(f"measuring {counted(len(working), 'node')} at once for about 15 s, without {', '.join(failed)}")
    return judge_nodes(_measure(working, situation, host), failed, allocation.scheduler)


def examine_job_nodes(situation: Situation, host: Host) -> NodesReport | None:
    """Measure the nodes of a job between its runs; None if the probe cannot take the place of its program."""
    job, allocation = situation.job, find_allocation(host)
    allocated = [entry.name for entry in allocation.hosts] if allocation.job else []
    hosts = dict.fromkeys([entry.name for entry in launchers.named_hosts(job)] or allocated)
    if len(hosts) < 2 or job.container is not None or len(job.segments) > 1:
        return None
    probe = replace(job.segments[0], program=_probe(situation.mpi))
    in_place = replace(situation, job=replace(job, segments=(probe,), stdin=""))
    return judge_nodes(_measure(tuple(hosts), in_place, host), {}, allocation.scheduler)


def _probe(mpi: MpiLibrary) -> tuple[str, ...]:
    return (native_part("probe-mpi", mpi.abi_families[0]), "nodes", str(_PASSES), *FILES)


def _situation(request: NodesRequest, host: Host) -> Situation:
    """Return the situation of a launch of the probe by the launch line or the first library's launcher."""
    on_path = filter(None, map(host.which, ("mpiexec", "mpirun")))
    installed = (library.launcher for library in mpis.find_mpis(host) if library.launcher)
    argv = request.argv or tuple(islice(chain(on_path, installed), 1))
    if not argv:
        raise NotFoundError(
            "no launcher of an MPI library was found", hint="name one: mpiric nodes -- /path/of/mpiexec"
        )
    mpi = mpis.mpi_of_launcher(host, argv[0])
    if mpi is None or not mpi.library:
        raise NotFoundError(
            f"the MPI library of {argv[0]} is unknown",
            hint="use the mpiexec of a library: mpiric nodes -- /path/of/mpiexec",
        )
    parsed = parse_job((*argv, *_probe(mpi)), host, request.working_directory, request.environment)
    return expected_situation(parsed, host, EVERYTHING)


def situation_on(hosts: Sequence[str], situation: Situation) -> Situation:
    """Return the situation of a launch with one rank on each of the hosts."""
    job = situation.job
    dialect = launchers.dialects()[job.dialect]
    slots = tuple(HostSlots(name, 1) for name in hosts)
    facets = ((Meaning.RANKS, (str(len(hosts)),)), *(launchers.host_facets(dialect, slots, hosts) or ()))
    options = [
        LaunchOption(tuple(tokens), meaning, values)
        for meaning, values in facets
        if (tokens := dialect.write[meaning](values))
    ]
    (segment,) = job.segments
    remaining = [option for option in segment.options if option.meaning not in _REPLACED]
    segment = replace(segment, options=(*remaining, *options))
    return replace(situation, job=replace(job, segments=(segment,), host_files={}), nodes=len(hosts))


def _around(situation: Situation, host: Host) -> tuple[Configuration, Spelling]:
    """Return the configuration and the library path of a launch of the probe."""
    elf = host.elf(situation.job.program[0])
    needed = frozenset(name for name in (elf.needed if elf else ()) if name.startswith("libmpi"))
    served = ready_to_serve((situation.mpi,), needed, situation.mpi, host)[0]
    configuration = _UNBOUND if can_be_written(_UNBOUND, situation) else Configuration()
    return configuration, Spelling(environment=situation.mpi.environment, library_path=served.library_path)


def _measure(hosts: Sequence[str], situation: Situation, host: Host) -> tuple[NodeSpeed, ...]:
    """Run the probe on hosts, whose names the nodes get. Raises ProgramFailedError."""
    launch_situation = situation_on(hosts, situation)
    configuration, around = _around(launch_situation, host)
    run = Run(
        configuration, Phase.OBSERVE, limit_s=_LIMIT_S, probe=PrintingRun(around), situation=launch_situation
    )
    with users_lab(launch_situation, host) as lab:
        trial = lab.measure(run)
        text = printed(trial)
    if trial.outcome is not Outcome.OK:
        line = render(configuration, launch_situation, around).shell_line().partition(" nodes ")[0]
        raise ProgramFailedError(f"{line} failed: {_gist(text) or trial.reason}")
    nodes = read_nodes(text)
    if len(nodes) < len(hosts):
        raise ProgramFailedError(
            f"{len(hosts)} hosts were named, and {len(nodes)} nodes were measured",
            hint="name each node once, by the name that the launcher knows",
        )
    names = {name.partition(".")[0]: name for name in hosts}  # a node may know its domain, too
    return tuple(replace(node, host=names.get(node.host.partition(".")[0], node.host)) for node in nodes)


def _fails(name: str, situation: Situation, host: Host) -> str:
    """Return why a launch on one host fails, "" if it succeeds."""
    launch_situation = situation_on((name,), situation)
    configuration, around = _around(launch_situation, host)
    (segment,) = launch_situation.job.segments
    program = (segment.program[0], "identity")
    launch_situation = replace(
        launch_situation, job=replace(launch_situation.job, segments=(replace(segment, program=program),))
    )
    launch = render(configuration, launch_situation, around)
    changes: dict[str, str | None] = {**launch.environment, **dict.fromkeys(launch.unset)}
    done = host.run(launch.argv, environment=changes, timeout_s=_ALONE_S)
    if done.status == TIMED_OUT:
        return f"it did not start within {_ALONE_S:g} s"
    return "" if done.status == 0 else _gist(f"{done.stdout}\n{done.stderr}") or f"exit status {done.status}"


def _gist(text: str) -> str:
    """Return the beginning of an output in one line, without rules of dashes."""
    lines = (line.strip() for line in text.splitlines())
    return " / ".join(line for line in lines if any(map(str.isalnum, line)))[:300]


def ledger() -> Path:
    """Return the file with one line for each measurement of a node."""
    return default_store() / "nodes.jsonl"


def keep(report: NodesReport) -> None:
    """Append the measurements to the ledger. Raises NoRoomError."""
    at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    lines = [
        {
            "at": at,
            "host": node.host,
            "kind": node.kind,
            "speeds": {quantity: round(node.typical(quantity), 4) for quantity in node.speeds},
            "slow": {
                entry.quantity: round(entry.change, 4) for entry in report.outliers if entry.host == node.host
            },
        }
        for node in report.nodes
    ]
    with writing(ledger(), "set XDG_STATE_HOME"):
        make_directory(ledger().parent)
        append(ledger(), "".join(json.dumps(line) + "\n" for line in lines))


def past_measurements(hosts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the lines of the ledger, of some hosts or of all, the newest last; damaged lines are skipped."""
    if not exists(ledger()):
        return
    for row in json_lines(read_bounded(ledger(), "ledger", LARGEST_TEXT_BYTES).decode(errors="replace")):
        is_right = isinstance(row.get("speeds"), dict) and isinstance(row.get("slow"), dict)
        if is_right and isinstance(row.get("at"), str) and (not hosts or row.get("host") in hosts):
            yield row
