"""A C program of each ABI family prints the same under every MPI library of another, run by `mpiric run --mpi`."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mpiric.host.installation.stand_ins import stand_ins
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.translation import SONAMES, can_translate, is_native

SOURCE = Path(__file__).parent / "translated.c"
MAKERS = {AbiFamily.MPICH: "mpich", AbiFamily.OPENMPI: "openmpi", AbiFamily.STANDARD: "mpich"}
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
pytestmark = [pytest.mark.requires("gcc"), pytest.mark.skipif(not stand_ins(), reason="no stand-ins are built")]


@pytest.fixture
def built(mpi_prefix: Callable[[str], Path], tmp_path: Path):
    """`built(family)`: the program of that family, and the launcher of the library that it was built with."""

    def build(family: AbiFamily) -> tuple[Path, Path]:
        prefix, program = mpi_prefix(MAKERS[family]), tmp_path / f"program-{family.value}"
        library = prefix / "lib" / SONAMES[family]
        define = ["-DMPI_ABI"] if family is AbiFamily.STANDARD else []
        words = ["gcc", *define, f"-I{prefix}/include", SOURCE, "-o", program, library]
        subprocess.run([*words, "-Wl,--allow-shlib-undefined"], check=True)
        return program, prefix / "bin/mpiexec"

    return build


@pytest.fixture
def run_under(built, run_mpiric, tmp_path: Path):
    """`run_under(family, mpi, *words)`: two ranks of the program of a family under a library."""

    def run(family: AbiFamily, mpi: MpiLibrary | None, *words: str) -> subprocess.CompletedProcess[str]:
        program, launcher = built(family)
        line = [launcher, "-n", "2", program, tmp_path / "file", *words]
        under = ["--mpi", mpi.label] if mpi else []
        home = {"MPIRIC_MPI_HOME": os.environ["MPIRIC_MPI_HOME"]} if "MPIRIC_MPI_HOME" in os.environ else {}
        return run_mpiric("run", "--quiet", *under, "--", *line, env={**ENVIRONMENT, **home})

    return run


@pytest.mark.parametrize("family", list(AbiFamily), ids=lambda family: family.value)
def test_a_program_prints_what_it_prints_under_its_own_library(mpi, family, run_under):
    if is_native(family, mpi) or not can_translate(family, mpi):
        pytest.skip("no translation")
    own, translated = run_under(family, None), run_under(family, mpi)
    assert own.returncode == 0, own.stderr
    assert translated.stdout.splitlines() == own.stdout.splitlines(), translated.stderr


@pytest.mark.requires("mpi:mpich", "mpi:openmpi")
def test_a_function_that_is_refused_is_named_and_raises_an_error(run_under, mpi):
    if not can_translate(AbiFamily.MPICH, mpi):
        pytest.skip("no translation")
    done = run_under(AbiFamily.MPICH, mpi, "spawn")
    assert done.stdout.splitlines()[-1] == "spawn 1"
    assert "mpiric: MPI_Comm_spawn cannot be called under" in done.stderr
