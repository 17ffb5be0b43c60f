"""`mpiric fabric` on this machine and on the virtual cluster, under every MPI that can be had."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.lab.plan import Plan, host_names, networks
from tests.lab.programs import mpi_environment, ranks_program

from mpiric.model.errors import ExitCode

MPIRIC = str(Path(sys.executable).parent / "mpiric")
NAMES = ("mpich", "openmpi", "intelmpi")
needs_lab = pytest.mark.requires("root", "netns", "ip", "tc", "gcc", *(f"mpi:{name}" for name in NAMES))
# Open MPI and Intel MPI bind the first rank of every host to the same core of the machine below, where ranks
# that wait must let go of their core.
LAUNCH = {
    "mpich": ("mpiexec", "-hosts", "n1,n2", "-ppn", "1", "-n", "2"),
    "openmpi": (
        *("mpirun", "--host", "n1,n2", "--bind-to", "none"),
        *("--mca", "mpi_yield_when_idle", "1"),
    ),
    "intelmpi": (
        *("mpiexec", "-genv", "I_MPI_PIN", "0", "-genv", "I_MPI_THREAD_YIELD", "3"),
        *("-hosts", "n1,n2", "-ppn", "1", "-n", "2"),
    ),
}
# Each prefers by another rule: MPICH and Open MPI meet the slow network when host names resolve to it,
# Intel MPI when the kernel lists it last.
NETWORKS = {
    "mpich": ("slow0", "quick0"),
    "openmpi": ("slow0", "quick0"),
    "intelmpi": ("quick0", "slow0"),
}
SHAPES = {"slow0": "slow0:delay=1ms,rate=100mbit", "quick0": "quick0:rate=2gbit,mtu=9000"}
SIZES = {"mpich": "1048576 30"}  # its UCX sends messages of that size in parts over both networks
RING = Path(__file__).parents[2] / "examples/known_wins/ring.c"


@pytest.mark.requires("gcc")
@pytest.mark.parametrize("name", ["mpich", *(pytest.param(n, marks=pytest.mark.sweep) for n in NAMES[1:])])
def test_ranks_on_one_node_are_seen_to_share_memory(name, run_mpiric, mpi_prefix, tmp_path):
    program = ranks_program(name, mpi_prefix, tmp_path)
    environment = mpi_environment(name, mpi_prefix(name), clean_environment())
    done = run_mpiric(
        *("fabric", "--json", "--rounds", 1, "--", mpi_prefix(name) / "bin/mpiexec", "-n", 2, program),
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    pairs = {pair["class"]: pair for pair in answer["pairs"]}
    assert set(pairs) <= {"self", "same NUMA", "same node"}
    assert len(pairs) == 2
    (near,) = [pair for pair_class, pair in pairs.items() if pair_class != "self"]
    assert near["transport"] in {"sm", "shared memory", "sysv, cma", "posix, cma"}
    assert near["seen"].startswith("nothing on any device")
    assert near["device"] == ""
    assert near["latency_us"] > 0
    assert near["bandwidth_MBps"] > 0
    assert all("knobs" in entry for entry in near["alternatives"])
    assert str(program) in answer["recommended"]["argv"]


@pytest.mark.requires("gcc", "mpi:mpich")
def test_a_command_that_fails_is_told_with_its_words(run_mpiric, mpi_prefix):
    launcher = mpi_prefix("mpich") / "bin/mpiexec"
    done = run_mpiric("fabric", "--", launcher, "-n", 2, "sh", "-c", "echo no such luck; exit 3")
    assert done.returncode == ExitCode.PROGRAM_FAILED
    assert "no such luck" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.requires("gcc", "mpi:mpich")
def test_a_provider_left_by_something_else_is_named(run_mpiric, mpi_prefix, tmp_path):
    program = ranks_program("mpich", mpi_prefix, tmp_path)
    remaining = {"UCX_TLS": "rc,self,sm", "UCX_NET_DEVICES": "mlx5_0:1"}
    done = run_mpiric(
        *("fabric", "--json", "--rounds", 1, "--", mpi_prefix("mpich") / "bin/mpiexec", "-n", 2, program),
        env={**remaining, "MPIR_CVAR_CH4_NETMOD": "ofi"},
    )
    assert done.returncode == 0, done.stderr
    named = {warning["id"] for warning in json.loads(done.stdout)["warnings"]}
    assert {"stale-ucx-tls", "unknown-interface"} <= named


class Lab:
    """Two hosts of which each MPI library prefers the wrong network."""

    def __init__(self, name: str, prefix, directory: Path) -> None:
        self.state, self.name = directory / "state", name
        cluster.up(
            self.state, Plan(host_names("2"), networks=networks([SHAPES[entry] for entry in NETWORKS[name]]))
        )
        self.work = self.state / "work"  # seen by every host, as the state directory is
        self.work.mkdir()
        compiler = prefix("mpich" if name == "intelmpi" else name) / "bin/mpicc"
        subprocess.run([compiler, "-o", self.work / "ring", RING], check=True, timeout=120)
        variables = {
            f"XDG_{kind}_HOME": str(self.work / kind.lower()) for kind in ("STATE", "CACHE", "CONFIG")
        }
        self.environment = mpi_environment(name, prefix(name), {**clean_environment(), **variables})

    def mpiric(self, *arguments: str, ring: str = "", **more: str) -> dict:
        line = [MPIRIC, *arguments, "--json", "--", *LAUNCH[self.name], str(self.work / "ring"), ring]
        command = f"cd {self.work} && exec " + " ".join(line)
        done = cluster.run(self.state, "n1", ["sh", "-c", command], {**self.environment, **more}, timeout=600)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def lab(request, mpi_prefix, tmp_path_factory):
    lab = Lab(request.param, mpi_prefix, tmp_path_factory.mktemp("fabric"))
    yield lab
    cluster.down(lab.state)


@needs_lab
@pytest.mark.sweep
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("lab", NAMES, indirect=True)
def test_the_slow_network_is_named_with_numbers_and_tune_leaves_it(lab):
    answer = lab.mpiric("fabric", "--rounds", "2")
    (pair,) = [pair for pair in answer["pairs"] if pair["class"] == "other node"]
    assert "tcp" in pair["transport"]
    assert "slow0" in pair["device"]
    assert "slow0" in pair["seen"]
    assert "slower-transport" in {warning["id"] for warning in answer["warnings"]}
    worked = [entry["knobs"] for entry in pair["alternatives"] if "refused" not in entry]
    measured = {knobs["network-interface"] for knobs in worked if "network-interface" in knobs}
    assert measured == {"slow0", "quick0"}
    largest = pair["winners"][-1]
    assert largest["knobs"]["network-interface"] == "quick0"
    assert largest["gain"] > 2
    assert answer["recommended"]["knobs"]["network-interface"] == "quick0"
    command = [*answer["recommended"]["argv"], *answer["recommended"]["env"].values()]
    assert any("quick0" in word for word in command)

    tuning = ("--only", "network-interface", "--confidence", "0.9", "--max-runs", "40")
    tuned = lab.mpiric("tune", *tuning, ring=SIZES.get(lab.name, ""))
    assert [change["value"] for change in tuned["changes"]] == ["quick0"]


@needs_lab
@pytest.mark.sweep
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("lab", ["openmpi"], indirect=True)
def test_a_transport_preferred_by_its_priority_is_named_and_left(lab):
    """Settings of another cluster: for small messages one interface goes before the other."""
    settings = {"OMPI_MCA_btl_tcp_latency_slow0": "1", "OMPI_MCA_btl_tcp_latency_quick0": "100"}
    answer = lab.mpiric("fabric", "--rounds", "2", ring="64 200", **settings)
    (pair,) = [pair for pair in answer["pairs"] if pair["class"] == "other node"]
    assert any(why.startswith("small messages go over slow0") for why in pair["why"])
    assert pair["winners"][0]["knobs"]["network-interface"] == "quick0"
    assert pair["winners"][0]["gain"] > 10
    assert "slower-transport" in {warning["id"] for warning in answer["warnings"]}

    rule = ("--confidence", "0.9", "--max-runs", "40")
    tuned = lab.mpiric("tune", "--only", "network-interface", *rule, ring="64 1500", **settings)
    assert [change["value"] for change in tuned["changes"]] == ["quick0"]
