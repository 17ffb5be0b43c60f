"""Whether a library's standard ABI has the values of the standard, and what sets them right.

Each constant that acts is tried, in a second or two; the answer is kept by the build id. With wrong
values a program would seek elsewhere, or abort where it wants errors returned.
"""

from collections.abc import Sequence
from dataclasses import replace
from posixpath import dirname

from mpiric.host.host import Host
from mpiric.host.installation.native import native_part, native_repairs
from mpiric.host.installation.stand_ins import repair_path
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.translation import values_of_its_own

_LIMIT_S = 300
# The probe is our own program and harmless; these let it start as root and with fewer than two cores.
LET_IT_START = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


class SilentLibraryError(MpiricError):
    """A library's standard ABI under which nothing starts."""


def conforming(library: MpiLibrary, host: Host) -> MpiLibrary:
    """The library as it can serve programs of the standard ABI: as it is, repaired, or refused.

    A repair is taken when each constant is right under it. One that does not even start a program of the
    standard has its other ABI alone, by which it may serve such a program translated.
    """
    try:
        wrong = wrong_constants(host, library)
    except SilentLibraryError as error:
        others = tuple(family for family in library.abi_families if family is not AbiFamily.STANDARD)
        return replace(library, abi_families=others, standard_library="", refused=error.message)
    if not wrong:
        return library
    found = replace(library, wrong_constants=wrong)
    for repair in native_repairs():
        if not wrong_constants(host, library, repair):
            return replace(found, repair=repair_path(repair, host.environ))
    return replace(found, refused=values_of_its_own(found))


def wrong_constants(host: Host, library: MpiLibrary, repair: str = "") -> tuple[str, ...]:
    """Constants of the standard ABI that do something else in a library; none without that ABI.

    Raises SilentLibraryError when the probe does not start.
    """
    if not library.standard_library:
        return ()
    try:
        program = native_part("probe-abi", AbiFamily.STANDARD)
    except NotFoundError:  # native parts for other families only
        return ()
    alone, launched = [program], [library.launcher, "-n", "1", program, "world"]
    lines = _answers(host, library, alone, repair)
    if library.launcher:
        lines += _answers(host, library, launched, repair)
    if not lines:
        raise SilentLibraryError(f"{library.label}: its libmpi_abi.so.1 starts no program")
    return tuple(line.split()[0] for line in lines if line.endswith(" wrong"))


def _answers(host: Host, library: MpiLibrary, words: Sequence[str], repair: str) -> list[str]:
    """The lines of the probe, without the user's search path where the library does not load with it."""
    searched = dict.fromkeys((host.environ.get("LD_LIBRARY_PATH", ""), ""))
    return next(
        (lines for path in searched if (lines := _answers_with(path, host, library, words, repair))), []
    )


def _answers_with(path: str, host: Host, library: MpiLibrary, words: Sequence[str], repair: str) -> list[str]:
    paths = (dirname(library.standard_library), *library.library_path, path)
    environment = {
        **LET_IT_START,
        **library.environment,
        "LD_LIBRARY_PATH": ":".join(filter(None, paths)),
        "LD_PRELOAD": repair,
        "PATH": ":".join((*library.search_path, host.environ.get("PATH", ""))),
    }
    files = [native_part("probe-abi", AbiFamily.STANDARD), *([repair] if repair else [])]
    elf = host.elf(library.standard_library)
    build = elf.build_id if elf else ""
    answer = host.run_cached(
        words,
        [*files, *([] if build else [library.standard_library])],
        environment=environment,
        timeout_s=_LIMIT_S,
        identity=(build, *words[1:2]) if build else (),
    )
    return [line for line in answer.stdout.splitlines() if line.startswith("MPI_")]
