"""Check and correction of the constants in a library's standard ABI.

Each constant with an effect is tested, which takes a second or two; the result is cached by the build id.
With wrong values a program would for example seek to another position, or abort instead of returning an
error.
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
# The probe is mpiric's own and harmless; these variables permit it to start as root and with one core.
LET_IT_START = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


class SilentLibraryError(MpiricError):
    """Programs of the standard ABI do not start with a library."""


def conforming(library: MpiLibrary, host: Host) -> MpiLibrary:
    """Return the library for programs of the standard ABI: unchanged, corrected, or refused.

    A correction is used if all constants are right with it. A library with which such programs do not start
    keeps only its other ABI, which may serve them through translation.
    """
    try:
        wrong = wrong_constants(host, library)
    except SilentLibraryError as error:
        other_families = tuple(family for family in library.abi_families if family is not AbiFamily.STANDARD)
        return replace(library, abi_families=other_families, standard_library="", refused=error.message)
    if not wrong:
        return library
    checked = replace(library, wrong_constants=wrong)
    for repair in native_repairs():
        if not wrong_constants(host, library, repair):
            return replace(checked, repair=repair_path(repair, host.environ))
    return replace(checked, refused=values_of_its_own(checked))


def wrong_constants(host: Host, library: MpiLibrary, repair: str = "") -> tuple[str, ...]:
    """Return the constants of a library's standard ABI with wrong values; none without that ABI.

    Raises SilentLibraryError if the probe does not start.
    """
    if not library.standard_library:
        return ()
    try:
        program = native_part("probe-abi", AbiFamily.STANDARD)
    except NotFoundError:  # only native parts for other families
        return ()
    alone, launched = [program], [library.launcher, "-n", "1", program, "world"]
    lines = _answers(host, library, alone, repair)
    if library.launcher:
        lines += _answers(host, library, launched, repair)
    if not lines:
        raise SilentLibraryError(f"{library.label}: its libmpi_abi.so.1 starts no program")
    return tuple(line.split()[0] for line in lines if line.endswith(" wrong"))


def _answers(host: Host, library: MpiLibrary, arguments: Sequence[str], repair: str) -> list[str]:
    """Return the output of the probe; without the user's search path if the library does not load with it."""
    searched = dict.fromkeys((host.environ.get("LD_LIBRARY_PATH", ""), ""))
    return next(
        (lines for path in searched if (lines := _answers_with(path, host, library, arguments, repair))), []
    )


def _answers_with(
    path: str, host: Host, library: MpiLibrary, arguments: Sequence[str], repair: str
) -> list[str]:
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
        arguments,
        [*files, *([] if build else [library.standard_library])],
        environment=environment,
        timeout_s=_LIMIT_S,
        identity=(build, *arguments[1:2]) if build else (),
    )
    return [line for line in answer.stdout.splitlines() if line.startswith("MPI_")]
