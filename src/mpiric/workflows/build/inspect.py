"""`mpiric inspect` and `mpiric extract`: content of an executable, and extraction of a variant."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from mpiric.abi import MpiRoute, Server, Serving, can_serve, mpi_sonames, route
from mpiric.build.cluster import machines_of
from mpiric.build.compilers import families
from mpiric.build.inspection import (
    Inspection,
    extract,
    features_here,
    inspect_file,
    read_executable,
    reading_elf,
    rounding_differs,
)
from mpiric.build.targets import canonical, generic_features
from mpiric.host.facts.elf import read_elf
from mpiric.host.host import Host
from mpiric.host.owned_files import may_be_replaced, open_new, write_whole
from mpiric.host.toolchain import Toolchain
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.mpis import abi_of_program, find_mpis, libraries_needed_by, mpi_calls, mpi_names
from mpiric.workflows.launch.interchange import lacking, with_stand_ins


@dataclass(frozen=True)
class Report:
    """Data of `mpiric inspect`."""

    inspection: Inspection
    chosen_here: str
    by_generation: dict[str, str]
    may_round_differently: bool
    abi: str  # ABI family, "" without MPI
    soname: str
    servers: tuple[Server, ...]
    routes: tuple[MpiRoute, ...] = ()


def inspect(
    path: Path, host: Host, toolchain: Toolchain, watch: Callable[[str], None] = lambda _: None
) -> Report:
    """Inspect the file, and find the MPI libraries of this machine that can run it."""
    inspection = inspect_file(path, toolchain, watch)
    watch("asking the MPI libraries")
    rounding = [word for family in families().values() for word in family.flag_list("rounding")]
    elf = read_elf(str(path))
    family = abi_of_program(host, str(path))
    sonames = mpi_sonames(elf.needed) if elf else ()
    soname = sonames[0] if sonames else ""
    libraries = with_stand_ins(find_mpis(host), str(path), host) if family else ()
    names = mpi_names(host, (str(path), *libraries_needed_by(host, str(path))))
    servers = can_serve(family, soname, libraries, names)
    return Report(
        inspection=inspection,
        chosen_here=_chosen_here(inspection),
        by_generation=inspection.by_generation() if inspection.variants and not inspection.is_object else {},
        may_round_differently=rounding_differs(inspection.variants, rounding),
        abi=family.value if family else "",
        soname=soname,
        servers=tuple(server for server in servers if server.how is not Serving.TRANSLATED),
        routes=_routes(family, soname, names, libraries, path, host) if family else (),
    )


def _routes(
    family: AbiFamily,
    soname: str,
    names: frozenset[str],
    libraries: Sequence[MpiLibrary],
    path: Path,
    host: Host,
) -> tuple[MpiRoute, ...]:
    calls = mpi_calls(host, (str(path), *libraries_needed_by(host, str(path))))
    return tuple(
        route(family, soname, library, lacking(library, calls, host), names) for library in libraries
    )


def same_everywhere(path: Path, targets: Sequence[str], toolchain: Toolchain) -> str:
    """Return the best variant for all machines of a cluster; with it alone, results agree bit by bit.

    ``targets`` are the machines' CPU types; without any the cluster is queried.
    """
    inspection = inspect_file(path, toolchain)
    names = [canonical(t, inspection.machine) for t in targets] or machines_of(toolchain, inspection.machine)
    chosen = inspection.chosen_by_all([generic_features(name) for name in names])
    if not chosen:
        raise MismatchError(f"no variant of {path} runs on all of {', '.join(names)}")
    return chosen


def extract_to(path: Path, target: str, output: Path) -> None:
    """Write the executable with one variant; runs of zeros become holes."""
    executable = read_executable(path)
    with reading_elf(path):
        data = extract(executable, target)
    if not may_be_replaced(output):  # a device, or a link of the user's own
        write_whole(output, data)
        return
    output.unlink(missing_ok=True)
    with os.fdopen(open_new(output, 0o666), "wb") as file:
        for at in range(0, len(data), 4096):
            page = data[at : at + 4096]
            if page.count(0) == len(page):
                file.seek(len(page), os.SEEK_CUR)
            else:
                file.write(page)
        file.truncate(len(data))
        os.fchmod(file.fileno(), path.stat().st_mode & 0o777)


def _chosen_here(inspection: Inspection) -> str:
    """Return the variant for this machine; "" for an object or another architecture."""
    features = features_here(inspection.machine)
    if not features or inspection.is_object:
        return ""
    return inspection.chosen_by(features) if inspection.variants else inspection.baseline
