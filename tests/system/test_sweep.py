"""`mpiric sweep` with real libraries: measurements become a policy, also in the library's own format."""

import json
import re
import subprocess

import pytest
from tests.support.oversubscription import OVERSUBSCRIBED, WITHOUT_LIBFABRIC, yielding

from mpiric.host.installation.native import native_part
from mpiric.model.errors import ExitCode
from mpiric.workflows.sweep.plan import COLLECTIVES, _under_name

pytestmark = pytest.mark.requires("any-mpi")

NOTHING_HAPPENS = "int MPI_Alltoallv(void) { return 0; } int MPI_Iscan(void) { return 0; }"
# Ends whatever runs with this algorithm of MPICH.
ENDS = """
#include <stdlib.h>
#include <string.h>
__attribute__((constructor)) static void end(void) {
    const char *algorithm = getenv("MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM");
    if (algorithm && !strcmp(algorithm, "scattered")) _Exit(3);
}
"""


@pytest.fixture
def preloaded(tmp_path):
    """`preloaded(source)` is a library for LD_PRELOAD."""

    def compiled_preload(source):
        (tmp_path / "preload.c").write_text(source)
        command = ["gcc", "-shared", "-fPIC", "-w", tmp_path / "preload.c", "-o", tmp_path / "preload.so"]
        subprocess.run(command, check=True)
        return str(tmp_path / "preload.so")

    return compiled_preload


@pytest.fixture
def probed(mpi, mpi_run, tmp_path):
    """`probed(collectives, **environment)`: collective → on how many of 3 ranks its result was wrong."""

    def run(collectives, **more):
        probe = native_part("probe-collectives", mpi.abi_families[0])
        command = [f"{name}:3:3:{size}" for name in collectives for size in (0, 12, 4096)]
        path = ":".join((*_under_name(tmp_path, mpi), *mpi.library_path))
        env = {**OVERSUBSCRIBED.get(mpi.implementation, {}), "LD_LIBRARY_PATH": path, **more}
        done = mpi_run(mpi, 3, probe, "0.0001", *command, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        rows = [json.loads(line) for line in re.findall(r"^\{.*\}$", done.stdout, re.MULTILINE)]
        assert len(rows) == len(command)
        return {row["collective"]: row["wrong"] for row in rows}  # results of the largest size

    return run


def test_the_probe_finds_every_collective_of_a_library_right(mpi, probed):
    if not mpi.launcher:
        pytest.skip(f"{mpi.label} starts nothing")
    assert probed(COLLECTIVES) == dict.fromkeys(COLLECTIVES, 0)


@pytest.mark.requires("gcc")
def test_the_probe_sees_results_that_are_wrong(mpi, probed, preloaded):
    if not mpi.launcher:
        pytest.skip(f"{mpi.label} starts nothing")
    result = probed(("alltoallv", "alltoall", "iscan"), LD_PRELOAD=yielding(preloaded(NOTHING_HAPPENS)))
    assert result == {"alltoallv": 3, "alltoall": 0, "iscan": 3}


@pytest.mark.newest_only
@pytest.mark.requires("gcc")
def test_an_algorithm_that_ends_the_program_is_excluded_for_good(mpi, run_mpiric, preloaded, tmp_path):
    if mpi.implementation != "mpich" or not mpi.launcher:
        pytest.skip("the algorithm is one of MPICH")
    options = ("--collectives", "alltoallv,bcast", "--sizes", "8,1K", "--seconds", "0.001", "--no-own")
    launch = ("--json", "-o", tmp_path / "out", "--", mpi.launcher, "-n", "2")
    first = run_mpiric("sweep", *options, *launch, env={"LD_PRELOAD": yielding(preloaded(ENDS))})
    assert first.returncode == 0, first.stderr
    assert list(json.loads(first.stdout)["failed"]) == ["alltoallv library:scattered"]
    assert "estimate from times of the library" in first.stderr
    again = run_mpiric("sweep", "--resume", *options, *launch)
    assert json.loads(again.stdout)["points"] == 0
    assert list(json.loads(again.stdout)["failed"]) == ["alltoallv library:scattered"]
    assert "excluded: alltoallv library:scattered: failed at 8 bytes on 2 ranks" in again.stderr


@pytest.mark.newest_only
def test_a_small_sweep_writes_policy_and_export_and_goes_on_where_it_stopped(mpi, run_mpiric, tmp_path):
    if mpi.implementation not in ("mpich", "openmpi", "intelmpi") or not mpi.launcher:
        pytest.skip(f"no candidates of {mpi.label}")
    out = tmp_path / "out"
    options = (
        "sweep",
        "--collectives",
        "bcast,barrier,alltoallv,iallgather",
        "--sizes",
        "8,64K",
        "--seconds",
        "0.002",
    )
    if mpi.implementation != "mpich":
        options = (*options, "--no-own")  # the same under every library, and many
    launch = ("-o", out, "--", mpi.launcher, "-n", "2")
    env = {**WITHOUT_LIBFABRIC, "LD_PRELOAD": yielding()}

    first = run_mpiric(*options, "--json", *launch, env=env)
    assert first.returncode == 0, first.stderr
    answer = json.loads(first.stdout)
    assert {key["collective"] for key in answer["keys"]} == {"bcast", "barrier", "alltoallv", "iallgather"}
    assert answer["points"] > 6
    assert answer["most_core_hours"] > answer["least_core_hours"] > 0
    assert [(key["from"], key["to"]) for key in answer["keys"] if key["collective"] == "alltoallv"] == [
        (0, None)
    ]
    assert "core-hours" in first.stderr
    assert (out / "mpiric.policy").read_text().startswith(f"mpiric-policy 1\nmpi {mpi.implementation} ")

    again = run_mpiric(*options, "--resume", "--json", *launch, env=env)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["points"] == 0
    assert json.loads(again.stdout)["keys"] == answer["keys"]


def test_a_launch_line_that_names_no_library_is_refused(run_mpiric):
    done = run_mpiric("sweep", "--", "true")
    assert done.returncode == ExitCode.MISMATCH
    assert "hint:" in done.stderr
