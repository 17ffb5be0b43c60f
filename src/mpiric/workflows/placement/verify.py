"""Run a command for a while and compare where its threads and memory are with a plan, and with good sense."""

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpiric.host.files import exists
from mpiric.host.host import Host
from mpiric.host.processes.execution import Runner
from mpiric.machine.running_ranks import see_jobs
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.finding import Finding
from mpiric.model.launch import Launch
from mpiric.model.machine import Machine
from mpiric.model.placement import PlacementRequest, Plan, ProcessSeen
from mpiric.model.situation import RankSeen
from mpiric.model.trial import Outcome
from mpiric.placement import plan
from mpiric.placement.memory_checks import touched_by_one
from mpiric.placement.verification import Node, judge
from mpiric.workflows.launch.node_leftovers import cleaned_nodes
from mpiric.workflows.launch.parse_job import parse_job

_LAST_LINES = 5

Look = tuple[ProcessSeen, ...]


@dataclass(frozen=True)
class Checked:
    """What was seen of a job on this node, what is wrong with it, and what was planned, if anything was."""

    processes: tuple[ProcessSeen, ...]
    findings: tuple[Finding, ...]
    plan: Plan | None = None


def verify(
    host: Host,
    argv: Sequence[str],
    working_directory: str,
    request: PlacementRequest | None,
    limit_s: float,
    say: Callable[[str], None],
) -> Checked:
    """Start the command as it is, look at its ranks while they run, end it after ``limit_s``.

    Raises ProgramFailedError when it fails before any rank was seen.
    """
    parsed = parse_job(argv, host, working_directory, dict(host.environ))
    machine = parsed.machine
    planned = (
        plan(machine.topology, request, machine.usable_pus, machine.limits.cgroup_cpus) if request else None
    )
    looks: list[Look] = []

    def look(_: tuple[RankSeen, ...]) -> None:
        looks.append(see_jobs(host))

    launch = Launch(tuple(argv), working_directory)
    say(f"watching {' '.join(argv[:4])} … for at most {limit_s:g} s")
    with (
        tempfile.TemporaryDirectory(prefix="mpiric-") as place,
        cleaned_nodes(parsed.job, parsed.nodes, host) as after_ended_run,
        Runner() as runner,
    ):
        out, err = Path(place, "stdout"), Path(place, "stderr")
        done = runner.execute(launch, host.environ, working_directory, out, err, limit_s, on_sample=look)
        if done.outcome is not Outcome.OK:
            after_ended_run()
        last = "\n".join(err.read_text(errors="replace").splitlines()[-_LAST_LINES:]) if exists(err) else ""
    seen, others = _best_look(looks)
    if not seen:
        if done.outcome in (Outcome.FAILED, Outcome.REFUSED):
            raise ProgramFailedError(
                f"the command fails as it stands: {done.reason}", hint=last or "make it run by itself first"
            )
        raise MpiricError(
            "no rank was seen: the command ended at once, or runs on other nodes",
            hint="give it more to do, or watch it longer (--limit); on other nodes use `mpiric ps` there",
        )
    findings = judge(node_of(machine), (*seen, *others), planned)
    serial = None if any(each.id == "first-touch" for each in findings) else touched_by_one(seen)
    return Checked(seen, (*findings, *([serial] if serial else [])), planned)


def _best_look(looks: Sequence[Look]) -> tuple[Look, Look]:
    """The ranks of our launch and those of others at the last time when most ranks and threads were there."""
    mine = [tuple(p for p in each if p.launch.startswith(f"{os.getpid()}.")) for each in looks]
    if not any(mine):
        return (), ()
    counts = [(len(own), sum(len(p.threads) for p in own), number) for number, own in enumerate(mine)]
    best = max(counts)[2]
    pids = {process.pid for process in mine[best]}
    return mine[best], tuple(process for process in looks[best] if process.pid not in pids)


def node_of(machine: Machine) -> Node:
    """What judging needs of the machine."""
    return Node(machine.topology, machine.usable_pus, machine.limits.cgroup_cpus)
