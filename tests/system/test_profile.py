"""`mpiric profile`, `report` and `doctor` on a program whose traffic can be counted on paper."""

import json
import subprocess
from pathlib import Path

import pytest

from mpiric.model.errors import ExitCode
from mpiric.profile.read import read_record

SOURCE = Path(__file__).with_name("analytic.c")
RANKS = 4
STACKS = {
    "mpich": ("mpicc.mpich", ("mpiexec.mpich", "-n", str(RANKS))),
    "openmpi": ("mpicc.openmpi", ("mpirun.openmpi", "--oversubscribe", "-n", str(RANKS))),
}
STACK = pytest.mark.parametrize(
    "stack",
    [pytest.param(name, marks=pytest.mark.requires(f"debian-{name}")) for name in STACKS],
)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """`build(stack)` is the launch line of the program there."""

    def built(stack: str) -> tuple[str, ...]:
        compiler, launcher = STACKS[stack]
        program = tmp_path_factory.getbasetemp() / f"analytic-{stack}"
        if not program.exists():
            subprocess.run([compiler, "-o", program, SOURCE], check=True)
        return (*launcher, str(program))

    return built


@STACK
def test_each_rank_times_the_fixed_computation_at_both_ends(run_mpiric, build, tmp_path, stack):
    assert run_mpiric("profile", "-o", tmp_path / "p", "--", *build(stack)).returncode == 0
    for rank in read_record(tmp_path / "p").ranks:
        times_ns = [int(rank.facts[f"reference.{moment}_ns"]) for moment in ("begin", "end")]
        assert all(50_000 < time_ns < 50_000_000 for time_ns in times_ns)


def row(rows, **expected):
    (results,) = [entry for entry in rows if expected.items() <= entry.items()]
    return results


@STACK
def test_counts_are_those_on_paper(run_mpiric, build, tmp_path, stack):
    done = run_mpiric("profile", "--json", "-o", tmp_path / "p", "--", *build(stack))
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert "4 ranks" in done.stderr  # ranks of the program
    assert data["ranks"] == RANKS
    ring = {(at, (at + 1) % RANKS): (10, 10_000) for at in range(RANKS)}
    for to in range(1, RANKS):
        messages, moved = ring.get((0, to), (0, 0))
        ring[0, to] = (messages + 1, moved + 8)
    assert {(s, d): (m, b) for s, d, m, b in data["p2p"]} == ring
    calls = {use["name"]: (use["calls"], use["bytes"]) for use in data["functions"]}
    assert calls["MPI_Sendrecv"] == (10 * RANKS, 10_000 * RANKS)
    assert calls["MPI_Send"] == calls["MPI_Recv"] == (RANKS - 1, 8 * (RANKS - 1))
    assert calls["MPI_Comm_split"][0] == calls["MPI_Init"][0] == RANKS
    assert row(data["functions"], name="MPI_Init")["time_s"] > 0
    world = {"communicator": "MPI_COMM_WORLD"}
    assert (
        row(data["collective"], name="MPI_Allreduce", **world).items() >= {"calls": 20, "bytes": 640}.items()
    )
    assert row(data["collective"], name="MPI_Bcast", **world).items() >= {"calls": 8, "bytes": 800}.items()
    halves = [use for use in data["communicators"] if use["name"].startswith("half")]
    assert sorted((use["ranks"], use["calls"]) for use in halves if use["size"] == 2) == [
        ([0, 2], 8),
        ([1, 3], 8),
    ]
    assert row(data["sizes"], low_bytes=512)["bytes"] == 10_000 * RANKS
    assert 0 < data["mpi_share"] <= 1
    page = (tmp_path / "p/report.html").read_text()
    assert "MPI_Allreduce" in page


@STACK
def test_output_and_status_are_the_programs_own(run_mpiric, build, tmp_path, stack):
    done = run_mpiric("profile", "-o", tmp_path / "p", "--", *build(stack), "3")
    assert done.returncode == 3
    assert done.stdout == "4 ranks\n"


@pytest.mark.requires("debian-mpich")
def test_a_report_is_made_again_from_the_directory_and_compares_two(run_mpiric, build, tmp_path):
    run_mpiric("profile", "-q", "-o", tmp_path / "a", "--", *build("mpich"))
    first = json.loads((tmp_path / "a/report.json").read_text())
    again = run_mpiric("report", "--json", "--csv", tmp_path / "tables", tmp_path / "a")
    assert json.loads(again.stdout) == first
    assert (tmp_path / "tables/traffic.csv").exists()
    both = json.loads(run_mpiric("report", "--json", tmp_path / "a", tmp_path / "a/record.mpiric").stdout)
    assert both["calls"] == []
    assert row(both["headline"], name="wall time")["ratio"] == 1.0


@pytest.mark.requires("debian-mpich")
def test_a_report_that_is_made_again_keeps_the_cause_of_a_failure(run_mpiric, build, tmp_path):
    failed = run_mpiric("profile", "-q", "-o", tmp_path / "a", "--", *build("mpich"), "3")
    assert failed.returncode == 3
    again = run_mpiric("report", "--json", tmp_path / "a")
    assert json.loads(again.stdout)["findings"][0]["id"] == "unknown-failure"


@pytest.mark.requires("debian-openmpi")
def test_doctor_speaks_of_settings_and_leaves_nothing_behind(run_mpiric, build, tmp_path):
    done = run_mpiric("doctor", "--json", "--", *build("openmpi"), "5", env={"OMPI_MCA_btl": "self,tcp"})
    assert done.returncode == 5
    data = json.loads(done.stdout)
    assert data["recorded"]
    assert data["exit_status"] == 5
    assert "shared-memory-off" in {finding["id"] for finding in data["findings"]}
    assert all(set(finding) >= {"id", "says", "evidence", "fix"} for finding in data["findings"])
    assert not list(tmp_path.glob("mpiric-*"))


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """`endless(stack)` is the launch line of a program that works and reduces for ever."""

    def built(stack: str) -> tuple[str, ...]:
        compiler, launcher = STACKS[stack]
        program = tmp_path_factory.getbasetemp() / f"endless-{stack}"
        if not program.exists():
            subprocess.run([compiler, "-o", program, SOURCE.with_name("endless.c")], check=True)
        return (*launcher[:-1], "2", str(program))

    return built


@STACK
def test_doctor_ends_a_run_at_the_limit_and_tells_what_was_seen(run_mpiric, endless, tmp_path, stack):
    place = tmp_path / "p"
    done = run_mpiric("doctor", "--json", "--limit", "4s", "-o", place, "--", *endless(stack))
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["ended_at_limit"]
    assert data["recorded"]
    assert data["exit_status"] == 0
    assert data["mpi_share"] > 0
    record = json.loads(run_mpiric("report", "--json", place).stdout)
    assert record["wall_s"] > 1.0
    assert record["numbers"]["cpu_use"] > 0
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert str(endless(stack)[-1]) not in running


@pytest.mark.requires("debian-openmpi")
def test_doctor_fails_on_what_it_is_told_to(run_mpiric, build):
    setting = {"OMPI_MCA_btl": "self,tcp"}
    reported = [("settings", ExitCode.FOUND), ("shared-memory-off", ExitCode.FOUND)]
    for finding, status in (*reported, ("swapping", 0), ("", 0)):
        done = run_mpiric("doctor", "--fail-on", finding, "--", *build("openmpi"), env=setting)
        assert done.returncode == status, (finding, done.stderr)


@pytest.mark.requires("debian-mpich")
def test_a_command_without_mpi_is_told_so(run_mpiric, tmp_path):
    done = run_mpiric(
        "profile", "-o", tmp_path / "p", "--", "mpiexec.mpich", "-n", "2", "true", stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0  # exit status of `true`
    assert "no record" in done.stderr
    assert "Traceback" not in done.stderr
