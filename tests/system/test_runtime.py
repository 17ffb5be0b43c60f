"""The preloaded runtime in real programs: correct counts, no side effects."""

import subprocess
from pathlib import Path

import pytest
from tests.support.oversubscription import yielding
from tests.support.preloaded import NATIVE, OVERSUBSCRIBE, calls

from mpiric.host.facts.local import LocalHost
from mpiric.model.record import RankState
from mpiric.mpis import find_mpis
from mpiric.profile.read import read_record

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "runtime_programs"
ROUNDS = 10

DEBIAN = [
    pytest.param("mpich", id="mpich", marks=pytest.mark.requires("debian-mpich", "gfortran")),
    pytest.param("openmpi", id="openmpi", marks=pytest.mark.requires("debian-openmpi", "gfortran")),
]


def compiled(source: str, family: str, tmp_path: Path, *options: str) -> Path:
    """A program built with Debian's wrappers of one family."""
    compiler = {".c": "mpicc", ".f": "mpif90", ".f90": "mpif90"}[Path(source).suffix]
    program = tmp_path / Path(source).stem
    subprocess.run(
        [f"{compiler}.{family}", "-O1", str(PROGRAMS / source), "-o", str(program), *options],
        check=True,
        timeout=120,
    )
    return program


@pytest.fixture
def launch(environment, tmp_path):
    """`launch(family, ranks, program)` runs it with the runtime; settings go to the ranks only."""

    def run(family: str, ranks: int, *program: object, runtime: str = "", **settings: str):
        variables = {
            "LD_PRELOAD": yielding(NATIVE / (runtime or family) / "libmpiric.so"),
            "MPIRIC_RECORD_DIR": str(tmp_path / "record"),
            "MPIRIC_MERGE": "tree",
            **settings,
        }
        flags = {
            "mpich": [word for name, value in variables.items() for word in ("-genv", name, value)],
            "openmpi": [word for name, value in variables.items() for word in ("-x", f"{name}={value}")],
        }[family]
        launcher = {"mpich": "mpiexec.mpich", "openmpi": "mpirun.openmpi"}[family]
        return subprocess.run(
            [launcher, *OVERSUBSCRIBE[family], "-n", str(ranks), *flags, *map(str, program)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.mark.parametrize("family", DEBIAN)
@pytest.mark.parametrize("source", ["ring.c", "ring_f77.f", "ring_f90.f90", "ring_f08.f90"])
def test_each_call_of_the_program_counts_once_in_every_language(source, family, launch, tmp_path):
    done = launch(family, 3, compiled(source, family, tmp_path))
    assert done.returncode == 0, done.stderr
    assert "sum 3" in " ".join(done.stdout.split())
    record = read_record(tmp_path / "record")
    for function in ("MPI_Irecv", "MPI_Send", "MPI_Wait", "MPI_Allreduce"):
        assert calls(record, function) == [ROUNDS] * 3
    for rank in record.ranks:
        assert [(p.world_rank, p.messages, p.bytes) for p in rank.peers] == [
            ((rank.rank + 1) % 3, ROUNDS, 8 * ROUNDS)
        ]


OPEN_MPI_SET = {
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,tcp",
    "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
    "OMPI_MCA_coll_tuned_allreduce_algorithm": "4",
}
MPICH_SET = {
    "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring",
    "MPIR_CVAR_ALLREDUCE_DEVICE_COLLECTIVE": "0",
}


@pytest.mark.parametrize(
    ("family", "settings", "expected"),
    [
        pytest.param(
            "openmpi",
            OPEN_MPI_SET,
            {"library.transport": "ob1 over self tcp"},
            marks=pytest.mark.requires("mpi:openmpi"),
        ),
        pytest.param("mpich", MPICH_SET, {}, marks=pytest.mark.requires("mpi:mpich")),
    ],
)
def test_the_record_has_what_the_library_says_it_uses(family, settings, expected, mpi_run, tmp_path):
    mpi = next(m for m in find_mpis(LocalHost()) if (m.implementation, m.found_by) == (family, "mpiric"))
    program = tmp_path / "ring"
    subprocess.run([mpi.compilers["c"], str(PROGRAMS / "ring.c"), "-o", str(program)], check=True)

    def facts(name: str, settings: dict[str, str]) -> dict[str, str]:
        variables = {"MPIRIC_RECORD_DIR": str(tmp_path / name), "MPIRIC_MERGE": "tree"}
        command = ["env", f"LD_PRELOAD={yielding(NATIVE / family / 'libmpiric.so')}", program]
        done = mpi_run(mpi, 2, *command, env={**variables, **settings})
        assert done.returncode == 0, done.stderr
        first, second = read_record(tmp_path / name).ranks
        assert not any(key.startswith("library.") for key in second.facts)
        return {key: value for key, value in first.facts.items() if key.startswith("library.")}

    assert facts("set", settings) == {**expected, "library.allreduce": "ring"}
    assert "library.allreduce" not in facts("left", {})


@pytest.mark.parametrize("family", DEBIAN)
def test_the_merged_record_is_the_only_file(family, launch, tmp_path):
    launch(family, 4, compiled("ring.c", family, tmp_path))
    assert [path.name for path in (tmp_path / "record").iterdir()] == ["record.mpiric"]
    assert {rank.state for rank in read_record(tmp_path / "record").ranks} == {RankState.FINALIZED}


@pytest.mark.parametrize("family", DEBIAN)
def test_without_merging_the_parts_make_the_same_record(family, launch, tmp_path):
    launch(family, 3, compiled("ring.c", family, tmp_path), MPIRIC_MERGE="never")
    assert len(list((tmp_path / "record").glob("*.part"))) == 3
    assert calls(read_record(tmp_path / "record"), "MPI_Send") == [ROUNDS] * 3


@pytest.mark.parametrize("family", DEBIAN)
def test_communicators_translate_to_the_world(family, launch, tmp_path):
    done = launch(family, 4, compiled("communicators.c", family, tmp_path))
    assert done.returncode == 0, done.stderr
    record = read_record(tmp_path / "record")
    sent = {(rank.rank, p.world_rank): p.messages for rank in record.ranks for p in rank.peers}
    # Within the odd and the even ranks in reversed order, and once across an intercommunicator.
    assert sent == {(2, 0): 1, (3, 1): 1, (0, 1): 1}
    reversed_half = [row for row in record.ranks[0].communicators if row.name == "reversed half"]
    assert [(row.size, row.rank, row.is_world) for row in reversed_half] == [(2, 1, False)]


@pytest.mark.parametrize("family", DEBIAN)
def test_persistent_and_one_sided_traffic_is_exact(family, launch, tmp_path):
    done = launch(family, 2, compiled("traffic.c", family, tmp_path))
    assert done.returncode == 0, done.stderr
    peers = {p.kind.value: (p.messages, p.bytes) for p in read_record(tmp_path / "record").ranks[0].peers}
    assert peers == {"message": (5, 5 * 40), "put": (3, 3 * 16), "get": (2, 2 * 8)}


@pytest.mark.parametrize("family", DEBIAN)
def test_receives_count_the_bytes_that_came(family, launch, tmp_path):
    """Sent and received totals are equal for all ways of posting and completion."""
    done = launch(family, 2, compiled("receives.c", family, tmp_path))
    assert done.returncode == 0, done.stderr
    sender, receiver = read_record(tmp_path / "record").ranks
    came: dict[str, int] = {}
    for cell in receiver.cells:
        if cell.bytes:
            came[cell.function] = came.get(cell.function, 0) + cell.bytes
    assert came == {
        "MPI_Irecv": (10 + 200) * 24,
        "MPI_Mrecv": 24,
        "MPI_Imrecv": 24,
        "MPI_Start": 2 * 24,
    }
    assert sum(peer.bytes for peer in sender.peers) == sum(came.values())


@pytest.mark.parametrize("family", DEBIAN)
def test_a_rank_that_is_killed_leaves_its_data(family, launch, tmp_path):
    launch(family, 1, compiled("killed.c", family, tmp_path))
    (rank,) = read_record(tmp_path / "record").ranks
    assert rank.state is RankState.RUNNING
    assert sum(cell.calls for cell in rank.cells if cell.function == "MPI_Allreduce") == 50


@pytest.mark.parametrize("family", DEBIAN)
def test_the_runtime_of_another_family_changes_nothing_and_says_so(family, launch, tmp_path):
    other = {"mpich": "openmpi", "openmpi": "mpich"}[family]
    done = launch(family, 2, compiled("ring.c", family, tmp_path), runtime=other)
    assert done.returncode == 0
    assert "sum 2" in done.stdout
    assert "another family" in done.stderr
    assert not (tmp_path / "record").exists()


@pytest.mark.parametrize("family", DEBIAN)
@pytest.mark.parametrize(("merge", "message_count"), [("never", 2), ("tree", 1)])
def test_a_directory_that_cannot_be_made_costs_the_record_only(
    merge, message_count, family, launch, tmp_path
):
    nowhere = {"MPIRIC_RECORD_DIR": "/proc/nowhere", "MPIRIC_MERGE": merge}
    done = launch(family, 2, compiled("ring.c", family, tmp_path), **nowhere)
    assert done.returncode == 0
    assert "sum 2" in done.stdout
    assert done.stderr.count("mpiric: ") == done.stderr.count("No such file or directory") == message_count


@pytest.mark.requires("debian-mpich", "root")
def test_a_full_disk_costs_the_record_only(launch, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)], check=True)
    try:
        where = {"MPIRIC_RECORD_DIR": str(small), "MPIRIC_MERGE": "never"}
        done = launch("mpich", 2, compiled("ring.c", "mpich", tmp_path), **where)
        assert done.returncode == 0
        assert "sum 2" in done.stdout
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize("family", DEBIAN)
def test_a_tool_behind_the_runtime_still_sees_each_call(family, launch, tmp_path):
    tool = compiled("tool.c", family, tmp_path, "-shared", "-fPIC")
    program = compiled("ring.c", family, tmp_path)
    preload = yielding(NATIVE / family / "libmpiric.so", tool)
    done = launch(family, 2, program, LD_PRELOAD=preload)
    assert done.stderr.count(f"tool saw {ROUNDS} sends") == 2
    record = read_record(tmp_path / "record")
    assert (calls(record, "MPI_Send"), calls(record, "MPI_Comm_size")) == ([ROUNDS] * 2, [1] * 2)


@pytest.mark.parametrize("family", DEBIAN)
def test_a_tool_inside_the_program_still_sees_each_call(family, launch, tmp_path):
    """The tool's MPI_Send hides the runtime's; its calls of PMPI_Send are seen."""
    program = compiled("ring.c", family, tmp_path, str(PROGRAMS / "tool.c"))
    done = launch(family, 2, program)
    assert done.stderr.count(f"tool saw {ROUNDS} sends") == 2
    record = read_record(tmp_path / "record")
    assert (calls(record, "MPI_Send"), calls(record, "MPI_Comm_size")) == ([ROUNDS] * 2, [1] * 2)


@pytest.mark.parametrize("family", DEBIAN)
def test_threads_children_and_regions_are_told_apart(family, launch, tmp_path):
    done = launch(family, 1, compiled("threads.c", family, tmp_path, "-pthread"))
    assert done.returncode == 0, done.stderr
    (rank,) = read_record(tmp_path / "record").ranks
    assert calls(read_record(tmp_path / "record"), "MPI_Iprobe") == [4 * 1000]
    assert [(region.name, region.entries) for region in rank.regions] == [("(program)", 1), ("level 7", 2)]
    written = {use.path: (use.writes, use.bytes_written) for use in rank.files}
    assert written[str(tmp_path / "written")] == (3, 3000)  # the forked child's write is its own


@pytest.mark.parametrize("family", DEBIAN)
def test_signals_on_stacks_of_their_own_neither_hang_threads_nor_lose_calls(family, launch, tmp_path):
    done = launch(family, 1, compiled("signals.c", family, tmp_path, "-pthread"))
    assert done.returncode == 0, done.stderr
    record = read_record(tmp_path / "record")
    assert calls(record, "MPI_Irecv") == calls(record, "MPI_Send") == [4 * 3000]


@pytest.mark.requires("debian-openmpi", "gfortran")
def test_a_limit_on_the_size_of_files_costs_the_record_only(launch, tmp_path):
    """The kernel ends a program that writes a longer file by a signal."""
    program = compiled("ring.c", "openmpi", tmp_path)
    limited = ("sh", "-c", f"ulimit -f 100; exec {program}")
    done = launch("openmpi", 1, *limited, MPIRIC_MERGE="never")
    assert (done.returncode, done.stdout) == (0, "sum 1\n")
    assert "records nothing: File too large" in done.stderr
    done = launch("openmpi", 1, *limited)  # the merged record is short enough
    assert (done.returncode, done.stdout, done.stderr) == (0, "sum 1\n", "")
    assert calls(read_record(tmp_path / "record"), "MPI_Send") == [ROUNDS]


@pytest.mark.requires("debian-mpich")
def test_a_program_that_asks_for_functions_gets_the_answer_of_the_library(launch, tmp_path):
    """Debian's MPICH 4.0 has no MPI_Status_get_source, which the headers of the build have."""
    done = launch("mpich", 1, compiled("asks.c", "mpich", tmp_path, "-D_GNU_SOURCE"))
    assert done.stdout.split() == ["MPI_Send", "there", "MPI_Status_get_source", "missing"]


@pytest.mark.parametrize("family", ["mpich", "openmpi", "standard"])
def test_a_process_without_mpi_is_left_alone(family, environment, tmp_path):
    settings = {
        "LD_PRELOAD": str(NATIVE / family / "libmpiric.so"),
        "MPIRIC_RECORD_DIR": str(tmp_path / "record"),
    }
    done = subprocess.run(
        ["sh", "-c", "echo one; ls / > /dev/null; cat /proc/self/cmdline | wc -c"],
        env={**environment, **settings},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("one\n")
    assert not (tmp_path / "record").exists()


SUM = """
import sys
from mpi4py import MPI
sys.stdout.write(f"sum {MPI.COMM_WORLD.allreduce(1)}\\n")
MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.requires("python:mpi4py", "debian-openmpi")
@pytest.mark.parametrize("library", ["", "/usr/lib/x86_64-linux-gnu/libmpi.so.40"], ids=["unknown", "named"])
def test_python_that_opens_an_older_library_by_itself_works_and_is_seen(
    library, launch, program_python, tmp_path
):
    """mpi4py holds weak references to functions of MPI 4 that Open MPI 4.1 lacks and the runtime has."""
    settings = {"MPI4PY_MPIABI": "openmpi", "MPIRIC_LIBRARY": library}
    done = launch("openmpi", 2, program_python("mpi4py"), "-c", SUM, **settings)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("sum 2") == 2
    record = read_record(tmp_path / "record")
    assert calls(record, "MPI_Barrier") == [1, 1]
    assert calls(record, "MPI_Finalize") == [0, 0]
