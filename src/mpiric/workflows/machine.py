"""Description of this machine: hardware, system, MPI libraries, and findings."""

from dataclasses import replace

from mpiric.host.host import Host
from mpiric.machine import load_topology, notice, read_machine
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding
from mpiric.model.machine import FileSystem, Machine, Topology
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis
from mpiric.storage import served_by, storages


@dataclass(frozen=True)
class Survey:
    """Data of `mpiric machine`."""

    machine: Machine
    mpis: tuple[MpiLibrary, ...]
    findings: tuple[Finding, ...]
    # File systems of the machine, with the drivers of its MPI libraries.
    file_systems: tuple[FileSystem, ...] = ()


def survey(host: Host, working_directory: str) -> Survey:
    """Read the machine, find its MPI libraries, report findings."""
    machine = read_machine(host, working_directory)
    mpis = find_mpis(host)
    findings = notice(machine)
    if not mpis:
        findings = (
            Finding(
                "no-mpi",
                "No MPI library was found.",
                "searched PATH, modules, conda, /opt and the system's libraries",
                "mpiric mpi install mpich, or load the module of an MPI library",
            ),
            *findings,
        )
    systems = _with_drivers(machine.file_systems, mpis)
    return Survey(machine, mpis, (*findings, *_without_driver(systems)), systems)


def _with_drivers(systems: tuple[FileSystem, ...], mpis: tuple[MpiLibrary, ...]) -> tuple[FileSystem, ...]:
    """Add the driver of each MPI library that would serve it to each file system."""
    return tuple(
        replace(system, mpi_drivers={mpi.label: served_by(system.kind, mpi.file_drivers) for mpi in mpis})
        for system in systems
    )


def _without_driver(systems: tuple[FileSystem, ...]) -> tuple[Finding, ...]:
    """Return findings on MPI libraries that ignore layout hints, because they lack the driver."""
    findings = []
    for system in systems:
        drivers = storages()[system.kind].drivers if system.kind in storages() else ()
        without = [label for label, driver in system.mpi_drivers.items() if driver not in drivers]
        if not (drivers and without and storages()[system.kind].render):
            continue
        with_driver = [label for label in system.mpi_drivers if label not in without]
        findings.append(
            Finding(
                "no-file-driver",
                f"Hints on striping (striping_factor) are silently ignored on {system.mount_point}.",
                f"{', '.join(without)}: no driver for {storages()[system.kind].title} built in",
                "set the layout of the output directory before the run"
                + (f", or run under {' or '.join(with_driver)}" if with_driver else ""),
            )
        )
    return tuple(findings)


def topology(host: Host, source: str) -> Topology:
    """Return another machine's topology, from a file or a synthetic description."""
    return load_topology(host, source)
