"""Plan where ranks and threads go, and the options and files by which each launcher puts them there."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mpiric import launchers
from mpiric.host.files import text_of
from mpiric.host.host import Host
from mpiric.machine import load_topology, read_machine
from mpiric.machine.gpus import local_gpus
from mpiric.model.job import HostSlots
from mpiric.model.placement import Bandwidth, Emission, PlacementRequest, Plan
from mpiric.placement import plan
from mpiric.placement.rankfile import Numbers, plan_rankfile, read_rankfile
from mpiric.workflows.placement.measure_bandwidth import Say, measure_bandwidth


@dataclass(frozen=True)
class Placed:
    """A plan, and each launcher's words for it; several plans are those of nodes that differ."""

    plans: tuple[Plan, ...]
    launchers: Mapping[str, Emission]
    runtimes: Mapping[str, Mapping[str, str]]  # OpenMP runtimes that want words of their own
    title: str

    @property
    def plan(self) -> Plan:
        """The plan of the first nodes."""
        return self.plans[0]


def place(
    host: Host, request: PlacementRequest, source: str, working_directory: str, pus: tuple[int, ...] = ()
) -> Placed:
    """Plan for another machine's topology, or for this one within affinity and control group.

    ``pus`` restricts it further. Raises MpiricError when the job does not fit.
    """
    if source:
        made, title = plan(load_topology(host, source), request, pus), source
    else:
        machine = read_machine(host, working_directory)
        usable = tuple(pu for pu in machine.usable_pus if not pus or pu in pus)
        gpus = local_gpus(host)
        made = plan(machine.topology, request, usable, machine.limits.cgroup_cpus, gpus)
        title = machine.host_name
    return Placed((made,), launchers.emit_all((made,)), launchers.runtime_variables(made), title)


def place_rankfile(
    host: Host, path: str, numbers: Numbers, source: str, working_directory: str, threads: int = 0
) -> Placed:
    """The plans that a rankfile stands for, and every launcher's words for it. Raises MpiricError."""
    text = text_of(host, path, "rankfile", "mpiric place --rankfile FILE")
    topology = load_topology(host, source) if source else read_machine(host, working_directory).topology
    layout = plan_rankfile(topology, read_rankfile(text), numbers, threads)
    alike = len(layout) == 1  # else the words of a runtime would hold for some nodes only
    return Placed(
        layout, launchers.emit_all(layout), launchers.runtime_variables(layout[0]) if alike else {}, path
    )


def host_files(placed: Placed) -> dict[str, str]:
    """Name → contents of a host file in the form of each launcher; empty when no hosts were named."""
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
    """The same after a sweep over core subsets of this machine."""
    measured = measure_bandwidth(host, read_machine(host, working_directory), say)
    measuring = replace(request, measured=measured, bandwidth_bound=True)
    return place(host, measuring, "", working_directory), measured
