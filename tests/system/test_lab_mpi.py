"""Every MPI on four hosts of the virtual cluster, started the way its users do."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.lab.plan import host_names
from tests.lab.programs import mpi_environment, ranks_printed, ranks_program
from tests.support.oversubscription import OVERSUBSCRIBED

from mpiric.host.installation.native import native_part
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.pace import MarksState
from mpiric.profile.marks import read_marks
from mpiric.profile.read import read_file

pytestmark = [
    pytest.mark.requires("root", "netns", "ip", "tc", "gcc"),
    pytest.mark.requires("mpi:mpich", "mpi:openmpi", "mpi:intelmpi"),
]
HOSTS = host_names("4")
EVERY_HOST = {(rank, 4, host) for rank, host in enumerate(HOSTS)}


@pytest.fixture
def ranks(lab, mpi_prefix):
    """`ranks("mpich", "mpiexec", …)` runs a launch line on n1 and gives rank, size and host of each rank."""

    def run(name, *launch, **more):
        program = ranks_program(name, mpi_prefix, lab)
        environment = mpi_environment(name, mpi_prefix(name), {**clean_environment(), **more})
        done = cluster.run(lab, "n1", [*launch, str(program)], environment, timeout=120)
        assert done.returncode == 0, done.stderr
        return set(ranks_printed(done.stdout))

    return run


def test_mpich_by_its_agent(ranks, lab):
    agent = ("-launcher", "ssh", "-launcher-exec", str(lab / "bin/ssh"))
    assert ranks("mpich", "mpiexec", *agent, "-hosts", ",".join(HOSTS), "-ppn", "1", "-n", "4") == EVERY_HOST


def test_mpich_finds_the_agent_as_ssh(ranks):
    assert ranks("mpich", "mpiexec", "-hosts", ",".join(HOSTS), "-ppn", "1", "-n", "4") == EVERY_HOST


def test_openmpi_by_its_agent(ranks, lab):
    agent = ("--prtemca", "plm_ssh_agent", str(lab / "bin/ssh"))
    result = ranks(
        "openmpi", "mpirun", *agent, "--host", ",".join(f"{host}:2" for host in HOSTS), "--bind-to", "none"
    )
    assert result == {(rank, 8, HOSTS[rank // 2]) for rank in range(8)}


def test_openmpi_finds_the_agent_as_ssh(ranks):
    assert ranks("openmpi", "mpirun", "--host", ",".join(HOSTS), "--bind-to", "none") == EVERY_HOST


def test_intel_mpi_by_its_agent(ranks, lab):
    agent = ("-bootstrap", "ssh", "-bootstrap-exec", str(lab / "bin/ssh"))
    command = ("-hosts", ",".join(HOSTS), "-ppn", "1", "-n", "4")
    assert ranks("intelmpi", "mpiexec", *agent, *command) == EVERY_HOST


def test_mpich_over_the_network_named_by_its_hosts(ranks):
    hosts = ",".join(f"{host}-fast0" for host in HOSTS)
    assert ranks("mpich", "mpiexec", "-hosts", hosts, "-ppn", "1", "-n", "4") == EVERY_HOST


@pytest.mark.parametrize("name", ["mpich", "intelmpi"])
def test_ranks_on_all_hosts_know_that_they_are_of_one_run(name, ranks, lab):
    """The parts of the ranks of an ended run are merged by the id of the run."""
    runtime = native_part("libmpiric.so", AbiFamily.MPICH)
    jobs = []
    for number in range(2):
        directory = lab / f"parts-{name}-{number}"
        variables = {"LD_PRELOAD": runtime, "MPIRIC_RECORD_DIR": str(directory), "MPIRIC_MERGE": "never"}
        launch = ("mpiexec", "-hosts", ",".join(HOSTS), "-ppn", "1", "-n", "4")
        assert ranks(name, *launch, **variables) == EVERY_HOST
        parts = [read_file(path).ranks[0] for path in directory.glob("rank-*.part")]
        assert sorted(part.rank for part in parts) == [0, 1, 2, 3]
        jobs.append({part.job for part in parts})
    assert [len(entry) for entry in jobs] == [1, 1]
    assert jobs[0] != jobs[1]


@pytest.mark.parametrize("name", ["mpich", "openmpi", "intelmpi"])
def test_a_run_on_several_hosts_ends_at_its_mark(name, lab, mpi_prefix):
    family = AbiFamily.OPENMPI if name == "openmpi" else AbiFamily.MPICH
    program, marks = lab / f"endless-{family.value}", lab / f"marks-{name}"
    compiler = mpi_prefix(family.value) / "bin/mpicc"
    subprocess.run([compiler, "-o", program, Path(__file__).with_name("endless.c")], check=True, timeout=120)
    marks.mkdir()
    variables = {
        "LD_PRELOAD": native_part("libmpiric.so", family),
        "MPIRIC_MARK": "MPI_Allreduce@*@*:2,5",
        "MPIRIC_MARK_OUT": marks,
        "MPIRIC_MARK_END": "1",
    }
    launch = ["mpiexec", "-hosts", ",".join(HOSTS), "-ppn", "2"]
    if name == "openmpi":
        launch = ["mpirun", "--host", ",".join(f"{host}:2" for host in HOSTS), "--bind-to", "none"]
    line = [*launch, "-n", "8", "env", *(f"{key}={value}" for key, value in variables.items()), str(program)]
    environment = {**clean_environment(), **OVERSUBSCRIBED[name]}
    cluster.run(lab, "n1", line, mpi_environment(name, mpi_prefix(name), environment), timeout=60)
    remaining = read_marks(marks)
    assert (remaining.missing, remaining.ranks[0].state) == ((), MarksState.ENDED)


@pytest.fixture
def profiled(lab, mpi_prefix):
    """`profiled(directory, hosts)` profiles one rank on each from n1; gives the process and its JSON."""

    def run(directory, hosts):
        program = ranks_program("mpich", mpi_prefix, lab)
        environment = mpi_environment("mpich", mpi_prefix("mpich"), clean_environment())
        launch = ["mpiexec", "-hosts", ",".join(hosts), "-ppn", "1", "-n", str(len(hosts)), str(program)]
        mpiric = str(Path(sys.executable).parent / "mpiric")
        command = [mpiric, "profile", "--json", "-o", directory, "--", *launch]
        done = cluster.run(lab, "n1", command, environment, timeout=120)
        return done, json.loads(done.stdout)

    return run


@pytest.mark.parametrize(("directory", "notes"), [("/tmp/p", 0), ("/tmp/of/n1/p", 1)])
def test_a_record_is_whole_where_each_host_has_a_directory_of_its_own(directory, notes, profiled):
    """Ranks without a place for the directory keep what they record in memory."""
    done, answer = profiled(directory, HOSTS)
    assert done.returncode == 0, done.stderr
    assert tuple(use["host"] for use in answer["by_rank"]) == HOSTS
    assert len([note for note in answer["notes"] if note.endswith("in memory: 1, 2, 3")]) == notes
    assert "mpiric: " not in done.stderr


def test_a_record_that_is_on_another_host_is_missed_with_a_word(profiled):
    done, answer = profiled("/tmp/elsewhere", HOSTS[1:])
    assert (done.returncode, answer["recorded"]) == (0, False)
    assert "rank 0 ran on a host that sees this directory" in done.stderr
