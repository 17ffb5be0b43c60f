"""Description of an installed MPI library: version, launcher, compilers, MPI-IO drivers.

ROMIO's drivers come from its tables, OMPIO's from `ompi_info`. `MPI_File_open` fails if a missing driver is
forced.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from posixpath import basename, dirname

from mpiric.host.files import linker_cache, matching
from mpiric.host.host import HERE, Host
from mpiric.host.user_directories import homes
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.mpis._implementation import (
    Implementation,
    Installation,
    fields_of,
    implementations,
    with_capabilities,
)
from mpiric.mpis._locations import Location, family_of_soname, is_inner_part

_DRIVERS = ("ufs", "nfs", "lustre", "gpfs", "panfs", "daos", "pvfs2", "xfs", "quobytefs")
# ROMIO's table of drivers holds the file-name prefix of each ("lustre:"). The linker may store one as the end
# of a longer one ("panfs:" for "nfs:"); in that case, the names of the driver's functions are searched for.
ASK_DRIVERS = """\
import mmap, sys
names = sys.argv[1].split(",")
for path in sys.argv[2:]:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        for name in names:
            table = b"ADIO_" + name.upper().encode() + b"_operations"
            if image.find(b"\\0" + name.encode() + b":\\0") >= 0 or image.find(table) >= 0:
                print(name)
"""
_COMPONENT = re.compile(r"^mca:fs:(\w+):", re.MULTILINE)
_DRIVERS_TIMEOUT_S = 10.0


def file_drivers(host: Host, library: str, directory: str, information: str) -> tuple[str, ...]:
    """Return the names of the drivers in a library and its ROMIO component, in the order of `_DRIVERS`."""
    images = [library, *matching(host, f"{directory}/openmpi*/mca_io_romio*.so")]
    command = [host.python, "-I", "-c", ASK_DRIVERS, ",".join(_DRIVERS), *images]
    answer = host.run_cached(command, images, timeout_s=_DRIVERS_TIMEOUT_S)
    drivers = {*answer.stdout.split(), *_COMPONENT.findall(information)}
    return tuple(name for name in (*_DRIVERS, *sorted(drivers - set(_DRIVERS))) if name in drivers)


# MPI_Get_library_version may be called before MPI_Init. It runs in a process of its own: loading two
# MPI libraries into one process mixes their symbols, and a broken library must not take mpiric along.
ASK_VERSION = """\
import ctypes, sys
library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
text, length = ctypes.create_string_buffer(65536), ctypes.c_int()
library.MPI_Get_library_version(text, ctypes.byref(length))
sys.stdout.write(text.value.decode(errors="replace"))
"""

TIMEOUT_S = 15.0


def ask_version(host: Host, library: str) -> str:
    """Return the answer of ``MPI_Get_library_version``, or "" if the library cannot be loaded.

    If LD_LIBRARY_PATH has a file that breaks the library (another libfabric), it is asked again without,
    because LD_LIBRARY_PATH precedes the library's own search path.
    """
    command = [host.python, "-I", "-c", ASK_VERSION, library]
    answer = host.run_cached(command, [library], timeout_s=TIMEOUT_S)
    if answer.status != 0 and host.environ.get("LD_LIBRARY_PATH"):
        answer = host.run_cached(
            command, [library], environment={"LD_LIBRARY_PATH": None}, timeout_s=TIMEOUT_S
        )
    return answer.stdout.strip("\x00 \n") if answer.status == 0 else ""


_SYSTEM_DIR = re.compile(r"/(usr/)?lib(64|/[\w]+-linux-gnu)?")
_TIMEOUT_S = 10.0

STANDARD_NAME = "libmpi_abi.so.1"


def describe(host: Host, library: str, location: Location) -> MpiLibrary | None:
    """Describe a shared library; None if it is not a known MPI library."""
    text = ask_version(host, library)
    recognised = recognise(text)
    if recognised is None:
        return None
    name, version = recognised
    implementation = implementations()[name]
    directory = dirname(library)
    prefix = prefix_of_library(directory)
    elf = host.elf(library)
    soname = (elf.soname if elf else "") or basename(library)
    launcher, dialect = _launcher(host, implementation, version, prefix)
    information = _information(host, implementation, prefix, library)
    fabrics = libfabric_dirs(host, prefix)
    around = implementation.surroundings(
        Installation(
            prefix=prefix,
            library_dir=directory,
            version=version,
            system=is_system(host, library, soname),
            libfabric_dirs=fabrics,
            provider_dirs=tuple(path for path in fabrics if path and host.list_dir(f"{path}/prov")),
            configured_prefix=implementation.configured_prefix(information),
        )
    )
    standard = f"{directory}/{STANDARD_NAME}"
    standard = standard if host.is_file(standard) else ""
    family = family_of_soname(soname)
    families = [family] if family else []
    if standard and family is not AbiFamily.STANDARD:
        families.append(AbiFamily.STANDARD)
    mpi = MpiLibrary(
        implementation=name,
        version=version,
        abi_families=tuple(families),
        prefix=prefix,
        library=library,
        soname=soname,
        launcher=launcher,
        dialect=dialect,
        found_by=location.found_by,
        transports=implementation.transports(text, information),
        compilers=_compilers(host, implementation, prefix),
        environment=around.environment,
        library_path=around.library_path,
        search_path=around.search_path,
        sonames=tuple(name for name in host.list_dir(directory) if _is_sibling(name, soname)),
        standard_library=standard,
        module=location.module,
        file_drivers=file_drivers(host, library, directory, information),
    )
    return with_capabilities(mpi)


def recognise(text: str) -> tuple[str, str] | None:
    """Return registry key and version from the text of MPI_Get_library_version."""
    for name, implementation in implementations().items():
        if version := implementation.recognise(text):
            return name, version
    return None


def launcher_text(host: Host, launcher: str) -> str:
    """Return the output of ``launcher --version`` with its directory first in PATH, for launcher scripts."""
    path = f"{dirname(launcher)}:{host.environ.get('PATH', '')}"
    command, environment = [launcher, "--version"], {"PATH": path, **_without_misleading()}
    if host.elf(launcher):
        answer = host.run_cached(
            command, [launcher], environment=environment, timeout_s=_TIMEOUT_S, working_directory=HERE
        )
    else:  # a script may call a program that changes without the script
        answer = host.run(command, environment=environment, timeout_s=_TIMEOUT_S, working_directory=HERE)
    return f"{answer.stdout}\n{answer.stderr}" if answer.status != 127 else ""


def _without_misleading() -> dict[str, str | None]:
    """Unset variables of relocated libraries, under which another library cannot even report its version."""
    return dict.fromkeys(fields_of(lambda implementation: implementation.misleading))


def prefix_of_library(directory: str) -> str:
    """Return ``/usr`` for ``/usr/lib/x86_64-linux-gnu/openmpi/lib``, ``P`` for ``P/lib/release``."""
    match = re.match(
        r"(.*?)/(?:intel64/)?lib(?:64)?(?:/[\w]+-linux-gnu(?:/(?:openmpi|mpich)/lib)?|/release|/debug)?$",
        directory,
    )
    prefix = match[1] if match else dirname(directory)
    return prefix or "/usr"  # /lib is /usr/lib or a link to it


def library_in(implementation: Implementation, directory: str, names: Iterable[str]) -> str:
    """Return the path of an implementation's library in a directory with these MPI libraries, or ""."""
    for pattern in implementation.libraries:
        for name in names:
            if fnmatchcase(name, pattern) and family_of_soname(name) is not AbiFamily.STANDARD:
                return f"{directory}/{name}"
    return ""


def is_system(host: Host, library: str, soname: str) -> bool:
    """Check whether the dynamic linker finds exactly this library by default."""
    user = [part for part in host.environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    if not _SYSTEM_DIR.match(library) or any(host.is_file(f"{part}/{soname}") for part in user):
        return False
    return any(
        name == soname and host.real_path(path) == host.real_path(library)
        for name, path in linker_cache(host)
    )


def libfabric_dirs(host: Host, prefix: str) -> tuple[str, ...]:
    """Return directories with a libfabric.so.1 for a library without its own, the best first.

    "" means the dynamic linker's default. A libfabric with a provider directory (``prov``) in the prefix
    comes first, because the vendor tested it.
    """
    bundled = f"{prefix}/opt/mpi/libfabric/lib"
    result = [bundled] if host.list_dir(f"{bundled}/prov") else []
    if any(name == "libfabric.so.1" for name, _ in linker_cache(host)):
        result.append("")
    candidates = [f"{prefix}/lib", bundled]
    for home in homes(host.environ):
        candidates += [
            *matching(host, f"{home}/mpich*/lib/mpich"),
            *matching(host, f"{home}/openmpi*/lib/openmpi"),
        ]
    result += [path for path in candidates if host.is_file(f"{path}/libfabric.so.1")]
    return tuple(dict.fromkeys(result))


def _is_sibling(name: str, soname: str) -> bool:
    """Check whether a library has the same or the standard's ABI; system directories hold other MPIs too."""
    if is_inner_part(name):
        return family_of_soname(soname) is AbiFamily.OPENMPI
    return family_of_soname(name) in {family_of_soname(soname), AbiFamily.STANDARD} - {None}


def _launcher(host: Host, implementation: Implementation, version: str, prefix: str) -> tuple[str, str]:
    for directory in _bin_dirs(prefix):
        for name in implementation.launchers:
            path = f"{directory}/{name}"
            if host.is_executable(path) and implementation.recognise_launcher(launcher_text(host, path)):
                return path, implementation.dialect(version)
    for name, dialect in implementation.system_launchers.items():
        path = host.which(name) or ""
        if path:
            return path, dialect
    return "", implementation.dialect(version)


def _compilers(host: Host, implementation: Implementation, prefix: str) -> dict[str, str]:
    compilers = {}
    for language, names in implementation.compilers.items():
        paths = (f"{directory}/{name}" for directory in _bin_dirs(prefix) for name in names)
        path = next((path for path in paths if host.is_executable(path)), "")
        if path and _is_own_wrapper(host, path, names):
            compilers[language] = path
    return compilers


def _is_own_wrapper(host: Host, path: str, names: tuple[str, ...]) -> bool:
    """Check whether a compiler wrapper is the implementation's own, not a system-wide link to another one."""
    name, real = basename(path), basename(host.real_path(path))
    return "." in name or "." not in real or real in names


def _information(host: Host, implementation: Implementation, prefix: str, library: str) -> str:
    if not implementation.information:
        return library
    program, *arguments = implementation.information
    for directory in _bin_dirs(prefix):
        path = f"{directory}/{program}"
        if host.is_executable(path):
            return host.run_cached(
                [path, *arguments], [path, library], environment=_without_misleading()
            ).stdout
    return ""


def _bin_dirs(prefix: str) -> tuple[str, ...]:
    return (f"{prefix}/bin", f"{prefix}/intel64/bin")
