"""The base for images of users' programs: built by buildah, and programs of each ABI family in it."""

import subprocess
from pathlib import Path

import pytest
from tests.support.oversubscription import WITHOUT_LIBFABRIC
from tests.support.roots import inside

ROOT = Path(__file__).parents[2]
BASE = ROOT / "build/container/base"
ANALYTIC = Path(__file__).with_name("analytic.c")
COMPILERS = {  # compiler → launcher, and the library that its programs load
    "mpicc.mpich": ("mpiexec.mpich", "libmpich.so.12"),
    "mpicc.openmpi": ("mpirun.openmpi --oversubscribe", "libmpi.so.40"),
    "mpicc_abi": ("mpiexec.hydra", "libmpi_abi.so.1"),
}
pytestmark = [
    pytest.mark.sweep,
    pytest.mark.requires("root", "mounts", "mmdebstrap", "buildah"),
    pytest.mark.timeout(1800),
]


@pytest.fixture(scope="module")
def base() -> Path:
    subprocess.run([ROOT / "tools/container", "base"], cwd=ROOT, check=True, timeout=1700)
    return BASE


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_program_compiled_in_it_runs_as_one_job(base, compiler, tmp_path):
    launcher, library = COMPILERS[compiler]
    program = tmp_path / "analytic"
    line = f"{compiler} {ANALYTIC} -o {program} && {launcher} -n 2 {program} && ldd {program}"
    done = inside(base, ["sh", "-c", line], [Path("/sys"), ANALYTIC.parent, tmp_path], WITHOUT_LIBFABRIC)
    assert done.stdout.startswith("2 ranks\n")
    assert library in done.stdout


def test_it_has_the_transports_of_the_usual_networks(base):
    providers = inside(base, ["fi_info", "-l"]).stdout
    assert {"verbs:", "psm2:", "efa:", "tcp:", "shm:"} <= set(providers.split())
    transports = inside(base, ["sh", "-c", "ls /usr/lib/*/ucx"]).stdout
    assert {"libuct_ib.so.0", "libuct_rdmacm.so.0", "libuct_cma.so.0"} <= set(transports.split())
