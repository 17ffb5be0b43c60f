"""Two clusters with one home: recipes, packs and scripts of one of them are used on the other."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.lab.enter import command_line
from tests.lab.plan import Network, host_names
from tests.lab.programs import mpi_environment, ranks_printed, ranks_program
from tests.support.slurm_lab import NEEDS, slurm_lab

from mpiric.model.errors import ExitCode

pytestmark = [
    pytest.mark.requires(*NEEDS),
    pytest.mark.requires("mpi:mpich", "libpmi2.so.0"),
]
MPIRIC = str(Path(sys.executable).parent / "mpiric")
PATIENCE_S = 240
HOSTS = host_names("2")
ETHERNET = Network("eth0", delay_us=0, rate_mbit=1000)
NETWORKS = {"here": "fast0", "there": "hsn0"}
ON_BOTH = ("mpiexec", "-n", "2", "-ppn", "1", "-hosts", "n1,n2")
WRITE_RECIPE = """
import json, sys
from pathlib import Path
from tests.support.proved_recipe import write_proved
written, mark, configuration, *line = sys.argv[1:]
write_proved(Path(written), line, Path.cwd(), mark, json.loads(configuration))
"""


@dataclass
class Cluster:
    """A cluster with the directory that both clusters share, and a program in it."""

    lab: Path
    home: Path
    program: str
    environment: dict[str, str]

    def run(self, *argv: str, host: str = "n1", **variables: str) -> "subprocess.CompletedProcess[str]":
        inside = ["/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(self.home), *argv]
        return subprocess.run(
            command_line(self.lab, host, inside),
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    def recipe(
        self,
        name: str,
        values: dict[str, str],
        *line: str,
        mark: str = "MPI_Allreduce@*@2.0:10,50",
        inside: tuple[str, ...] = (),
    ) -> Path:
        """A recipe as a tune on this cluster would have saved it, or one ``inside`` of a job."""
        path = self.home / "store" / name / f"{name}.recipe.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        argv = (sys.executable, "-c", WRITE_RECIPE, str(path), mark, json.dumps(values), *line)
        done = self.run(*inside, *argv, PYTHONPATH=str(Path(__file__).parents[2]))
        assert done.returncode == 0, done.stderr
        return path

    def left_on(self, host: str) -> set[str]:
        """Shared memory of a host, and files of MPI launchers in its /tmp."""
        of_launchers = ("(", "-path", "/dev/shm/*", "-o", "-name", "hydra_*", ")")
        listing = self.run("find", "/dev/shm", "/tmp", "-maxdepth", "1", *of_launchers, host=host)
        return set(listing.stdout.split())


@pytest.fixture(scope="module")
def clusters(tmp_path_factory) -> Iterator[dict[str, Cluster]]:
    from tests.conftest import installed_prefixes  # the fixture `mpi_prefix` is of one test alone

    home = tmp_path_factory.mktemp("home")
    prefix = next(p for label, p in installed_prefixes(os.environ).items() if label.startswith("mpich-"))
    program = str(ranks_program("mpich", lambda _: prefix, home))
    environment = mpi_environment("mpich", prefix, {**clean_environment(), "HOME": str(home)})
    # The addresses of UCX are so long that Slurm may read them in two parts through PMI2, and the step fails.
    environment["MPIR_CVAR_CH4_NETMOD"] = "ofi"
    places = [tmp_path_factory.mktemp(name) for name in NETWORKS]
    networks = [(ETHERNET, Network(name, 0, 2000)) for name in NETWORKS.values()]
    with (
        slurm_lab(places[0], HOSTS, networks=networks[0], shares=[home]) as cluster,
        slurm_lab(places[1], HOSTS, networks=networks[1], shares=[home]) as target,
    ):
        labs = {"here": cluster, "there": target}
        yield {name: Cluster(lab, home, program, environment) for name, lab in labs.items()}


@pytest.fixture
def home_cluster(clusters) -> Cluster:
    return clusters["here"]


@pytest.fixture
def other_cluster(clusters) -> Cluster:
    return clusters["there"]


def ranks_of(done) -> list[tuple[int, int, str]]:
    assert done.returncode == 0, done.stderr
    return ranks_printed(done.stdout)


BOTH = [(0, 2, "n1"), (1, 2, "n2")]


def test_a_recipe_leaves_out_the_network_that_a_cluster_does_not_have(home_cluster, other_cluster):
    line = (*ON_BOTH, home_cluster.program)
    store = ("--store", str(home_cluster.home / "store"))
    home_cluster.recipe("ranks-mpich", {"network-interface": "fast0", "malloc": "keep-memory"}, *line)
    at_home = home_cluster.run(MPIRIC, "run", *store, "--", *line)
    assert ranks_of(at_home) == BOTH
    assert "left out" not in at_home.stderr
    elsewhere = other_cluster.run(MPIRIC, "run", *store, "--", *line)
    assert ranks_of(elsewhere) == BOTH
    assert "network-interface=fast0 is left out: n1, n2: no network interface fast0" in elsewhere.stderr
    assert "tuned on another machine: machine.networks: eth0 fast0 when tuned" in elsewhere.stderr


def test_the_recipe_of_an_srun_line_is_looked_at_on_the_allocated_nodes(home_cluster, other_cluster):
    line = ("srun", "-N", "2", "-n", "2", "--mpi=pmi2", home_cluster.program)
    recipe = home_cluster.recipe("srun", {"network-interface": "fast0"}, *line)
    run = ("salloc", "--quiet", "-N", "2", "-n", "2", MPIRIC, "run", "--recipe", str(recipe), "--", *line)
    at_home = home_cluster.run(*run)
    assert ranks_of(at_home) == BOTH
    assert "left out" not in at_home.stderr
    elsewhere = other_cluster.run(*run)
    assert ranks_of(elsewhere) == BOTH
    assert "network-interface=fast0 is left out" in elsewhere.stderr


def test_a_pack_leaves_out_the_network_that_a_cluster_does_not_have(home_cluster, other_cluster):
    line = (*ON_BOTH, home_cluster.program)
    recipe = home_cluster.recipe("packed", {"network-interface": "fast0"}, *line)
    packed = home_cluster.run(MPIRIC, "pack", "--recipe", str(recipe), "-o", "app.pack", "--", *line)
    assert packed.returncode == 0, packed.stderr
    assert ranks_of(home_cluster.run(*ON_BOTH, "./app.pack")) == BOTH
    elsewhere = other_cluster.run(*ON_BOTH, "./app.pack")
    assert ranks_of(elsewhere) == BOTH
    assert "has no network interface fast0" in elsewhere.stderr
    for place, names_it in ((home_cluster, False), (other_cluster, True)):
        checked = place.run("./app.pack", MPIRIC_PACK="check")
        assert checked.returncode == 0
        assert "starts here" in checked.stdout
        assert ("no network interface fast0" in checked.stderr) is names_it


def test_a_job_script_starts_one_job_of_all_ranks(home_cluster):
    assert "MpiDefault              = none" in home_cluster.run("scontrol", "show", "config").stdout
    written = home_cluster.run(
        MPIRIC, "script", "--nodes", "2", "--ranks", "4", "-o", "job.sh", "--", home_cluster.program
    )
    assert written.returncode == 0, written.stderr
    submitted = home_cluster.run("sbatch", "--wait", "--output=job.log", "job.sh")
    assert submitted.returncode == 0, submitted.stderr
    ranks = ranks_printed((home_cluster.home / "job.log").read_text())
    assert [(rank, size) for rank, size, _ in ranks] == [(rank, 4) for rank in range(4)]
    assert {host for *_, host in ranks} == set(HOSTS)


def test_a_script_for_a_launch_line_asks_for_its_nodes(home_cluster):
    written = home_cluster.run(MPIRIC, "script", "--", "srun", "-N", "2", "-n", "2", home_cluster.program)
    assert "--nodes=2\n" in written.stdout
    assert "--ntasks=2 " in written.stdout
    assert "use srun --mpi=pmi2" in written.stderr
    refused = home_cluster.run(
        MPIRIC, "script", "--nodes", "4", "--", "srun", "-N", "2", home_cluster.program
    )
    assert refused.returncode == ExitCode.USAGE


def test_what_ended_runs_leave_is_removed_on_every_node_and_nothing_older(home_cluster):
    """Replace a killed program: leave on each node the files that MPI libraries leave.

    All ranks have written before the first one fails; a launcher does not wait for the others.
    """
    leaving = home_cluster.home / "leaving"
    leaving.write_text(
        "#!/bin/sh\nsleep 1\necho x > /dev/shm/mpich_shm_abcdef_$$\n"
        'echo x > /tmp/hydra_hwloc_xmlfile_abcdef\nsleep 1.5\nexec sleep "$1"\n'
    )
    leaving.chmod(0o755)
    remove_left = "rm -f /dev/shm/mpich_shm_abcdef_* /tmp/hydra_hwloc_*"
    for host in HOSTS:
        home_cluster.run(
            "sh", "-c", f"{remove_left}; echo x > /dev/shm/mpich_shm_0123_1; sleep 1.1", host=host
        )
    before = {host: home_cluster.left_on(host) for host in HOSTS}
    assert all("/dev/shm/mpich_shm_0123_1" in names for names in before.values())
    code = """
import subprocess, sys
from mpiric.host.facts.local import LocalHost
from mpiric.workflows.launch.nodes import cleaned_nodes
from mpiric.workflows.launch.parse_job import parse_job
host = LocalHost()
parsed = parse_job(tuple(sys.argv[1:]), host, "/", dict(host.environ))
with cleaned_nodes(parsed.job, parsed.nodes, host) as after_ended_run:
    subprocess.run(sys.argv[1:], check=True)
    after_ended_run()
"""
    line = (*ON_BOTH, str(leaving))
    for command, status in (
        ((*line, "0"), 0),  # shows that the program leaves something
        ((sys.executable, "-c", code, *line, "0.5"), 0),
        ((MPIRIC, "profile", "--for", "4s", "--", *line, "600"), None),
        ((MPIRIC, "fabric", "--", *line, "no-number"), None),  # fails, so that nothing is measured
        ((MPIRIC, "place", "--verify", "--limit", "4", "--", *line, "600"), None),
    ):
        done = home_cluster.run(*command)
        assert status is None or done.returncode == status, done.stderr
        after = {host: home_cluster.left_on(host) for host in HOSTS}
        if command[0] == line[0]:
            assert all(len(after[host] - before[host]) == 2 for host in HOSTS), (before, after)
            for host in HOSTS:
                home_cluster.run("sh", "-c", remove_left, host=host)
        else:
            assert after == before, (command, done.stderr)


def test_a_plain_run_leaves_what_its_launcher_leaves(home_cluster):
    """`mpiric run` becomes the launcher: no process of mpiric is left that could end anything."""
    before = {host: home_cluster.left_on(host) for host in HOSTS}
    launcher_of_proxy = "cut -d ' ' -f 4 /proc/$PPID/stat"
    run = (MPIRIC, "run", "--quiet", "--", "mpiexec", "-n", "1", "/bin/sh", "-c", launcher_of_proxy)
    start = home_cluster.run("sh", "-c", 'echo $$; exec "$@"', "sh", *run)
    command, launcher = start.stdout.split()
    assert command == launcher, start.stderr
    assert ranks_of(home_cluster.run(MPIRIC, "run", "--", *ON_BOTH, home_cluster.program)) == BOTH
    assert {host: home_cluster.left_on(host) for host in HOSTS} == before


def loaded(modulefile: Path, environment: dict[str, str]) -> dict[str, str]:
    """Return the environment with a modulefile loaded."""
    environment = dict(environment)
    for line in modulefile.read_text().splitlines():
        command = [word.strip('{"}') for word in line.split()]
        if command[0] == "setenv":
            environment[command[1]] = command[2]
        elif command[0] in ("prepend-path", "append-path"):
            separator = command[2] if command[1] == "-d" else ":"
            name, value = command[-2:]
            parts = list(filter(None, [environment.get(name)]))
            parts.insert(0 if command[0] == "prepend-path" else len(parts), value)
            environment[name] = separator.join(parts)
    return environment


BY_HYDRA = ("mpiexec", "-n", "2", "-ppn", "1", "-hosts", "n1,n2")
BY_OPENMPI = ("mpirun", "-n", "2", "--host", "n1,n2")
BY_SRUN = ("srun", "-N", "2", "-n", "2", "--mpi=pmi2")
PMI2 = "/usr/lib/x86_64-linux-gnu/libpmi2.so.0"


@pytest.mark.parametrize(
    ("family", "library", "line", "more"),
    [
        pytest.param(
            "mpich",
            "openmpi-4.1",
            ("mpirun.openmpi", *BY_OPENMPI[1:]),
            {},
            marks=pytest.mark.requires("mpirun.openmpi"),
        ),
        pytest.param("mpich", "openmpi-5", BY_OPENMPI, {}, marks=pytest.mark.requires("mpi:openmpi")),
        pytest.param("openmpi", "mpich-5", BY_HYDRA, {}, marks=pytest.mark.requires("mpi:openmpi")),
        pytest.param("openmpi", "mpich-5", BY_SRUN, {}, marks=pytest.mark.requires("mpi:openmpi")),
        *(
            pytest.param(
                "openmpi",
                "intelmpi",
                line,
                more,
                marks=pytest.mark.requires("mpi:openmpi", "mpi:intelmpi"),
            )
            for line, more in ((BY_HYDRA, {}), (BY_SRUN, {"I_MPI_PMI_LIBRARY": PMI2}))
        ),
    ],
)
def test_the_modulefile_of_a_shim_serves_ranks_on_two_hosts(
    home_cluster, mpi_prefix, family, library, line, more
):
    place = home_cluster.home / f"{family}-by-{library}"
    if not place.exists():
        created = home_cluster.run(MPIRIC, "mpi", "stand-in", "--for", family, "--by", library, str(place))
        assert created.returncode == 0, created.stderr
    program = str(ranks_program(family, mpi_prefix, home_cluster.home))
    (modulefile,) = (path for path in place.iterdir() if path.name.startswith(f"{family}-by-"))
    plain = {**clean_environment(), "HOME": str(home_cluster.home), "OMPI_ALLOW_RUN_AS_ROOT": "1"}
    environment = {**loaded(modulefile, plain), "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **more}
    done = cluster.run(home_cluster.lab, "n1", [*line, program], environment, timeout=PATIENCE_S)
    assert ranks_of(done) == BOTH, done.stderr


@pytest.mark.sweep
@pytest.mark.requires("mpi:openmpi")
def test_a_sweep_of_open_mpi_exports_its_choices_and_nothing_else(home_cluster, mpi_prefix):
    """The exported files are used by hand; their collectives are those with a choice of the library."""
    out = home_cluster.home / "swept"
    environment = mpi_environment(
        "openmpi", mpi_prefix("openmpi"), {**clean_environment(), "HOME": str(home_cluster.home)}
    )
    collectives = {"bcast", "reduce", "allreduce"}
    options = ("--collectives", ",".join(collectives), "--sizes", "8,64K", "--ranks", "2", "--budget", "60s")
    sweep = [MPIRIC, "sweep", "--no-own", "--json", *options, "-o", str(out), "--", *BY_OPENMPI]
    done = cluster.run(home_cluster.lab, "n1", sweep, environment, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    exported = json.loads(done.stdout)["exported"]
    shell = out / "collectives.sh"
    assert (exported["gain"] is not None) == bool(exported["points"]) == shell.exists()
    rules = [path.read_text() for path in out.glob("coll_tuned.*")]
    assert bool(rules) == shell.exists()
    assert not any(text.startswith("0 ") for text in rules)
    if shell.exists():
        assert exported["gain"] > 1
        program = str(ranks_program("openmpi", mpi_prefix, home_cluster.home))
        by_hand = ["sh", "-c", '. "$0"; exec "$@"', str(shell), *BY_OPENMPI, program]
        assert ranks_of(cluster.run(home_cluster.lab, "n1", by_hand, environment, timeout=PATIENCE_S)) == BOTH


def test_a_recipe_of_a_job_is_not_compared_with_runs_that_wait_for_allocations(home_cluster):
    line = (*BY_SRUN, home_cluster.program)
    job = ("salloc", "--quiet", "-N", "2", "-n", "2")
    recipe = home_cluster.recipe("in-a-job", {"malloc": "keep-memory"}, *line, mark="", inside=job)
    refused = home_cluster.run(MPIRIC, "history", "--against", str(recipe), "--", *line)
    assert refused.returncode not in (0, 1)
    assert "waits for a new allocation" in refused.stderr
    assert f"history --submit --against {recipe}" in refused.stderr


def test_a_run_that_waits_behind_a_stuck_step_is_made_again(home_cluster):
    """A step that nothing ends holds the CPUs: it is cancelled, without blame for its settings."""
    code = """
import sys, subprocess, time
from pathlib import Path
from mpiric.host.facts.local import LocalHost
from mpiric.schedulers import Patience, batch_scheduler, find_allocation
from mpiric.schedulers import slurm
slurm._STEP_TIMEOUT_S = 5.0
host = LocalHost()
allocation, scheduler = find_allocation(host), batch_scheduler("slurm")
foreign = scheduler.steps(host, allocation.job)
stuck = subprocess.Popen(["srun", "-N2", "-n2", "--mpi=none", "sleep", "600"])
while not scheduler.steps(host, allocation.job):
    time.sleep(0.1)
print(scheduler.why_it_failed(host, allocation, "", Patience(), foreign).excuse)
stuck.wait()
"""
    held = ("salloc", "--quiet", "-N", "2", "-n", "2", "--exclusive", sys.executable, "-c", code)
    done = home_cluster.run(*held)
    assert "was cancelled" in done.stdout, done.stderr
