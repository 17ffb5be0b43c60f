"""Checks of the placement of running and completed jobs, against a plan and general rules."""

import os
import re
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path

from mpiric.host.files import exists
from mpiric.host.host import Host
from mpiric.host.processes.request import EarlyEnd
from mpiric.lab.probes import Probe
from mpiric.machine import read_machine
from mpiric.machine.devices import nvidia_gpus
from mpiric.machine.running_ranks import see_jobs, see_process
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding, MpiricError, NotFoundError, ProgramFailedError
from mpiric.model.job import Job, Meaning
from mpiric.model.machine import Machine, parse_pu_list
from mpiric.model.placement import (
    PlacementRequest,
    Plan,
    ProcessSeen,
    ThreadPool,
    ThreadSeen,
    openmp_binding,
    unlimited_pool,
)
from mpiric.model.record import RankRecord, Record
from mpiric.model.run import Outcome, Phase, Run, Trial
from mpiric.model.situation import EVERYTHING
from mpiric.placement import plan
from mpiric.placement.checks import touched_by_one, workers
from mpiric.placement.verification import Node, judge
from mpiric.profile.cells import fact
from mpiric.profile.tables import threads_of
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.trials.expected import known_situation
from mpiric.workflows.trials.users_lab import users_lab

_LAST_LINES = 5
_EVERY_S = 0.1  # between two looks
_FIRST_S, _LONGER = 0.3, 1.1  # pause before the first look at a run that is measured, ratio of later pauses

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
        """Return a condition that never ends the run, and looks at its ranks at each check."""
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
    mine = {p.pid for look in probe.looks for p in look if p.launch.startswith(f"{os.getpid()}.")}
    observed, other_ranks = _best_look(probe.looks, mine)
    if not observed:
        if done.outcome in (Outcome.FAILED, Outcome.REFUSED):
            raise ProgramFailedError(
                f"the command fails as it stands: {done.reason}",
                hint=last or "make the command work without mpiric first",
            )
        raise MpiricError(
            "no rank was seen: the command ended at once, or runs on other nodes",
            hint="give it more to do, or watch it longer (--limit); on other nodes use `mpiric ps` there",
        )
    findings = judge(node_of(machine), (*observed, *other_ranks), planned)
    serial = None if any(finding.id == "first-touch" for finding in findings) else touched_by_one(observed)
    return Checked(observed, (*findings, *([serial] if serial else [])), planned)


def _best_look(looks: Sequence[Look], pids: Collection[int]) -> tuple[Look, Look]:
    """Return the ranks ``pids`` and ranks of other jobs when most ranks and threads were last present.

    The CPU time of their threads is counted from the first such time, or from the look before a single one: a
    thread that spun in MPI_Init does not work.
    """
    mine = [tuple(process for process in look if process.pid in pids) for look in looks]
    if not any(mine):
        return (), ()
    counts = [
        (len(processes), sum(len(p.threads) for p in processes), number)
        for number, processes in enumerate(mine)
    ]
    best = max(counts)[2]
    first = next(number for *count, number in counts if tuple(count) == counts[best][:2])
    jobs = {process.job for process in mine[best]}
    other_ranks = tuple(process for process in looks[best] if process.job not in jobs)
    if first == best and best and mine[best - 1]:
        first = best - 1
    before_s = {(p.pid, thread.thread): thread.cpu_s for p in mine[first] for thread in p.threads}
    return tuple(_since(process, before_s) for process in mine[best]), other_ranks


def _since(process: ProcessSeen, before_s: Mapping[tuple[int, int], float]) -> ProcessSeen:
    """Return a process whose threads have used only the CPU time since an earlier look, if they used any."""
    threads = tuple(
        replace(thread, cpu_s=max(0.0, thread.cpu_s - before_s.get((process.pid, thread.thread), 0.0)))
        for thread in process.threads
    )
    has_worked = any(thread.cpu_s for thread in threads)
    return replace(process, threads=threads) if has_worked else process


@contextmanager
def looking(host: Host) -> Iterator[list[Look]]:
    """Look at all ranks of this node while the body runs, ever more rarely; yield the list of looks."""
    looks: list[Look] = []
    is_over = threading.Event()

    def look_on() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # they belong to the launch
        pause_s = _FIRST_S
        while not is_over.wait(pause_s):
            looks.append(see_jobs(host))
            pause_s *= _LONGER

    thread = threading.Thread(target=look_on, daemon=True)
    thread.start()
    try:
        yield looks
    finally:
        is_over.set()
        thread.join()


def node_of(machine: Machine) -> Node:
    """Return the properties of the machine for the checks."""
    return Node(machine.topology, machine.usable_pus, machine.limits.cgroup_cpus, machine.gpus)


def look(host: Host, which: str, working_directory: str) -> Checked:
    """Return all jobs, or only the job ``which``: a process, its launcher, or a job of the scheduler.

    Other jobs on the same cores are reported as well. Raises NotFoundError if there is nothing to report.
    """
    nvidia = nvidia_gpus(host)
    everyone = tuple(replace(rank, gpus=nvidia.get(rank.pid, rank.gpus)) for rank in see_jobs(host))
    machine = read_machine(host, working_directory)
    chosen = tuple(process for process in everyone if not which or _is_of(process, which))
    if which and not chosen and which.isdigit():
        alone = see_process(host, int(which))
        jobs = {process.job for process in everyone if _below(host, process.pid, int(which))}
        chosen = tuple(process for process in everyone if process.job in jobs) or ((alone,) if alone else ())
    else:
        jobs = {process.job for process in chosen}
        chosen = tuple(process for process in everyone if process.job in jobs)
    if which and not chosen:
        raise NotFoundError(f"no process or job {which!r} on this node", hint="mpiric ps shows all jobs")
    unchosen = tuple(process for process in everyone if process not in chosen)
    return Checked(chosen, judge(node_of(machine), (*chosen, *unchosen), pids={p.pid for p in chosen}))


def _is_of(process: ProcessSeen, which: str) -> bool:
    """Return whether a pid, launcher's pid, step (``12.0``) or job (``12.server``) selects a process."""
    names = {process.job.split()[-1], process.scheduled}
    return which in {str(process.pid), *names, *(name.split(".")[0] for name in names if name)}


def _below(host: Host, pid: int, root: int) -> bool:
    """Return whether ``root`` is an ancestor."""
    while pid > 1:
        status = host.read_text(f"/proc/{pid}/status") or ""
        parent = next((line.split()[1] for line in status.splitlines() if line.startswith("PPid:")), "0")
        pid = int(parent)
        if pid == root:
            return True
    return False


_BUSY_S = 0.05  # CPU time of a process that is not idle
_FULL = 0.9  # share of the available memory
_BINDERS = frozenset({"taskset", "numactl"})
_CPU_LIST = re.compile(r"user:|map_cpu|mask_cpu|cpu-set|cpu-list|rankfile|list:")


def judge_record(
    record: Record, machine: Machine, job: Job, libraries: Sequence[str] = (), looks: Sequence[Look] = ()
) -> Iterator[Finding]:
    """Return findings on the placement and the memory of this node's ranks, which load ``libraries``.

    ``looks``: ranks of this node during the run, with threads that ended before it, and with other jobs.
    Ranks of other nodes are ignored, because their machine is unknown.
    """
    bound_by, pool = variables_that_bind(job), unlimited_pool(libraries, _rank_environment(job))
    of_node = [rank for rank in record.ranks if rank.facts.get("host") == machine.host_name]
    if of_node:
        processes = [_process(rank, bound_by, pool) for rank in of_node]
        observed, other_ranks = _best_look(looks, {process.pid for process in processes})
        threads = {process.pid: process.threads for process in observed}
        during = [replace(process, threads=threads.get(process.pid, ())) for process in processes]
        working = [max(pair, key=lambda p: len(workers(p))) for pair in zip(processes, during, strict=True)]
        busy = (process for process in other_ranks if _used_s(process.pid, looks) > _BUSY_S)
        yield from judge(node_of(machine), (*working, *busy))
        yield from _of_memory(of_node, machine)


def _used_s(pid: int, looks: Sequence[Look]) -> float:
    """Return the CPU time that a process used between the first and the last look at it."""
    times_s = [sum(t.cpu_s for t in p.threads) for look in looks for p in look if p.pid == pid]
    return times_s[-1] - times_s[0]


def _of_memory(ranks: list[RankRecord], machine: Machine) -> Iterator[Finding]:
    memory = machine.memory
    room = min(memory.limit_bytes or memory.total_bytes, memory.total_bytes)
    peak_bytes = sum(fact(rank, "memory.peak_kib") << 10 for rank in ranks)
    if room and peak_bytes > _FULL * room:
        yield Finding(
            "memory-nearly-full",
            "The ranks nearly fill the memory: if they need more, they are killed or swapped out.",
            f"peaks of {len(ranks)} ranks add up to {peak_bytes / 2**30:.1f} of {room / 2**30:.1f} GiB",
            "start fewer ranks a node, or raise the limit (docker --memory, sbatch --mem)",
        )


def variables_that_bind(job: Job) -> str:
    """Return the OpenMP variables that bind the ranks of a job, "" if its command line binds them itself."""
    options = [option for segment in job.segments for option in segment.options]
    listed = any(
        option.meaning in (Meaning.BINDING, Meaning.MAPPING) and _CPU_LIST.search(" ".join(option.tokens))
        for option in options
    )
    if job.binding_wrapper or listed or _BINDERS.intersection(job.prefix):
        return ""
    return openmp_binding(_rank_environment(job))


def _rank_environment(job: Job) -> dict[str, str]:
    """Return the environment of the launch with the variables that the command line sets."""
    options = [option for segment in job.segments for option in segment.options]
    written = [option.values for option in options if option.meaning is Meaning.ENVIRONMENT]
    return {**job.environment, **{values[0]: values[1] for values in written if len(values) > 1}}


def _process(rank: RankRecord, bound_by: str, pool: ThreadPool | None) -> ProcessSeen:
    allowed = parse_pu_list(rank.facts.get("affinity", ""))
    ended = threads_of(rank)
    # MPI_Init and the code before it belong to the main thread; the work of ranks comes after them.
    inside_s = (fact(rank, "time.user_us") + fact(rank, "time.system_us")) / 1e6
    outside_s = max(0.0, sum(thread.cpu_s for thread in ended) - inside_s) if inside_s else 0.0
    threads = tuple(
        ThreadSeen(
            thread.number,
            thread.name,
            parse_pu_list(thread.affinity) or allowed,
            thread.cpu,
            max(0.0, thread.cpu_s - (outside_s if thread.number == fact(rank, "process") else 0.0)),
        )
        for thread in ended
    )
    return ProcessSeen(
        pid=fact(rank, "process"),
        rank=rank.rank,
        program=rank.facts.get("executable", ""),
        threads=threads or (ThreadSeen(0, "", allowed, fact(rank, "cpu"), 0.0),),
        cpus_allowed=allowed,
        bound_by=bound_by,
        unlimited_pool=pool,
        job="profiled",
        gpus=(rank.facts["gpu"],) if "gpu" in rank.facts else (),
        gpus_allotted=fact(rank, "gpu.allotted"),
    )
