"""Comparison of a running command's placement with a plan and with general rules."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.host.files import exists
from mpiric.host.host import Host
from mpiric.host.processes.early_end import EarlyEnd
from mpiric.lab.probes import Probe
from mpiric.machine.running_ranks import see_jobs
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.finding import Finding
from mpiric.model.machine import Machine
from mpiric.model.placement import PlacementRequest, Plan, ProcessSeen
from mpiric.model.run import Run
from mpiric.model.situation import EVERYTHING
from mpiric.model.trial import Outcome, Phase, Trial
from mpiric.placement import plan
from mpiric.placement.memory_checks import touched_by_one
from mpiric.placement.verification import Node, judge
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.trials.expected import known_situation
from mpiric.workflows.trials.users_lab import users_lab

_LAST_LINES = 5
_EVERY_S = 0.1  # between two looks

Look = tuple[ProcessSeen, ...]


@dataclass(frozen=True)
class Checked:
    """Observed processes of a job on this node, findings, and the plan, if there is one."""

    processes: tuple[ProcessSeen, ...]
    findings: tuple[Finding, ...]
    plan: Plan | None = None


@dataclass(frozen=True)
class LookingRun(Probe):
    """A run whose ranks on this node are looked at until it ends."""

    host: Host
    looks: list[Look] = field(default_factory=list)
    keeps_output = True

    @property
    def early_end(self) -> EarlyEnd:  # type: ignore[override]
        """The moment at which a run may end: never, each question is a look."""
        return EarlyEnd(self._look, every_s=_EVERY_S)

    def _look(self) -> bool:
        self.looks.append(see_jobs(self.host))
        return False


def verify(
    host: Host,
    argv: Sequence[str],
    working_directory: str,
    request: PlacementRequest | None,
    limit_s: float,
    say: Callable[[str], None],
) -> Checked:
    """Start the unchanged command, observe its ranks while they run, end it after ``limit_s``.

    Raises ProgramFailedError if it fails before ranks were seen.
    """
    parsed = parse_job(argv, host, working_directory, dict(host.environ))
    machine = parsed.machine
    planned = (
        plan(machine.topology, request, machine.usable_pus, machine.limits.cgroup_cpus) if request else None
    )
    probe = LookingRun(host)
    say(f"watching {' '.join(argv[:4])} … for at most {limit_s:g} s")
    with users_lab(known_situation(parsed, host, EVERYTHING), host) as lab:
        try:
            done = lab.measure(Run(Configuration(), Phase.OBSERVE, limit_s=limit_s, probe=probe))
        except KeyboardInterrupt:  # judge the ranks seen so far
            done = Trial(Configuration(), Phase.OBSERVE, Outcome.INTERRUPTED, 0.0)
        errors = Path(done.stderr or os.devnull)
        text = errors.read_text(errors="replace") if exists(errors) else ""
    last = "\n".join(text.splitlines()[-_LAST_LINES:])
    observed, other_ranks = _best_look(probe.looks)
    if not observed:
        if done.outcome in (Outcome.FAILED, Outcome.REFUSED):
            raise ProgramFailedError(
                f"the command fails as it stands: {done.reason}", hint=last or "make it run by itself first"
            )
        raise MpiricError(
            "no rank was seen: the command ended at once, or runs on other nodes",
            hint="give it more to do, or watch it longer (--limit); on other nodes use `mpiric ps` there",
        )
    findings = judge(node_of(machine), (*observed, *other_ranks), planned)
    serial = None if any(finding.id == "first-touch" for finding in findings) else touched_by_one(observed)
    return Checked(observed, (*findings, *([serial] if serial else [])), planned)


def _best_look(looks: Sequence[Look]) -> tuple[Look, Look]:
    """Return this launch's and other ranks at the last time when most ranks and threads were present."""
    mine = [tuple(p for p in look if p.launch.startswith(f"{os.getpid()}.")) for look in looks]
    if not any(mine):
        return (), ()
    counts = [
        (len(processes), sum(len(p.threads) for p in processes), number)
        for number, processes in enumerate(mine)
    ]
    best = max(counts)[2]
    pids = {process.pid for process in mine[best]}
    return mine[best], tuple(process for process in looks[best] if process.pid not in pids)


def node_of(machine: Machine) -> Node:
    """Return the properties of the machine for the checks."""
    return Node(machine.topology, machine.usable_pus, machine.limits.cgroup_cpus)
