"""A C program of each ABI family prints the same under every MPI library of another: `mpiric run --mpi`."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mpiric.host.installation.stand_ins import stand_ins
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.translation import SONAMES, can_translate, is_native

SOURCE = Path(__file__).parent / "translated.c"
MAKERS = {AbiFamily.MPICH: "mpich", AbiFamily.OPENMPI: "openmpi", AbiFamily.STANDARD: "mpich"}
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
# The same under MPICH 5.0.2 and Open MPI 5.0.11, for which the program can be built.
EXPECTED = """\
version fits 1
user operation 31
in place 1
alltoallw 21
tag 71
nobody 11
probe 0
undefined 11
split 1
freed 1
attribute 1112
congruent 1
keyval 1
largest tag 1
handler 111
edge 11
subarray 111
bytes 32
maxloc 1
window 11
no such file 1
file 11
closed 1
types come and go 1""".splitlines()
pytestmark = [
    pytest.mark.requires("gcc"),
    pytest.mark.skipif(not stand_ins(), reason="no stand-ins are built"),
]


@pytest.fixture
def built(mpi_prefix: Callable[[str], Path], tmp_path: Path):
    """`built(family)`: the program of that family, and the launcher of its own library."""

    def build(family: AbiFamily) -> tuple[Path, Path]:
        prefix, program = mpi_prefix(MAKERS[family]), tmp_path / f"program-{family.value}"
        library = prefix / "lib" / SONAMES[family]
        define = ["-DMPI_ABI"] if family is AbiFamily.STANDARD else []
        words = ["gcc", *define, f"-I{prefix}/include", SOURCE, "-o", program, library]
        subprocess.run([*words, "-Wl,--allow-shlib-undefined"], check=True)
        return program, prefix / "bin/mpiexec"

    return build


@pytest.mark.parametrize("family", list(AbiFamily), ids=lambda family: family.value)
def test_a_program_prints_what_it_prints_under_its_own_library(mpi, family, built, run_mpiric, tmp_path):
    if is_native(family, mpi) or not can_translate(family, mpi):
        pytest.skip("no translation")
    program, launcher = built(family)
    home = {name: os.environ[name] for name in ("MPIRIC_MPI_HOME",) if name in os.environ}
    line = [launcher, "-n", "2", program, tmp_path / "file", "spawn"]
    done = run_mpiric("run", "--quiet", "--mpi", mpi.label, "--", *line, env={**ENVIRONMENT, **home})
    assert done.stdout.splitlines() == [*EXPECTED, "spawn 1"], done.stderr
    assert "mpiric: MPI_Comm_spawn cannot be called under" in done.stderr  # it is refused, and named
