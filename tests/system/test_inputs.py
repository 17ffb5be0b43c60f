"""Inputs that are broadcast, and files that are opened to read: ranks read the same as in the plain run."""

import re
import subprocess
from pathlib import Path

import pytest
from tests.support.oversubscription import yielding
from tests.support.preloaded import NATIVE

HERE = Path(__file__).parent
RANKS = 4
TEXT = bytes((at * 7 + at // 251) % 256 for at in range(700_001))

pytestmark = pytest.mark.requires("mpi:mpich")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("inputs")


@pytest.fixture
def program(place, mpi_prefix):
    path = place / "inputs"
    if not path.exists():
        subprocess.run([mpi_prefix("mpich") / "bin/mpicc", "-o", path, HERE / "inputs.c"], check=True)
    return path


@pytest.fixture
def run(mpi_prefix, environment, program, tmp_path):
    """Return `run(settings, …, ranks=RANKS)` for two nodes from MPICH's view, with the file `data/in`."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/in").write_bytes(TEXT)
    (tmp_path / "disk").mkdir()

    def start(settings, *arguments, ranks=RANKS, of=program):
        variables = {
            "LD_PRELOAD": yielding(NATIVE / "mpich/libmpiric.so"),
            "MPIR_CVAR_NUM_CLIQUES": "2",
            "MPIRIC_LOCAL_DIR": tmp_path / "disk",
            **settings,
        }
        options = [str(word) for name, value in variables.items() for word in ("-genv", name, value)]
        argv = [str(mpi_prefix("mpich") / "bin/mpiexec"), "-n", str(ranks), *options, str(of), *arguments]
        done = subprocess.run(
            argv, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, done.stderr
        assert list((tmp_path / "disk").rglob("input*")) == []
        return done

    return start


def answers(done):
    """Return the data that ranks have read, and the ranks that read a copy."""
    lines = sorted(done.stdout.splitlines())
    read = {re.sub(r"rank \d+ | copies.*", "", line) for line in lines}
    return read, [line.split(" copies ")[1] for line in lines]


@pytest.mark.parametrize("ranks", [1, RANKS])
def test_each_rank_reads_its_nodes_copy_of_the_same_bytes(run, ranks, tmp_path):
    (read,), copies = answers(run({"MPIRIC_BROADCAST": "data/in"}, "reads", "data/in", ranks=ranks))
    assert read.startswith(f"{len(TEXT)} ")
    assert read.endswith("same 1")
    assert copies == ["1 1"] * ranks
    for named in (tmp_path / "data/in", "./data/in", "data/../data/in"):
        (again,), copies = answers(run({"MPIRIC_BROADCAST": "data/in"}, "reads", str(named)))
        assert (again, copies) == (read, ["1 1"] * RANKS)
    (plain,), copies = answers(run({}, "reads", "data/in"))
    assert (plain, copies) == (read, ["0 0"] * RANKS)


def test_a_file_that_has_changed_since_is_read_itself(run):
    (read,), copies = answers(run({"MPIRIC_BROADCAST": "data/in"}, "changed", "data/in"))
    assert read.startswith(f"{len(TEXT) + 4} ")
    assert copies == ["0 0"] * RANKS


def test_another_file_of_the_same_name_is_read_itself(run, tmp_path):
    (tmp_path / "in").write_bytes(b"other")
    (read,), copies = answers(run({"MPIRIC_BROADCAST": "data/in"}, "reads", "in"))
    assert read.startswith("5 ")
    assert copies == ["0 0"] * RANKS


@pytest.mark.parametrize("what", ["absent", "data", "data/empty"])
def test_what_cannot_be_broadcast_is_read_by_all_and_said(run, what, tmp_path):
    (tmp_path / "data/empty").touch()
    done = run({"MPIRIC_BROADCAST": f"{what};data/in"}, "reads", "data/in")
    assert answers(done)[1] == ["1 1"] * RANKS
    assert "an input is not broadcast, and is read by all" in done.stderr
    assert done.stderr.rstrip().endswith(what)


@pytest.mark.requires("root")
def test_where_a_nodes_disk_is_full_all_read_the_file_itself(run, tmp_path):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path / "disk"], check=True)
    try:
        done = run({"MPIRIC_BROADCAST": "data/in"}, "reads", "data/in")
    finally:
        subprocess.run(["umount", tmp_path / "disk"], check=True)
    assert answers(done)[1] == ["0 0"] * RANKS
    assert "no room" in done.stderr


def test_a_file_that_is_only_read_is_opened_to_read_until_it_is_written(run, tmp_path):
    (tmp_path / "data/in").write_bytes(b"abcdefghijkl")
    done = run({"MPIRIC_READ_ONLY": "i*"}, "both", "data/in", ranks=1)
    assert done.stdout == "asked 1 writes 0\nbegins abc writes 1 at 6\n"
    assert (tmp_path / "data/in").read_bytes() == b"__cXYZgh"


def test_a_file_that_no_rule_names_is_opened_as_the_program_asks(run, tmp_path):
    (tmp_path / "data/in").write_bytes(b"abcdefghijkl")
    done = run({"MPIRIC_READ_ONLY": "other*"}, "both", "data/in", ranks=1)
    assert done.stdout == "asked 1 writes 1\nbegins abc writes 1 at 6\n"


def test_a_program_of_sessions_broadcasts_nothing_and_says_why_once(run, place, mpi_prefix):
    of_sessions = place / "sessions"
    source = HERE / "runtime_programs/sessions.c"
    subprocess.run([mpi_prefix("mpich") / "bin/mpicc", "-o", of_sessions, source], check=True)
    output = "mpiric: no input is broadcast: MPI_Session_init is local"
    assert run({"MPIRIC_BROADCAST": "data/in"}, of=of_sessions).stderr.count(output) == 1
    assert output not in run({"MPIRIC_READ_ONLY": "other*"}, of=of_sessions).stderr
