"""Real MPI libraries: what `mpi install` makes works as it is, and the probes tell the truth under each."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.host.installation.native import library_under_name, native_part
from mpiric.model.mpi_library import AbiFamily
from mpiric.mpis import defaults_of, find_mpis
from mpiric.workflows.mpi import check

HELLO = Path(__file__).parents[2] / "examples/hello.c"
STANDARD = ("mpich", "intelmpi")  # have libmpi_abi.so.1


def lines_of(done: subprocess.CompletedProcess[str]) -> list[dict]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def probe(mpi, mpi_run):
    """Runs a probe-mpi built for the first ABI of a library, under that library."""

    def run(ranks: int, *arguments: object) -> subprocess.CompletedProcess[str]:
        program = native_part("probe-mpi", mpi.abi_families[0])
        if mpi.soname == "libmpich.so.12":
            with library_under_name(mpi.library, "libmpi.so.12") as directory:
                return mpi_run(mpi, ranks, program, *arguments, env={"LD_LIBRARY_PATH": directory})
        return mpi_run(mpi, ranks, program, *arguments)

    return run


@pytest.mark.requires("gcc")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.requires(f"mpi:{name}"))
        for name in ("mpich", "openmpi", "intelmpi")
    ],
)
def test_an_installed_mpi_compiles_and_runs_without_further_setting(name, mpi_prefix, environment, tmp_path):
    prefix, program = mpi_prefix(name), tmp_path / "hello"
    subprocess.run([prefix / "bin/mpicc", HELLO, "-o", program], env=environment, check=True)
    command = [prefix / "bin/mpiexec", "-n", "2", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    ranks = sorted(line.split(" under ")[0] for line in done.stdout.splitlines())
    assert ranks == ["rank 0 of 2", "rank 1 of 2"]


def test_every_mpi_found_starts_one_world_of_two_talking_ranks(mpi):
    assert check(LocalHost(), mpi).problem == ""


def test_every_library_reports_the_values_of_its_own_variables(mpi):
    defaults = defaults_of(LocalHost(), mpi)
    expected = {
        "mpich": ("MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS", "64"),
        "openmpi": ("OMPI_MCA_btl_tcp_eager_limit", "65536"),
        "intelmpi": ("I_MPI_DEBUG_COREDUMP", "0"),
    }
    name, value = expected[mpi.implementation]
    assert defaults[name] == value


def test_the_probe_names_the_library_that_really_serves(probe, mpi):
    served = {os.path.realpath(line["libmpi"]) for line in lines_of(probe(2))}
    assert served == {os.path.realpath(mpi.library)}


def test_the_probe_prints_ranks_in_order(probe):
    assert [line["rank"] for line in lines_of(probe(2, "affinity"))] == [0, 1]


def test_ranks_run_where_their_mask_says(probe):
    assert all(line["pu_now"] in line["pus"] for line in lines_of(probe(2, "affinity")))


def test_messages_come_back_as_they_left(probe):
    assert [(line["bytes"], line["intact"]) for line in lines_of(probe(2, "pingpong", 1, 100000))] == [
        (1, True),
        (100000, True),
    ]


def test_a_single_rank_cannot_play_ping_pong(probe):
    done = probe(1, "pingpong")
    assert done.returncode != 0
    assert "needs 2 ranks" in done.stderr + done.stdout


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.requires(f"mpi:{n}")) for n in STANDARD])
def test_a_program_of_the_standard_abi_runs_under_a_library_that_has_it(name, mpi_prefix, mpi_run):
    library = next(mpis for mpis in find_mpis(LocalHost()) if mpis.prefix == str(mpi_prefix(name)))
    lines = lines_of(mpi_run(library, 2, native_part("probe-mpi", AbiFamily.STANDARD)))
    assert [(line["family"], line["size"]) for line in lines] == [("standard", 2)] * 2


def test_the_probes_need_no_library_but_libc_and_the_mpi(environment):
    for family in AbiFamily:
        needed = LocalHost().elf(native_part("probe-mpi", family)).needed
        other_names = [
            name for name in needed if not name.startswith(("libc.", "ld-linux", "libm.", "libdl."))
        ]
        assert len(other_names) == 1, other_names
        assert other_names[0].startswith("libmpi")


def test_stream_measures_the_hardware_threads_it_was_given():
    pu = min(os.sched_getaffinity(0))
    done = subprocess.run(
        [native_part("probe-stream"), "--mib", "8", str(pu)], capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    assert answer["pus"] == [pu]
    assert answer["triad_mb_s"] >= answer["triad_mb_s_median"] > 0


def test_stream_refuses_a_hardware_thread_that_is_not_there():
    done = subprocess.run(
        [native_part("probe-stream"), "--mib", "1", "16000"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "PU 16000" in done.stderr


@pytest.mark.requires("gcc", "mpi:mpich", "mpi:intelmpi")
def test_the_launcher_goes_with_the_library_that_the_environment_leads_to(mpi_prefix, run_mpiric, tmp_path):
    mpich, intel = mpi_prefix("mpich"), mpi_prefix("intelmpi")
    program = tmp_path / "hello"
    subprocess.run([mpich / "bin/mpicc", HELLO, "-o", program], check=True)
    line = ("--mpi", intel.name, "--dry-run", "--", mpich / "bin/mpiexec", "-n", "2", program)
    done = run_mpiric("run", *line, env={"LD_LIBRARY_PATH": str(intel / "lib")})
    assert str(intel / "bin/mpiexec") in done.stdout, done.stderr


@pytest.mark.requires("gcc", "mpi:mpich")
def test_a_dependency_that_cannot_be_loaded_from_the_search_path_hides_no_library(
    mpi_prefix, run_mpiric, tmp_path
):
    prefix = mpi_prefix("mpich")
    assert list(prefix.rglob("libfabric.so.1"))
    (tmp_path / "libfabric.so.1").write_bytes(b"\x7fELF of another machine")
    done = run_mpiric("mpi", "list", "--json", env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert prefix.name in [entry["label"] for entry in json.loads(done.stdout)["mpis"]], done.stderr
