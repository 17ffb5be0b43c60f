"""Stand-ins and their Fortran libraries export exactly the names in the spec."""

import re
import subprocess
from pathlib import Path

import pytest
from tools.generate.mpi.load import read_functions
from tools.generate.translate.load import read_family

from mpiric.host.installation.native import native_fortran, native_stand_in
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.translation import FORTRAN_NAMES, SONAMES, can_translate

FUNCTIONS = {function.name for function in read_functions()}
PAIRS = [
    pytest.param(program, library, id=f"{program.value}-{library.value}")
    for program in AbiFamily
    for library in (AbiFamily.MPICH, AbiFamily.OPENMPI)
    if program is not library
]
# Further names: data, and functions that are used as values.
DATA = {
    AbiFamily.MPICH: r"MPI_(UNWEIGHTED|WEIGHTS_EMPTY|F(08)?_STATUS(ES)?_IGNORE|T_PVAR_ALL_HANDLES)"
    r"|MPIR_Dup_fn|MPIR_C_MPI_(UNWEIGHTED|WEIGHTS_EMPTY)|MPII_\w+(_attr|_set_proxy|_lang_f77)",
    AbiFamily.OPENMPI: r"MPI_F_STATUS(ES)?_IGNORE|OMPI_C_MPI_\w+_FN|(mpi|MPI)_(fortran|FORTRAN)_\w+"
    r"|mpiric_\w+(_attr|_set_proxy|_lang_f77)",
    AbiFamily.STANDARD: r"mpiric_\w+(_attr|_set_proxy|_lang_f77)|MPI_F_STATUS(ES)?_IGNORE",
}
# Names of libraries that stand-ins lack: Fortran's, extensions, and names of Open MPI alone.
OTHERS = re.compile(r"P?MPIX_|P?MPI_[A-Z0-9_]+$|MPI_F|P?MPI_Session_set_info")


def exports(path: str | Path) -> set[str]:
    """Return the names that a library exports."""
    table = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True)
    return {line.split()[-1].partition("@")[0] for line in table.stdout.splitlines()}


def with_profiling(names: set[str]) -> set[str]:
    return names | {f"P{name}" for name in names}


@pytest.mark.parametrize(("program", "library"), PAIRS)
def test_stand_in_exports_functions_under_both_names_and_data(program, library):
    path = native_stand_in(program, library, SONAMES[program])
    if not path:
        pytest.skip("not built here")
    names, functions = exports(path), with_profiling(FUNCTIONS)
    objects = set(read_family(program.value).objects)
    assert functions | objects <= names
    further = re.compile(rf"mpiric_stand_in_\w+|MPIX_(Query|GPU)_\w+_support|{DATA[program]}")
    assert {name for name in names - functions - objects if not further.fullmatch(name)} == set()


def test_stand_in_has_every_function_of_its_familys_library(mpi: MpiLibrary):
    family = mpi.abi_families[0]
    libraries = [library for library in (AbiFamily.MPICH, AbiFamily.OPENMPI) if library is not family]
    assert not can_translate(family, mpi)
    path = native_stand_in(family, libraries[0], SONAMES[family])
    if not path:
        pytest.skip("not built here")
    names = {name for name in exports(mpi.library) if re.match("P?MPI_", name) and not OTHERS.match(name)}
    assert len(names) > 600
    assert names - exports(path) == set()


@pytest.mark.parametrize(("program", "library"), PAIRS)
def test_stand_in_needs_little_thread_local_storage(program, library):
    path = native_stand_in(program, library, SONAMES[program])
    if not path:
        pytest.skip("not built here")
    table = subprocess.run(["readelf", "-lW", path], check=True, capture_output=True, text=True).stdout
    sizes = [int(line.split()[5], 16) for line in table.splitlines() if line.split()[:1] == ["TLS"]]
    assert len(sizes) == 1
    assert sizes[0] <= 64  # bytes of static TLS, of which a process that opens a library has little left


@pytest.mark.requires("debian-openmpi")
@pytest.mark.parametrize("family", list(FORTRAN_NAMES), ids=lambda family: family.value)
def test_fortran_library_has_each_function_in_every_spelling(family):
    path = native_fortran(family, FORTRAN_NAMES[family][0])
    if not path:
        pytest.skip("not built here")
    names = exports(path)
    lower = {name for name in names if re.fullmatch(r"mpi_[a-z0-9_]*[a-z0-9]", name)}
    assert {"mpi_send", "mpi_init", "mpi_comm_spawn", "mpi_file_write_all"} <= lower
    for name in lower:
        spellings = {name, f"{name}_", f"{name}__", name.upper()}
        assert spellings | {f"p{name}" if name.islower() else f"P{name}" for name in spellings} <= names
    further = re.compile(r"p?mpix?_\w+|P?MPIX?_\w+|ompix?_\w+_f|mpi(priv|fcm)\w*_*")
    assert {name for name in names if not further.fullmatch(name)} == set()
