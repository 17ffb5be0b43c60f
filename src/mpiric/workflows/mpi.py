"""`mpiric mpi`: install MPI libraries from PyPI, find installed ones, and test them."""

import re
import time
from contextlib import ExitStack
from pathlib import Path
from posixpath import dirname
from typing import Any

from mpiric import launchers
from mpiric.host.host import Host
from mpiric.host.installation.native import library_under_name, native_part
from mpiric.host.installation.prefixes import install_package
from mpiric.host.installation.stand_ins import fortran_in, stand_ins, write_stand_in
from mpiric.host.owned_files import write_whole
from mpiric.host.user_directories import homes, installed_prefixes
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.json_text import is_number, json_lines
from mpiric.model.mpi_library import AbiFamily, MpiLibrary, MpiPackage
from mpiric.model.quoting import tcl_word, variable_name
from mpiric.model.translation import Serves, can_translate, is_native, serves
from mpiric.mpis import find_mpis, packages
from mpiric.workflows.launch.interchange import LET_IT_START, conforming, wrong_constants

_CHECK_LIMIT_S = 60
_SONAMES = {AbiFamily.MPICH: "libmpi.so.12", AbiFamily.OPENMPI: "libmpi.so.40"}


@dataclass(frozen=True)
class Installed:
    """Prefix, and whether it existed before."""

    package: MpiPackage
    prefix: str
    was_there: bool
    elapsed_s: float


def package_named(name: str) -> MpiPackage:
    """Return the package with this name for `mpi install`."""
    if name not in packages():
        raise NotFoundError(f"the MPI {name!r} is not available", hint=f"one of {', '.join(packages())}")
    return packages()[name]


def install(host: Host, name: str) -> Installed:
    """Install an MPI library into its own prefix, unless it exists."""
    package = package_named(name)
    present = installed_prefixes(host.environ).get(package.label)
    begin = time.monotonic()
    prefix = present or install_package(package, homes(host.environ)[0])
    return Installed(package, str(prefix), present is not None, time.monotonic() - begin)


def prefix_named(host: Host, name: str) -> str:
    """Return the prefix of an MPI library by name or label; mpiric's prefixes come first, then the newest.

    ``mpich``, ``mpich-5.0.2`` and ``mpich-5`` are all valid.
    """
    installed = [(label, str(prefix)) for label, prefix in installed_prefixes(host.environ).items()]
    for candidates in (
        installed,
        [(mpi.label, mpi.prefix) for mpi in find_mpis(host)] if not _named(installed, name) else [],
    ):
        if matches := _named(candidates, name):
            return max(matches, key=lambda entry: _version_key(entry[0]))[1]
    hint = f"mpiric mpi install {name}" if name in packages() else "see 'mpiric mpi list'"
    raise NotFoundError(f"no MPI {name!r} is installed", hint=hint)


def _named(candidates: list[tuple[str, str]], name: str) -> list[tuple[str, str]]:
    return [
        (label, prefix)
        for label, prefix in candidates
        if label == name or label.startswith((f"{name}-", f"{name}."))
    ]


def _version_key(label: str) -> tuple[int, ...]:
    return tuple(int(part) for part in label.rpartition("-")[2].split(".") if part.isdigit())


def served_by(host: Host, mpi: MpiLibrary) -> tuple[Serves, ...]:
    """Return how a library serves programs of each ABI family."""
    return serves(conforming(mpi, host), stand_ins())


@dataclass(frozen=True)
class StandIn:
    """Directory in which a library serves programs of another ABI family."""

    directory: str
    library: MpiLibrary
    modulefile: str


def stand_in(host: Host, family: str, label: str, directory: Path) -> StandIn:
    """Write a translation library for programs of a family to a directory, with a modulefile."""
    families = {member.value: member for member in AbiFamily}
    if family not in families:
        raise NotFoundError(f"unknown ABI family {family!r}", hint=f"one of {', '.join(families)}")
    libraries = [
        mpi
        for mpi in find_mpis(host)
        if mpi.label == label or mpi.label.startswith((f"{label}-", f"{label}."))
    ]
    if not libraries:
        raise NotFoundError(f"no MPI {label!r} is installed", hint="see 'mpiric mpi list'")
    library, program = max(libraries, key=lambda mpi: _version_key(mpi.label)), families[family]
    native = is_native(program, conforming(library, host)) and not conforming(library, host).repair
    if native or not can_translate(program, library):
        why = "has that ABI itself" if native else f"no stand-in exists for the {family} ABI over it"
        raise MpiricError(f"{library.label}: {why}", hint="mpiric mpi list shows what each library serves")
    place = directory.absolute()
    try:
        path = write_stand_in(place, program, library)
        modulefile = place / f"{family}-by-{library.label}"
        write_whole(modulefile, _module(place, path, program, library).encode())
    except OSError as error:
        raise MpiricError(
            f"{place} cannot be written: {error.strerror}", hint="name another directory"
        ) from error
    return StandIn(str(place), library, str(modulefile))


def _module(directory: Path, path: str, family: AbiFamily, library: MpiLibrary) -> str:
    """Write a modulefile that puts the translation library before programs, and the library's launcher first.

    A launcher forwards only part of its environment to other hosts: other variables are added to the list
    of variables that it forwards.
    """
    searched = [*library.search_path, *([dirname(library.launcher)] if library.launcher else [])]
    lines = [f"setenv {variable_name(name)} {tcl_word(value)}" for name, value in library.environment.items()]
    lines += [
        f"prepend-path LD_LIBRARY_PATH {tcl_word(directory_before)}"
        for directory_before in reversed((str(directory), *library.library_path))
    ]
    lines += [
        f"prepend-path PATH {tcl_word(program_directory)}"
        for program_directory in reversed(dict.fromkeys(searched))
    ]
    # mpiric's library replaces Open MPI's Fortran library, but comes after MPICH's, if a program has it.
    if (fortran := fortran_in(directory, family)) and family is AbiFamily.OPENMPI:
        lines.append(f"prepend-path LD_PRELOAD {tcl_word(fortran)}")
    elif fortran:
        lines.append(f"append-path LD_LIBRARY_PATH {tcl_word(dirname(fortran))}")
    lines.append(f"prepend-path LD_PRELOAD {tcl_word(path)}")
    launcher = launchers.dialects().get(library.dialect)
    if launcher is not None and launcher.travel_list:
        names = dict.fromkeys(("LD_PRELOAD", "LD_LIBRARY_PATH", *library.environment))
        lines += [
            f"append-path -d {{;}} {launcher.travel_list} {variable_name(name)}"
            for name in names
            if not name.startswith(launcher.travels)
        ]
    whatis = f"module-whatis {tcl_word(f'programs of another MPI ABI under {library.label}, by mpiric')}"
    return "\n".join(["#%Module1.0", whatis, *lines, ""])


@dataclass(frozen=True)
class Check:
    """Output of two ranks with a library; ``problem`` is empty if it works."""

    mpi: MpiLibrary
    says: str = ""  # name and version that it reports
    latency_us: float = 0.0  # one way, 8 bytes, default settings
    problem: str = ""
    wrong_constants: tuple[str, ...] = ()  # constants of its libmpi_abi that differ from the standard


def check(host: Host, mpi: MpiLibrary) -> Check:
    """Run the probe on two ranks with a library, to test launcher, library and messages together."""
    program = native_part("probe-mpi", mpi.abi_families[0])
    if not mpi.launcher:
        return Check(mpi, problem="it has no launcher")
    try:
        identity = _probe(host, mpi, program, "identity")
        if [line.get("size") for line in identity] != [2, 2]:
            return Check(mpi, problem="its launcher started two worlds of one rank")
        latency_us = _probe(host, mpi, program, "pingpong", "8")[0].get("latency_us")
        if not is_number(latency_us):
            return Check(mpi, problem="its output was cut")
        wrong = wrong_constants(host, mpi)
        return Check(mpi, str(identity[0].get("library")), float(str(latency_us)), wrong_constants=wrong)
    except MpiricError as error:
        return Check(mpi, problem=error.message)


def _probe(host: Host, mpi: MpiLibrary, program: str, *question: str) -> list[dict[str, Any]]:
    """Return the lines of probe-mpi, one JSON object each."""
    family = mpi.abi_families[0]
    with ExitStack() as stack:
        directories = list(mpi.library_path)
        if mpi.soname != _SONAMES.get(family, mpi.soname):
            directories.insert(0, stack.enter_context(library_under_name(mpi.library, _SONAMES[family])))
        environment = {**LET_IT_START, **mpi.environment}
        for variable, added in (("LD_LIBRARY_PATH", directories), ("PATH", list(mpi.search_path))):
            before = host.environ.get(variable, "")
            environment[variable] = ":".join([*added, *([before] if before else [])])
        argv = [mpi.launcher, "-n", "2", program, *question]
        done = host.run(argv, environment=environment, timeout_s=_CHECK_LIMIT_S)
    lines = list(json_lines(done.stdout))
    if done.status or not lines:
        raise MpiricError(_complaint(done.stderr or done.stdout) or f"its launcher ended with {done.status}")
    return lines


def _complaint(output: str) -> str:
    """Return the most informative line of a launcher's or library's error output."""
    lines = [line.strip() for line in output.splitlines() if line.strip(" -*")]
    telling = (line for line in lines if re.search(r"abort|error|fatal|fail|cannot", line, re.IGNORECASE))
    return next(telling, lines[0] if lines else "")
