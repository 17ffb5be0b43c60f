"""The words mpiric writes for srun, given to real Slurm on nodes that it takes for other machines."""

import re
from dataclasses import replace

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.lab.slurm.config import SlurmPlan
from tests.support.absent_machines import MACHINES, REQUESTS
from tests.support.slurm_lab import NEEDS, slurm_lab

from mpiric.host.facts.local import LocalHost
from mpiric.launchers import emit
from mpiric.machine import read_topology
from mpiric.model.placement import PlacementRequest
from mpiric.placement import plan

pytestmark = pytest.mark.requires(*NEEDS)


def geometry(topology):
    """Return the description of a node in slurm.conf; with unlike cores, each hardware thread is a core."""
    cpus, cores = len(topology.pus), len(topology.cores)
    even = all(len(core.pus) == cpus // cores for core in topology.cores)
    sockets = len(topology.packages)
    per_socket = (cores if even else cpus) // sockets
    threads = cpus // cores if even else 1
    return (
        f"CPUs={cpus} Sockets={sockets} CoresPerSocket={per_socket} ThreadsPerCore={threads} RealMemory=2000"
    )


@pytest.fixture(scope="module", params=MACHINES)
def node(request, tmp_path_factory):
    """Cluster of one node that simulates another machine, and the topology of that machine."""
    place, source = tmp_path_factory.mktemp("lab"), MACHINES[request.param]
    xml = LocalHost().topology_xml(source if isinstance(source, str) else source.read_text())
    (place / "topology.xml").write_text(xml)
    topology = read_topology(xml)
    with slurm_lab(place, ("big",), SlurmPlan(geometry(topology), str(place / "topology.xml"))) as state:
        yield state, topology


@pytest.fixture
def three(tmp_path):
    """Three nodes of 8 cores."""
    topology = read_topology(LocalHost().topology_xml("pack:2 core:4 pu:1"))
    with slurm_lab(tmp_path, ("a", "b", "c"), SlurmPlan(geometry(topology), "pack:2 core:4 pu:1")) as state:
        yield state, topology


def masks(lab, command):
    """Return the masks that slurmd set for each task of ``command``."""
    verbose = [
        word.replace("--cpu-bind=", "--cpu-bind=verbose,")
        for word in command
        if not word.startswith(("--gpu", "--mem-bind"))  # this machine has neither
    ]
    whole_nodes = ["salloc", "--quiet", "--exclusive", "--nodes=1"]
    done = cluster.run(lab, "big", [*whole_nodes, *verbose, "/bin/true"], clean_environment(), timeout=60)
    output = re.findall(r"task\s+(\d+)\s+\d+ \[\d+\]: mask (0x[0-9A-Fa-f]+) set", done.stderr)
    assert output, done.stderr
    return [int(mask, 16) for _, mask in sorted(output, key=lambda entry: int(entry[0]))]


@pytest.mark.parametrize("request_name", REQUESTS)
def test_slurm_binds_as_planned(node, request_name):
    lab, topology = node
    placement = plan(topology, PlacementRequest(nodes=1, **REQUESTS[request_name]))
    first = {core.pus[0] for core in topology.cores}
    every = len(topology.pus) % len(topology.cores) == 0
    assert masks(lab, emit(placement, "srun").argv) == [
        sum(1 << pu for pu in seat.pus if every or pu in first) for seat in placement.seats
    ]


def test_slurm_gives_the_cores_that_an_even_share_would_leave_over(node):
    lab, topology = node
    placement = plan(topology, PlacementRequest(5, 1, nodes=1, policy="compact", leave_cores=0))
    cores = topology.cores[-5:]
    moved = replace(
        placement,
        seats=tuple(
            replace(seat, threads=(core.pus,), cores=(core,))
            for seat, core in zip(placement.seats, cores, strict=True)
        ),
    )
    every = len(topology.pus) % len(topology.cores) == 0
    assert masks(lab, emit(moved, "srun").argv) == [
        sum(1 << pu for pu in core.pus[: None if every else 1]) for core in cores
    ]


def test_the_last_node_may_have_fewer_ranks_than_the_others(three):
    lab, topology = three
    placement = plan(topology, PlacementRequest(10, 2, nodes=3))
    show = "echo $SLURM_PROCID $(hostname) $SLURM_CPU_BIND_LIST"
    line = ["salloc", "--quiet", "--exclusive", "--nodes=3", *emit(placement, "srun").argv, "sh", "-c", show]
    done = cluster.run(lab, "a", line, clean_environment(), timeout=60)
    observed = sorted((int(fields[0]), fields[1]) for fields in map(str.split, done.stdout.splitlines()))
    assert observed == [(place.rank, "abc"[place.node]) for place in placement.ranks], done.stderr
