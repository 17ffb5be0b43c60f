"""Ranks that run on this node, with the affinity of their threads and the NUMA nodes of their memory.

Only /proc is read; no process is stopped, traced or slowed down. Unreadable processes of other users are
left out.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from mpiric.host.host import Host
from mpiric.host.processes.keeper import MARK
from mpiric.host.processes.proc import TICKS_PER_S, program_of
from mpiric.machine.devices import gpus_in_use
from mpiric.model.amount import count_of, number_of
from mpiric.model.machine import parse_pu_list
from mpiric.model.placement import ProcessSeen, ThreadSeen, openmp_binding, unlimited_pool
from mpiric.model.quoting import one_line
from mpiric.model.rank_choice import ObservedProcess, choose_ranks, is_mpi_library, rank_of

_SCHEDULED = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
_STEP = ("SLURM_JOB_ID", "SLURM_STEP_ID")
_CPU_BIND = "SLURM_CPU_BIND"  # "quiet,map_cpu:0,0"; Slurm also writes a mask that it chose itself
_CPU_LIST = re.compile(r"map_cpu:\S+")
_SMALL_PAGE = 4  # KiB, the unit of memory_pages
_PROCESSOR, _USER, _SYSTEM, _FAULTS = 36, 11, 12, 7  # fields of /proc/PID/stat after the name


def see_jobs(host: Host) -> tuple[ProcessSeen, ...]:
    """Return the ranks of all MPI jobs on this node, job by job."""
    processes = _processes(host)
    parents = {process.pid: process.parent for process, _ in processes.values()}
    launchers = {pid for pid, (process, _) in processes.items() if process.is_launcher}
    jobs: dict[str, list[ObservedProcess]] = {}
    for pid, (process, environment) in processes.items():
        if process.rank is not None and not process.is_launcher:
            jobs.setdefault(_job(pid, parents, launchers, environment), []).append(process)
    return tuple(
        replace(rank, job=one_line(job))
        for job, members in sorted(jobs.items())
        for member in sorted(choose_ranks(members), key=lambda member: member.rank or 0)
        if (rank := see_process(host, member.pid, member.rank)) is not None
    )


def see_process(host: Host, pid: int, rank: int | None = None) -> ProcessSeen | None:
    """Return one process, rank or not; None if it has ended or may not be read."""
    status = _status(host, f"/proc/{pid}/status")
    if not status:
        return None
    environment = _environment(host, pid)
    threads = (
        _thread(host, pid, number_of(name)) for name in host.list_dir(f"/proc/{pid}/task") if number_of(name)
    )
    return ProcessSeen(
        pid=pid,
        rank=rank if rank is not None else _rank(environment),
        program=one_line(program_of(pid)),
        threads=tuple(thread for thread in threads if thread is not None),
        cpus_allowed=parse_pu_list(status.get("Cpus_allowed_list", "")),
        memory_pages=memory_pages(host.read_text(f"/proc/{pid}/numa_maps") or ""),
        memory_nodes_allowed=parse_pu_list(status.get("Mems_allowed_list", "")),
        cgroup_cpus=_cgroup_cpus(host, pid),
        places=one_line(environment.get("OMP_PLACES", "") or environment.get("KMP_AFFINITY", "")),
        omp_threads=_count(environment.get("OMP_NUM_THREADS", "")),
        unlimited_pool=unlimited_pool(_mapped(host, pid), environment),
        bound_by=one_line(openmp_binding(environment)),
        launch=environment.get(MARK, ""),
        parent_cpus=parse_pu_list(
            _status(host, f"/proc/{status.get('PPid', '')}/status").get("Cpus_allowed_list", "")
        ),
        cpu_list=one_line(match[0] if (match := _CPU_LIST.search(environment.get(_CPU_BIND, ""))) else ""),
        scheduled=one_line(next((environment[name] for name in _SCHEDULED if name in environment), "")),
        gpus=tuple(map(one_line, gpus_in_use(host, pid, environment))),
        gpus_allotted=_count(environment.get("SLURM_GPUS_ON_NODE", "")),
    )


def memory_pages(numa_maps: str) -> dict[int, int]:
    """Map each NUMA node to the 4 KiB pages of anonymous memory of a process."""
    pages_by_node: dict[int, int] = {}
    for line in numa_maps.splitlines():
        if " anon=" not in line:
            continue
        size = re.search(r"kernelpagesize_kB=(\d+)", line)
        factor = number_of(size[1]) // _SMALL_PAGE if size else 1
        for node, pages in re.findall(r" N(\d+)=(\d+)", line):
            pages_by_node[number_of(node)] = pages_by_node.get(number_of(node), 0) + number_of(pages) * factor
    return pages_by_node


def _processes(host: Host) -> Mapping[int, tuple[ObservedProcess, Mapping[str, str]]]:
    """Return processes by pid; parents usually come before their children, as pids rise."""
    processes: dict[int, tuple[ObservedProcess, Mapping[str, str]]] = {}
    for pid in sorted(filter(None, map(number_of, host.list_dir("/proc")))):
        status = _status(host, f"/proc/{pid}/status")
        if not status or status.get("State", "Z")[:1] in "ZX":
            continue
        environment = _environment(host, pid)
        rank = _rank(environment)
        maps_mpi = rank is not None and any(map(is_mpi_library, _mapped(host, pid)))
        program = program_of(pid)
        processes[pid] = (
            ObservedProcess(pid, _count(status.get("PPid", "")), program, rank, maps_mpi=maps_mpi),
            environment,
        )
    return processes


def _job(pid: int, parents: Mapping[int, int], launchers: set[int], environment: Mapping[str, str]) -> str:
    """Return a name of the job of a rank: its outermost launcher, or its scheduler step."""
    step = ".".join(environment.get(name, "") for name in _STEP) if "SLURM_PROCID" in environment else ""
    ancestor, outermost = parents.get(pid, 0), 0
    while ancestor:
        outermost = ancestor if ancestor in launchers else outermost
        ancestor = parents.get(ancestor, 0)
    if outermost or step:
        return f"launcher {outermost}" if outermost else f"step {step}"
    return environment.get("PMIX_NAMESPACE", "") or f"process {pid}"


def _rank(environment: Mapping[str, str]) -> int | None:
    return rank_of({key.encode(): value.encode(errors="replace") for key, value in environment.items()}, {})


def _mapped(host: Host, pid: int) -> set[str]:
    """Return the last columns of a process's memory map, among them the paths of its libraries."""
    lines = (host.read_text(f"/proc/{pid}/maps") or "").splitlines()
    return {line.rsplit(None, 1)[-1] for line in lines if line.strip()}


def _thread(host: Host, pid: int, thread: int) -> ThreadSeen | None:
    directory = f"/proc/{pid}/task/{thread}"
    status = _status(host, f"{directory}/status")
    stat = (host.read_text(f"{directory}/stat") or "").rpartition(")")[2].split()
    if not status or len(stat) <= _PROCESSOR:
        return None
    return ThreadSeen(
        thread=thread,
        name=one_line(status.get("Name", "")),
        cpus_allowed=parse_pu_list(status.get("Cpus_allowed_list", "")),
        cpu_now=number_of(stat[_PROCESSOR]),
        cpu_s=(number_of(stat[_USER]) + number_of(stat[_SYSTEM])) / TICKS_PER_S,
        minor_faults=number_of(stat[_FAULTS]),
    )


def _cgroup_cpus(host: Host, pid: int) -> tuple[int, ...]:
    """Return the CPUs that the control group grants a process; empty if there is none or no limit."""
    for line in (host.read_text(f"/proc/{pid}/cgroup") or "").splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "cpuset" not in controllers.split(","):
            continue
        root = "/sys/fs/cgroup/cpuset" if controllers else "/sys/fs/cgroup"
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus"):
            if pus := parse_pu_list(host.read_text(f"{root}{path.rstrip('/')}/{name}") or ""):
                return pus
    return ()


def _status(host: Host, path: str) -> dict[str, str]:
    pairs = (line.partition(":\t") for line in (host.read_text(path) or "").splitlines())
    return {name: value.strip() for name, tab, value in pairs if tab}


def _environment(host: Host, pid: int) -> dict[str, str]:
    entries = (host.read_text(f"/proc/{pid}/environ") or "").split("\0")
    return {name: value for name, equals, value in (entry.partition("=") for entry in entries) if equals}


def _count(text: str) -> int:
    first = text.split(",")[0].strip()
    return count_of(first)
