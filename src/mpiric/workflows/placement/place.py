"""Placement plans for ranks and threads, with the options and files for each launcher."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mpiric import launchers
from mpiric.host.files import text_of
from mpiric.host.host import Host
from mpiric.machine import load_topology, read_machine
from mpiric.machine.system import local_gpus
from mpiric.model.job import HostSlots
from mpiric.model.placement import Bandwidth, Emission, PlacementRequest, Plan
from mpiric.placement import plan
from mpiric.placement.rankfile import Numbers, plan_rankfile, read_rankfile
from mpiric.workflows.placement.measure_bandwidth import Say, measure_bandwidth


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
        gpus = local_gpus(host)
        new_plan = plan(machine.topology, request, usable, machine.limits.cgroup_cpus, gpus)
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
