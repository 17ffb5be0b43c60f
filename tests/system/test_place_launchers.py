"""The words mpiric writes, given to the launchers themselves on machines that are not here."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.absent_machines import MACHINES, REQUESTS

from mpiric.host.facts.local import LocalHost
from mpiric.launchers import emit
from mpiric.machine import read_topology
from mpiric.model.machine import Topology
from mpiric.model.placement import Emission, PlacementRequest, Plan
from mpiric.placement import plan

DRY = ("--display", "map", "--rtos", "donotlaunch", "hostname")


@dataclass(frozen=True)
class Elsewhere:
    """Another machine: its topology, and a file of the topology for launchers."""

    topology: Topology
    file: Path

    def plan(self, **request) -> Plan:
        return plan(self.topology, PlacementRequest(**request))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Callable[[str], Elsewhere]:
    def machine_named(name: str) -> Elsewhere:
        source = MACHINES[name]
        xml = LocalHost().topology_xml(source.read_text() if isinstance(source, Path) else source)
        assert xml
        file = tmp_path / "topology.xml"
        file.write_text(xml)
        return Elsewhere(read_topology(xml), file)

    return machine_named


def _ranges(text: str) -> list[int]:
    results: list[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        results += range(int(low), int(high or low) + 1)
    return results


def _prrte_binding(text: str, topology: Topology) -> set[int]:
    """PRRTE prints cores by hwloc's numbers and, whatever its letter says, ``hwt`` by the kernel's."""
    pus: set[int] = set()
    for kind, numbers in re.findall(r"\[(core|hwt):L([\d,-]+)\]", text):
        pus |= {
            pu
            for number in _ranges(numbers)
            for pu in (topology.cores[number].pus if kind == "core" else (number,))
        }
    return pus


def _write(emission: Emission, place: Path) -> None:
    for name, text in emission.files.items():
        (place / name).write_text(text)


@pytest.mark.requires("mpi:openmpi")
@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("machine", MACHINES)
def test_prrte_binds_as_planned(machine, request_name, elsewhere, mpi_prefix, environment, tmp_path):
    target, prefix = elsewhere(machine), mpi_prefix("openmpi")
    placement = target.plan(nodes=1, **REQUESTS[request_name])
    emission = emit(placement, "openmpi5")
    _write(emission, tmp_path)
    slots = [
        "--prtemca",
        "hwloc_use_topo_file",
        str(target.file),
        "--host",
        f"localhost:{len(target.topology.pus)}",
    ]
    done = subprocess.run(
        [str(prefix / "bin/mpirun"), *slots, *emission.argv[1:], *DRY],
        env={**environment, "LD_LIBRARY_PATH": f"{prefix}/lib:{prefix}/lib/openmpi"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    lines = re.findall(r"^\s*Binding: (.*)$", done.stdout, re.MULTILINE)
    assert [_prrte_binding(line, target.topology) for line in lines] == [
        set(seat.pus) for seat in placement.seats
    ], done.stdout + done.stderr


def _hydra_masks(text: str) -> list[set[int]]:
    matches = dict(re.findall(r"process (\d+) binding: ([01]+)", text))
    return [{pu for pu, bit in enumerate(matches[rank]) if bit == "1"} for rank in sorted(matches, key=int)]


@pytest.mark.requires("mpi:mpich")
@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("machine", MACHINES)
def test_hydra_binds_as_planned(machine, request_name, elsewhere, mpi_prefix, environment, tmp_path):
    target, prefix = elsewhere(machine), mpi_prefix("mpich")
    placement = target.plan(nodes=1, **REQUESTS[request_name])
    emission = emit(placement, "hydra")
    for _ in range(4):  # if a program ends at once, hydra sometimes loses the output of its proxy
        done = subprocess.run(
            [str(prefix / "bin/mpiexec"), *emission.argv[1:], "/bin/true"],
            env={**environment, **emission.env, "HWLOC_XMLFILE": str(target.file), "HYDRA_TOPO_DEBUG": "1"},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        printed = done.stdout + done.stderr
        if len(_hydra_masks(printed)) == len(placement.seats):
            break
    assert _hydra_masks(printed) == [set(seat.pus) for seat in placement.seats], printed


NODES = {
    "levels": {"ranks": 7, "threads": 2, "policy": "compact"},
    "list": {"ranks": 7, "bandwidth_bound": True},
    "rankfile": {"ranks": 7, "threads": 2, "bandwidth_bound": True},
}


@pytest.mark.requires("mpi:openmpi")
@pytest.mark.parametrize("form", NODES)
def test_prrte_fills_two_nodes_as_planned(form, elsewhere, mpi_prefix, environment, tmp_path):
    target, prefix = elsewhere("betzy"), mpi_prefix("openmpi")
    placement = target.plan(nodes=2, **NODES[form])
    emission = emit(placement, "openmpi5")
    _write(emission, tmp_path)
    parameters = {"ras": "simulator", "ras_simulator_num_nodes": "2", "ras_simulator_slots": "128"}
    parameters["hwloc_use_topo_file"] = str(target.file)
    command = [word for name, value in parameters.items() for word in ("--prtemca", name, value)]
    done = subprocess.run(
        [str(prefix / "bin/mpirun"), *command, *emission.argv[1:], *DRY],
        env={**environment, **emission.env, "LD_LIBRARY_PATH": f"{prefix}/lib:{prefix}/lib/openmpi"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    nodes = re.split(r"^\s*Data for node:", done.stdout, flags=re.MULTILINE)[1:]
    bound = [
        [
            _prrte_binding(line, target.topology)
            for line in re.findall(r"Binding: (package.*)$", node, re.MULTILINE)
        ]
        for node in nodes
    ]
    seats = [set(seat.pus) for seat in placement.seats]
    assert bound == [seats, seats[:3]], done.stdout + done.stderr
