"""`mpiric machine`: show topology, networks, MPI libraries and compilers."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mpiric.cli._json import print_json
from mpiric.cli._options import cli_command, json_option, option
from mpiric.cli._terminal import status_line, stdout_console
from mpiric.cli._topology_picture import topology_picture
from mpiric.host.facts.local import LocalHost
from mpiric.model.amount import size
from mpiric.model.errors import Finding
from mpiric.model.machine import FileSystem, Machine, Nic, pu_list
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.storage import ALL_TARGETS, FileLayout, Stripes
from mpiric.workflows.machine import Survey, survey, topology


def survey_text(survey: Survey) -> RenderableType:
    """Return a picture of the topology, facts, MPI libraries and findings."""
    machine = survey.machine
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in _rows(replace(machine, file_systems=survey.file_systems)):
        table.add_row(Text(name), Text(text))
    parts: list[RenderableType] = [
        Text(f"{machine.host_name}: {machine.system}, kernel {machine.kernel}, {machine.libc}", style="bold"),
        topology_picture(machine.topology, machine.usable_pus, machine.cpu.model),
        Text(),
        table,
        Text(),
        mpi_table(survey.mpis),
    ]
    if survey.findings:
        parts += [Text(), Text("Findings", style="bold"), *(_finding(f) for f in survey.findings)]
    return Group(*parts)


def mpi_table(mpis: tuple[MpiLibrary, ...]) -> RenderableType:
    """Return a line per library, then the launchers, each on a line to copy."""
    if not mpis:
        return Text("no MPI library found", style="yellow")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("MPI", "version", "ABI", "found by", "transports"):
        table.add_column(heading, no_wrap=heading != "transports")
    for mpi in mpis:
        table.add_row(
            mpi.implementation,
            mpi.version,
            ", ".join(family.value for family in mpi.abi_families),
            mpi.found_by + (f" {mpi.module}" if mpi.module else ""),
            " ".join(mpi.transports),
        )
    lines = (Text(f"  {mpi.label}: {mpi.launcher or 'no launcher'}", overflow="fold") for mpi in mpis)
    return Group(table, Text("launchers", style="bold"), *lines)


def _rows(machine: Machine) -> Iterator[tuple[str, str]]:
    cpu = machine.cpu
    yield "CPU", f"{cpu.target} ({cpu.generic})"
    usable = machine.usable_pus
    text = f"{len(machine.usable_cores)} cores, hardware threads {pu_list(usable)}"
    quota = machine.limits.cgroup_cpus
    yield "usable", text + (f", CPU time for {quota:g}" if quota else "")
    if distances := sorted({d for node in machine.topology.numa_nodes for d in node.distances}):
        yield "NUMA", f"{len(machine.topology.numa_nodes)} nodes, distances {', '.join(map(str, distances))}"
    memory = machine.memory
    text = f"{size(memory.total_bytes)}, {size(memory.available_bytes)} available"
    yield "memory", text + (f", limited to {size(memory.limit_bytes)}" if memory.limit_bytes else "")
    yield "pages", _pages(machine)
    locked = machine.limits.locked_memory_bytes
    files = machine.limits.open_files
    yield (
        "limits",
        (
            f"locked memory {'unlimited' if locked < 0 else size(locked)}, "
            f"open files {'unlimited' if files < 0 else files}"
        ),
    )
    yield from (("network", _nic(nic)) for nic in machine.nics if nic.up and nic.kind != "loopback")
    yield from (("files", line) for system in machine.file_systems for line in file_system_lines(system))
    yield "compilers", ", ".join(f"{c.name} {c.version}".strip() for c in machine.compilers) or "none on PATH"
    yield "scheduler", machine.scheduler or "none"
    if machine.preloads:
        yield "allocators", ", ".join(name for name, _ in machine.preloads)
    if machine.blas_libraries:
        yield "BLAS", ", ".join(name for name, _ in machine.blas_libraries)


def _pages(machine: Machine) -> str:
    pages = machine.memory.pages
    reserved = f"{pages.huge_free} of {pages.huge_reserved} reserved {size(pages.huge_size_bytes)} pages free"
    return (
        f"{size(pages.size_bytes)}; transparent huge pages: {pages.transparent or 'unknown'}"
        f" (defrag {pages.transparent_defrag or 'unknown'}); "
        + (reserved if pages.huge_reserved else "no huge pages reserved")
    )


def _nic(nic: Nic) -> str:
    speed = f"{nic.speed_mbit / 1000:g} Gbit/s" if nic.speed_mbit >= 1000 else f"{nic.speed_mbit} Mbit/s"
    parts = [nic.kind, "up" if nic.up else "down"]
    parts += [speed] if nic.speed_mbit else []
    parts += [f"mtu {nic.mtu}"] if nic.mtu else []
    parts += [f"NUMA {nic.numa_node}"] if nic.numa_node >= 0 else []
    return f"{nic.name}: {', '.join([*parts, *nic.addresses[:2]])}"


def _finding(finding: Finding) -> RenderableType:
    text = Text(finding.says, style="yellow")
    text.append(f" ({finding.evidence})", style="default")
    return Group(Padding(text, (0, 0, 0, 2)), Padding(Text(finding.fix), (0, 0, 0, 4)))


def file_system_lines(system: FileSystem) -> Iterator[str]:
    """Yield kind and space, then properties of the servers, then the MPI drivers of a network file system."""
    kind = f"{system.kind}{', network' if system.is_network else ''}"
    yield f"{system.path}: {kind}, {size(system.free_bytes)} free of {size(system.size_bytes)}"
    if properties := list(_properties(system)):
        yield f"  {', '.join(properties)}"
    if system.is_network and system.mpi_drivers:
        drivers = (f"{label} {driver or 'none known'}" for label, driver in system.mpi_drivers.items())
        yield f"  MPI-IO drivers: {', '.join(drivers)}"


def _properties(system: FileSystem) -> Iterator[str]:
    if system.targets:
        yield f"{system.targets} target{'s' * (system.targets > 1)}"
    if system.metadata_servers:
        yield f"{system.metadata_servers} metadata server{'s' * (system.metadata_servers > 1)}"
    if system.default_layout:
        yield f"default layout {layout_text(system.default_layout)}"
    if system.quota_free_bytes is not None:
        yield f"quota leaves {size(system.quota_free_bytes)}"
    if system.is_network and system.locks in {"none", "this node"}:
        yield "no flock" if system.locks == "none" else "flock holds on one node only"
    if not system.is_writable:
        yield "read-only"


def layout_text(layout: FileLayout) -> str:
    """Return a layout as ``1 × 1 MiB to 4 MiB, then all × 4 MiB``."""
    return ", then ".join(_stripes(extent) for extent in layout.stripes)


def _stripes(extent: Stripes) -> str:
    count = "all" if extent.count == ALL_TARGETS else str(extent.count)
    end = f" to {size(extent.end_bytes)}" if extent.end_bytes is not None else ""
    return f"{count} × {size(extent.size_bytes)}{end}"


@cli_command("machine")
@json_option
@option(
    "--topology",
    "source",
    "FILE|SYNTHETIC",
    "Show this topology instead: an XML file of hwloc, or a description in hwloc's synthetic "
    "syntax, as in the last example.",
)
def command(*, as_json: bool, source: str) -> None:
    """Show topology, CPU, networks, MPI libraries and compilers."""
    host = LocalHost()
    console = stdout_console()
    if source:
        other = topology(host, source)
        if as_json:
            print_json({"topology": other})
        else:
            console.print(topology_picture(other))
        return
    with status_line("reading the machine and its MPI libraries"):
        result = survey(host, str(Path.cwd()))
    if as_json:
        print_json(result)
    else:
        console.print(survey_text(result))
    sys.stdout.flush()
