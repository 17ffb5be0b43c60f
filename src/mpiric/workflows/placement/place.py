"""Placement plans for ranks and threads, with the options of each launcher and measured bandwidth."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from mpiric import launchers
from mpiric.host.files import text_of
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.machine import load_topology, read_machine
from mpiric.machine.devices import local_devices
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.job import HostSlots
from mpiric.model.machine import Core, CoreSet, Level, Machine
from mpiric.model.placement import Bandwidth, Emission, PlacementRequest, Plan
from mpiric.placement import plan
from mpiric.placement.rankfile import Numbers, plan_rankfile, read_rankfile
from mpiric.placement.sizing import saturation_of, sweep

Say = Callable[[str], None]

_REPEATS = 10  # the best one counts, as in STREAM
_BUDGET_S = 60.0  # limit for all subsets; a busy machine gets fewer repeats
_SUBSET_S = 5.0  # limit for one subset
_LIMIT_S = 120.0  # after that a probe is considered hanging
_CACHES = 4  # minimum array size in units of the last-level caches, as STREAM requires
_LEAST_MIB = 128
_SHARE = 16  # maximum size of each of the three arrays, as a fraction of the memory


@dataclass(frozen=True)
class Placed:
    """Plan with the output for each launcher; there are several plans if nodes differ."""

    plans: tuple[Plan, ...]
    launchers: Mapping[str, Emission]
    runtimes: Mapping[str, Mapping[str, str]]  # OpenMP runtimes that need variables of their own
    title: str

    @property
    def plan(self) -> Plan:
        """Return the plan of the first nodes."""
        return self.plans[0]


def place(
    host: Host, request: PlacementRequest, source: str, working_directory: str, pus: tuple[int, ...] = ()
) -> Placed:
    """Plan for another machine's topology, or for this one within affinity and control group.

    ``pus`` restricts it further. Raises MpiricError if the job does not fit.
    """
    if source:
        new_plan, title = plan(load_topology(host, source), request, pus), source
    else:
        machine = read_machine(host, working_directory)
        usable = tuple(pu for pu in machine.usable_pus if not pus or pu in pus)
        devices = local_devices(host)
        new_plan = plan(machine.topology, request, usable, machine.limits.cgroup_cpus, devices)
        title = machine.host_name
    return Placed((new_plan,), launchers.emit_all((new_plan,)), launchers.runtime_variables(new_plan), title)


def place_rankfile(
    host: Host, path: str, numbers: Numbers, source: str, working_directory: str, threads: int = 0
) -> Placed:
    """Return the plans that a rankfile describes, with the output for each launcher. Raises MpiricError."""
    text = text_of(host, path, "rankfile", "mpiric place --rankfile FILE")
    topology = load_topology(host, source) if source else read_machine(host, working_directory).topology
    layout = plan_rankfile(topology, read_rankfile(text), numbers, threads)
    alike = len(layout) == 1  # otherwise the variables of a runtime would be valid for some nodes only
    return Placed(
        layout, launchers.emit_all(layout), launchers.runtime_variables(layout[0]) if alike else {}, path
    )


def host_files(placed: Placed) -> dict[str, str]:
    """Return the content of a host file for each launcher, by name; empty without host names."""
    hosts = [
        HostSlots(name, sum(place.node == node for place in plan.ranks))
        for plan in placed.plans
        for node, name in enumerate(plan.hosts)
    ]
    formats = {name: dialect.hosts for name, dialect in launchers.dialects().items()}
    return {
        f"{name}.hosts": launchers.write_host_file(form, hosts)
        for name in placed.launchers
        if hosts and (form := formats[name]) is not None
    }


def place_by_measurement(
    host: Host, request: PlacementRequest, working_directory: str, say: Say
) -> tuple[Placed, tuple[Bandwidth, ...]]:
    """Measure core subsets of this machine first, then plan."""
    measured = measure_bandwidth(host, read_machine(host, working_directory), say)
    measuring = replace(request, measured=measured, bandwidth_bound=True)
    return place(host, measuring, "", working_directory), measured


@dataclass(frozen=True)
class _Subset:
    cores: tuple[Core, ...]
    spacing: int
    domain: str


def measure_bandwidth(host: Host, machine: Machine, say: Say) -> tuple[Bandwidth, ...]:
    """Measure bandwidth on the largest NUMA node, then on the whole node with the best subset and all cores.

    Raises MpiricError if the probe fails.
    """
    usable = set(machine.usable_pus)
    cores = tuple(core for core in machine.topology.cores if usable.intersection(core.pus))
    domains = [domain.cores for domain in CoreSet(machine.topology, cores).domains(Level.NUMA)]
    largest = max(domains, key=len)
    subsets = [
        _Subset(largest[::spacing][:number], spacing, "numa") for number, spacing in sweep(len(largest))
    ]
    say(f"measuring {len(subsets)} subsets of a NUMA node's cores, for about {_BUDGET_S:.0f} s at most")
    begin, size_mib = time.monotonic(), _array_mib(machine, largest, len(domains))
    measurements = []
    for at, subset in enumerate(subsets):
        left_s = _BUDGET_S - (time.monotonic() - begin)
        share_s = min(_SUBSET_S, left_s / (len(subsets) - at))
        measurements.append(_measured(host, subset, usable, size_mib, share_s, say))
    best = saturation_of(tuple(measurements))
    if len(domains) > 1 and best:
        some = tuple(core for domain in domains for core in domain[:: best.spacing][: best.cores])
        node_subsets = [_Subset(some, best.spacing, "node")]
        node_subsets += [_Subset(cores, 1, "node")] if len(some) < len(cores) else []
        size_mib = _array_mib(machine, cores, 1)
        measurements += [_measured(host, subset, usable, size_mib, _SUBSET_S, say) for subset in node_subsets]
    return tuple(measurements)


def _array_mib(machine: Machine, cores: tuple[Core, ...], domains: int) -> int:
    """Return an array size that is large compared with the caches and fits into the memory."""
    pus = {pu for core in cores for pu in core.pus}
    caches = [cache for cache in machine.topology.caches if pus.intersection(cache.pus)]
    last = max((cache.level for cache in caches), default=0)
    size_mib = _CACHES * sum(cache.size_bytes for cache in caches if cache.level == last) >> 20
    memory = min(machine.memory.available_bytes, machine.memory.limit_bytes or machine.memory.available_bytes)
    return max(8, min(max(size_mib, _LEAST_MIB), memory // domains // _SHARE >> 20))


def _measured(
    host: Host, subset: _Subset, usable: set[int], size_mib: int, share_s: float, say: Say
) -> Bandwidth:
    pus = [str(next(pu for pu in core.pus if pu in usable)) for core in subset.cores]
    limits = ["--repeats", str(_REPEATS), "--ms", str(max(1, int(share_s * 1000)))]
    argv = [native_part("probe-stream"), "--mib", str(size_mib), *limits, *pus]
    done = host.run(argv, timeout_s=_LIMIT_S)
    if done.status != 0:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise MpiricError(
            f"memory bandwidth of {len(pus)} cores cannot be measured: {last}",
            hint="give a measurement of this machine with --bandwidth FILE",
        )
    mb_s = float(json.loads(done.stdout)["triad_mb_s"])
    where = "a NUMA node" if subset.domain == "numa" else "the node"
    apart = f", every {subset.spacing}. one" if subset.spacing > 1 else ""
    say(f"{len(pus)} core{'s' if len(pus) > 1 else ''} of {where}{apart}: {mb_s:.0f} MB/s")
    return Bandwidth(len(pus), subset.spacing, mb_s, subset.domain)
