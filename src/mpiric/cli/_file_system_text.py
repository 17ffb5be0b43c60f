"""A file system in `mpiric machine`: room, what it is made of, and the MPI drivers that serve it."""

from collections.abc import Iterator

from mpiric.model.amount import size
from mpiric.model.machine import FileSystem
from mpiric.model.storage import ALL_TARGETS, FileLayout, Stripes


def file_system_lines(system: FileSystem) -> Iterator[str]:
    """One line of what every file system has, then one each of servers and of drivers where they matter."""
    kind = f"{system.kind}{', network' if system.is_network else ''}"
    yield f"{system.path}: {kind}, {size(system.free_bytes)} free of {size(system.size_bytes)}"
    if parts := list(_parts(system)):
        yield f"  {', '.join(parts)}"
    if system.is_network and system.mpi_drivers:
        drivers = (f"{label} {driver or 'none known'}" for label, driver in system.mpi_drivers.items())
        yield f"  served by the driver of {', '.join(drivers)}"


def _parts(system: FileSystem) -> Iterator[str]:
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
    """`1 × 1 MiB to 4 MiB, then all × 4 MiB`."""
    return ", then ".join(_stripes(extent) for extent in layout.stripes)


def _stripes(extent: Stripes) -> str:
    count = "all" if extent.count == ALL_TARGETS else str(extent.count)
    end = f" to {size(extent.end_bytes)}" if extent.end_bytes is not None else ""
    return f"{count} × {size(extent.size_bytes)}{end}"
