"""What this machine is: hardware, system and MPI libraries, and what is worth noticing."""

from dataclasses import dataclass

from mpiric.host.host import Host
from mpiric.machine import load_topology, notice, read_machine
from mpiric.model.finding import Finding
from mpiric.model.machine import Machine, Topology
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis


@dataclass(frozen=True)
class Survey:
    """Everything `mpiric machine` shows."""

    machine: Machine
    mpis: tuple[MpiLibrary, ...]
    findings: tuple[Finding, ...]


def survey(host: Host, working_directory: str) -> Survey:
    """Read the machine, find its MPIs, say what stands out."""
    machine = read_machine(host, working_directory)
    mpis = find_mpis(host)
    findings = notice(machine)
    if not mpis:
        findings = (_no_mpi(), *findings)
    return Survey(machine, mpis, findings)


def topology(host: Host, source: str) -> Topology:
    """Another machine's topology, from a file or a synthetic description."""
    return load_topology(host, source)


def _no_mpi() -> Finding:
    return Finding(
        "no-mpi",
        "No MPI library was found.",
        "looked on PATH, in modules, conda, /opt and the system's libraries",
        "mpiric mpi install mpich, or load the module that brings one",
    )
