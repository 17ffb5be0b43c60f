"""Search for MPI libraries: all of a machine, the one of a launcher, the one of a process."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from posixpath import basename, dirname, split

from mpiric.host.host import Host
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.mpis._describe import describe, launcher_text, library_in
from mpiric.mpis._implementation import Implementation, implementations, with_capabilities
from mpiric.mpis._locations import Location, family_of_soname, library_dirs, locations, prefix_of_launcher


def find_mpis(host: Host) -> tuple[MpiLibrary, ...]:
    """Return every MPI library once; libraries of PATH come first.

    Libraries are identified by their real path. ``found_by`` is the first location that led to a library; the
    name of a module is added from later ones.
    """
    libraries: dict[str, tuple[str, Location]] = {}
    modules: dict[str, str] = {}
    for location in locations(host):
        for library in _libraries_at(host, location.path):
            real = host.real_path(library)
            if location.module:
                modules.setdefault(real, location.module)
            libraries.setdefault(real, (library, location))
    with ThreadPoolExecutor(max_workers=8) as pool:  # each query starts a process
        described = pool.map(lambda entry: describe(host, *entry), libraries.values())
    return tuple(
        replace(mpi, module=mpi.module or modules.get(real, ""))
        for real, mpi in zip(libraries, described, strict=True)
        if mpi is not None
    )


def mpi_of_launcher(host: Host, launcher: str) -> MpiLibrary | None:
    """Return the MPI library that a launcher belongs to.

    Links and Debian's alternatives are resolved and ``--version`` is read. If the library cannot be found,
    the result has an empty ``library``. None if the launcher does not exist or does not belong to an MPI
    (``srun``).
    """
    path = launcher if "/" in launcher else host.which(launcher, by_shell=True) or ""
    if not path or not host.is_executable(path):
        return None
    text = launcher_text(host, path)
    versions = {
        name: version
        for name, implementation in implementations().items()
        if implementation.launchers and (version := implementation.recognise_launcher(text))
    }
    if not versions:
        return None
    prefix = prefix_of_launcher(host, path)
    for library in _libraries_at(host, prefix):
        mpi = describe(host, library, Location(prefix, "launcher"))
        if mpi is not None and mpi.implementation in versions:
            return replace(mpi, launcher=path)
    # A site's wrapper is outside the prefix of its MPI: search by implementation and version.
    for mpi in find_mpis(host):
        if versions.get(mpi.implementation) == mpi.version:
            return replace(mpi, launcher=path)
    # Base implementations are last in the registry; a bare hydra most likely belongs to MPICH.
    return _without_library(list(versions.items())[-1], prefix, path)


def mpi_of_library(host: Host, library: str) -> MpiLibrary | None:
    """Return the MPI library of a library loaded by a process, which may be its Fortran or C++ part.

    None if it is not an MPI library or cannot be queried.
    """
    directory, name = split(host.real_path(library))
    family = family_of_soname(basename(library)) or family_of_soname(name)
    if family is None:
        elf = host.elf(library)
        family = family_of_soname(elf.soname) if elf else None
    if family is None:
        return None
    location = Location(directory, "library")
    candidates = [
        path
        for folder in dict.fromkeys([dirname(library), directory])
        for path in _libraries_in(host, folder)
        if family is AbiFamily.STANDARD or family_of_soname(basename(path)) is family
    ]
    described = (describe(host, path, location) for path in candidates or [library])
    return next((mpi for mpi in described if mpi is not None), None)


def _libraries_at(host: Host, path: str) -> Iterator[str]:
    if host.is_file(path):
        standard = family_of_soname(basename(path)) is AbiFamily.STANDARD
        # A libmpi_abi is another interface of the library in the same directory.
        yield from (standard and list(_libraries_in(host, dirname(path)))) or [path]
        return
    for directory in library_dirs(host, path):
        yield from _libraries_in(host, directory)


def _libraries_in(host: Host, directory: str) -> Iterator[str]:
    reported = set()
    names = [name for name in host.list_dir(directory) if family_of_soname(name)]
    every: dict[str, Implementation] = implementations() if names else {}
    for implementation in every.values():
        library = library_in(implementation, directory, names)
        if library and (real := host.real_path(library)) not in reported:
            reported.add(real)
            yield library


def _without_library(speaker: tuple[str, str], prefix: str, launcher: str) -> MpiLibrary:
    name, version = speaker
    implementation = implementations()[name]
    library = MpiLibrary(
        implementation=name,
        version=version,
        abi_families=(implementation.family,),
        prefix=prefix,
        library="",
        soname="",
        launcher=launcher,
        dialect=implementation.dialect(version),
        found_by="launcher",
    )
    return with_capabilities(library)
