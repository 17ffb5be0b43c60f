"""Real Slurm on the virtual cluster: jobs of every MPI, and mpiric's own dealings with it."""

import json
import subprocess
import sys
import uuid
from datetime import datetime
from pathlib import Path

import pytest
from tests.conftest import clean_environment
from tests.lab import cluster
from tests.lab.plan import host_names
from tests.lab.programs import mpi_environment, ranks_printed, ranks_program
from tests.lab.slurm import daemons
from tests.lab.slurm.config import Phantoms, SlurmPlan
from tests.support.recipe_text import recipe_text
from tests.support.slurm_lab import NEEDS

from mpiric.host.facts.local import LocalHost
from mpiric.host.installation.stand_ins import stand_ins, write_stand_in
from mpiric.model.batch import Stage
from mpiric.model.mpi_library import AbiFamily
from mpiric.mpis import find_mpis
from mpiric.schedulers import Patience, SubmitSettings, batch_scheduler

QUEUE = batch_scheduler("slurm")

pytestmark = [
    pytest.mark.requires(*NEEDS),
    pytest.mark.requires("mpi:mpich", "mpi:openmpi", "mpi:intelmpi", "libpmi2.so.0"),
]
HOSTS = host_names("4")
EVERY_HOST = {(rank, 4, host) for rank, host in enumerate(HOSTS)}
BETZY = Phantoms("betzy", 1344, "Sockets=2 CoresPerSocket=64 ThreadsPerCore=2 RealMemory=245000")
SLURM = SlurmPlan(phantoms=(BETZY,))
RING = Path(__file__).parent / "runtime_programs/ring.c"
MPIRIC = str(Path(sys.executable).parent / "mpiric")
OF_MPICH = ("srun", "mpich", "5.0.2", "mpich standard")
PATIENCE = Patience(first_s=0.2, longest_s=1.0, controller_s=120)


@pytest.fixture
def ranks(lab, mpi_prefix):
    """`ranks("mpich", "srun", …)` runs a launch line on n1 and gives rank, size and host of each rank."""

    def run(name, *launch, **more):
        daemons.up(lab)
        program = ranks_program(name, mpi_prefix, lab)
        environment = mpi_environment(name, mpi_prefix(name), {**clean_environment(), **more})
        done = cluster.run(lab, "n1", [*launch, str(program)], environment, timeout=120)
        assert done.returncode == 0, done.stderr
        return set(ranks_printed(done.stdout))

    return run


@pytest.fixture
def batch(lab):
    """Write a job script into a shared directory and return its path."""

    def write(*lines, shebang="#!/bin/sh"):
        path = lab.parent / f"{uuid.uuid4().hex}.sh"
        directives = [f"#SBATCH --output={path.with_suffix('.out')}", f"#SBATCH --chdir={lab.parent}"]
        path.write_text("\n".join([shebang, *directives, *lines, ""]))
        return path

    return write


def await_stage(host, job, stage):
    return next(observed for observed in QUEUE.follow(host, [job], PATIENCE) if observed.stage is stage)


def test_srun_starts_mpich_by_pmi2(ranks):
    assert ranks("mpich", "srun", "--nodes=4", "--mpi=pmi2") == EVERY_HOST


def test_srun_starts_openmpi_by_pmix(ranks):
    assert ranks("openmpi", "srun", "--nodes=4", "--mpi=pmix") == EVERY_HOST


def test_srun_starts_intel_mpi_by_slurms_own_pmi_library(ranks):
    library = "/usr/lib/x86_64-linux-gnu/libpmi2.so.0"
    assert ranks("intelmpi", "srun", "--nodes=4", "--mpi=pmi2", I_MPI_PMI_LIBRARY=library) == EVERY_HOST


@pytest.mark.skipif(not stand_ins(), reason="no stand-ins are built")
@pytest.mark.parametrize(
    ("built_for", "name", "launch"), [("openmpi", "mpich", "pmi2"), ("mpich", "openmpi", "pmix")]
)
def test_srun_starts_a_translated_program_by_the_pmi_of_the_library_underneath(
    lab, mpi_prefix, built_for, name, launch
):
    daemons.up(lab)
    program = ranks_program(built_for, mpi_prefix, lab)
    library = next(mpi for mpi in find_mpis(LocalHost()) if mpi.prefix == str(mpi_prefix(name)))
    stand_in = write_stand_in(lab.parent / f"{built_for}-by-{name}", AbiFamily(built_for), library)
    environment = mpi_environment(name, mpi_prefix(name), clean_environment())
    line = ["srun", "--nodes=4", f"--mpi={launch}", "env", f"LD_PRELOAD={stand_in}", str(program)]
    done = cluster.run(lab, "n1", line, environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert set(ranks_printed(done.stdout)) == EVERY_HOST


@pytest.mark.parametrize(("name", "launch"), [("mpich", "pmi2"), ("openmpi", "pmix")])
def test_a_profile_through_srun_counts_what_every_rank_sends(lab, mpi_prefix, name, launch):
    """The program sends ten rounds of 8 bytes around a ring of four ranks on four hosts."""
    daemons.up(lab)
    program, record = lab.parent / f"ring-{name}", lab.parent / f"record-{name}"
    subprocess.run([mpi_prefix(name) / "bin/mpicc", RING, "-o", program], check=True)
    command = [MPIRIC, "profile", "--json", "-o", str(record), "--", "srun", "--nodes=4", f"--mpi={launch}"]
    environment = mpi_environment(name, mpi_prefix(name), clean_environment())
    done = cluster.run(lab, "n1", [*command, str(program)], environment, timeout=120)
    assert done.returncode == 0, done.stderr
    profile = json.loads(done.stdout)
    assert profile["p2p"] == [[rank, (rank + 1) % 4, 10, 80] for rank in range(4)]
    assert profile["nodes"] == list(HOSTS)
    calls = {use["name"]: use["calls"] for use in profile["functions"]}
    assert (calls["MPI_Allreduce"], calls["MPI_Irecv"], calls["MPI_Wait"]) == (40, 40, 40)


@pytest.mark.parametrize(
    ("name", "launcher"),
    [("mpich", ["mpiexec"]), ("openmpi", ["mpirun"]), ("intelmpi", ["mpiexec", "-ppn", "1", "-n", "4"])],
)
def test_within_salloc_the_librarys_own_launcher_finds_the_hosts(ranks, name, launcher):
    assert ranks(name, "salloc", "--quiet", "--nodes=4", "--ntasks-per-node=1", *launcher) == EVERY_HOST


@pytest.mark.parametrize(
    ("hosts", "where"),
    [("n1:2\nn2:1\nn3:2\n", "n1 n1 n2 n3 n3"), ("n1:2\nn3:2\n", "n1 n1 n3 n3"), ("n1\nn2\n", "n1 n2 n1 n2")],
    ids=["uneven", "even", "in turns"],
)
def test_ranks_of_a_machine_file_keep_their_hosts_under_srun(ranks, lab, hosts, where):
    file, seats = lab.parent / "machines", where.split()
    file.write_text(hosts)
    job = ("salloc", "--quiet", "--exclusive", "--nodes=3", "--nodelist=n1,n2,n3")
    line = ("mpiexec", "-f", str(file), "-n", str(len(seats)))
    run = (MPIRIC, "run", "--no-recipe", "--quiet", "--set", "launch-route=srun", "--")
    assert ranks("mpich", *job, *run, *line) == {(rank, len(seats), host) for rank, host in enumerate(seats)}


def test_an_order_of_ranks_is_carried_out_by_a_file_of_hosts(ranks, lab):
    """Ranks that communicate most differ by four, so that the launcher's own order separates all pairs."""
    path = lab.parent / "hosts.txt"
    command = ["map", "--grid", "2x2x2", "--stencil", "1,0,0:9;0,1,0;0,0,1", "--slots", "2"]
    command += ["--hosts", "n[1-4]", "--emit", "slurm", "--out", path]
    subprocess.run([MPIRIC, *command], check=True, capture_output=True, timeout=60)
    line = ["srun", "--mpi=pmi2", "--distribution=arbitrary", "--nodes=4", "--ntasks=8"]
    observed = {rank: host for rank, _, host in ranks("mpich", *line, SLURM_HOSTFILE=str(path))}
    assert len(observed) == 8
    assert all(observed[rank] == observed[rank + 4] for rank in range(4))


def test_mpiric_finds_the_allocation_it_is_in(lab, host):
    ask = "from mpiric.schedulers import find_allocation; from mpiric.host.facts.local import LocalHost; "
    ask += "found = find_allocation(LocalHost()); "
    ask += "print(found.scheduler, *(f'{host.name}:{host.slots}' for host in found.hosts))"
    command = ["salloc", "--quiet", "--nodes=3", "--ntasks=5", sys.executable, "-c", ask]
    assert cluster.run(lab, "n1", command).stdout.split() == ["slurm", "n1:2", "n2:2", "n3:1"]


def test_the_start_of_a_job_is_estimated_inside_another_job(lab, host):
    ask = "from mpiric.schedulers import JobRequest, batch_scheduler; "
    ask += "from mpiric.host.facts.local import LocalHost; "
    ask += "job = JobRequest(nodes=4, ranks=4, cores_per_rank=1, time='5'); "
    ask += "print(batch_scheduler('slurm').expected_start(LocalHost(), job))"
    command = ["salloc", "--quiet", "--nodes=1", sys.executable, "-c", ask]
    start = cluster.run(lab, "n1", command).stdout.strip()
    assert datetime.fromisoformat(start).year >= 2020


def test_a_submitted_job_is_followed_to_its_end(host, batch):
    script = batch("srun hostname")
    job = QUEUE.submit(host, str(script), SubmitSettings(options=("--nodes=4",)), PATIENCE)
    last = list(QUEUE.follow(host, [job], PATIENCE))[-1]
    assert last.succeeded
    assert sorted(script.with_suffix(".out").read_text().split()) == list(HOSTS)


def test_the_status_of_a_failed_job_is_its_scripts(host, batch):
    job = QUEUE.submit(host, str(batch("exit 3")), SubmitSettings(), PATIENCE)
    assert list(QUEUE.follow(host, [job], PATIENCE))[-1].exit_status == 3


def test_every_element_of_an_array_is_followed_by_itself(host, batch):
    job = QUEUE.submit(
        host, str(batch("exit $SLURM_ARRAY_TASK_ID")), SubmitSettings(options=("--array=0-2",)), PATIENCE
    )
    ended = [
        observed
        for observed in QUEUE.follow(host, [f"{job}_{i}" for i in range(3)], PATIENCE)
        if observed.is_over
    ]
    assert {observed.job: observed.exit_status for observed in ended} == {f"{job}_{i}": i for i in range(3)}


def test_a_cancelled_job_ends_without_success(host, batch):
    job = QUEUE.submit(host, str(batch("sleep 300")), SubmitSettings(), PATIENCE)
    await_stage(host, job, Stage.RUNNING)
    QUEUE.cancel(host, [job])
    last = list(QUEUE.follow(host, [job], PATIENCE))[-1]
    assert (last.state, last.succeeded) == ("CANCELLED", False)


def test_a_job_is_followed_through_a_restart_of_the_controller(lab, host, batch):
    script = batch("while [ ! -e go-$SLURM_JOB_ID ]; do sleep 0.2; done")
    job = QUEUE.submit(host, str(script), SubmitSettings(options=("--nodes=2",)), PATIENCE)
    following = QUEUE.follow(host, [job], PATIENCE)
    assert any(observed.stage is Stage.RUNNING for observed in following)
    daemons.stop(lab, "n1", ["slurmctld"])
    (lab.parent / f"go-{job}").touch()
    daemons.up(lab)
    assert list(QUEUE.follow(host, [job], PATIENCE))[-1].succeeded


def test_a_submission_waits_for_the_controller(lab, host, batch):
    script = batch("true")
    daemons.stop(lab, "n1", ["slurmctld"])
    requests = []

    def restart_then_wait(seconds):
        requests.append(seconds)
        daemons.up(lab)

    patient = Patience(sleep=restart_then_wait, controller_s=120)
    assert QUEUE.submit(host, str(script), SubmitSettings(), patient).isdigit()
    assert requests


def test_a_job_whose_host_crashes_begins_again_and_is_followed(lab, host, batch):
    script = batch('[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || sleep 600')
    job = QUEUE.submit(
        host,
        str(script),
        SubmitSettings(
            options=(
                "--nodes=4",
                "--requeue",
            )
        ),
        PATIENCE,
    )
    await_stage(host, job, Stage.RUNNING)
    cluster.crash(lab, "n3")
    # Slurm notices by itself after SlurmdTimeout; an administrator is quicker.
    host.run(["scontrol", "update", "NodeName=n3", "State=DOWN", "Reason=crashed"])
    again = await_stage(host, job, Stage.WAITING)
    assert again.restarts == 1
    cluster.boot(lab, "n3")
    daemons.up(lab)
    host.run(["scontrol", "update", f"JobId={job}", "StartTime=now"])  # Slurm waits two minutes otherwise
    last = list(QUEUE.follow(host, [job], PATIENCE))[-1]
    assert (last.succeeded, last.restarts) == (True, 1)


@pytest.mark.sweep
def test_slurm_notices_a_crashed_host_by_itself(lab, host, batch):
    job = QUEUE.submit(
        host,
        str(batch("sleep 600")),
        SubmitSettings(
            options=(
                "--nodelist=n3",
                "--no-requeue",
            )
        ),
        PATIENCE,
    )
    await_stage(host, job, Stage.RUNNING)
    cluster.crash(lab, "n3")
    last = list(QUEUE.follow(host, [job], PATIENCE))[-1]
    cluster.boot(lab, "n3")
    assert (last.state, last.succeeded) == ("NODE_FAIL", False)


def test_the_nodes_of_a_partition_are_read_from_slurm(host):
    assert QUEUE.node_shapes(host, "betzy")[0].cores == 128


def script_of(lab, *options):
    command = [MPIRIC, "script", "--json", "--partition", "betzy", "--time", "1-0", *options, "--", "./app"]
    done = cluster.run(lab, "n1", command, {**clean_environment(), "HOME": str(lab.parent)})
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("options", "nodes", "ranks_per_node", "threads"),
    [
        (["--ranks", "4096"], 32, 128, 1),
        (["--nodes", "1200", "--threads", "16"], 1200, 8, 16),
        (["--nodes", "8", "--bandwidth-bound"], 8, 64, 1),
    ],
    ids=["pure MPI", "hybrid", "bandwidth-bound"],
)
def test_slurm_would_take_the_scripts_for_betzy(lab, host, options, nodes, ranks_per_node, threads):
    written = script_of(lab, *options)
    layout = written["layout"]
    assert written["check"]["accepted"], written["check"]
    assert (layout["nodes"], layout["ranks_per_node"], layout["threads_per_rank"]) == (
        nodes,
        ranks_per_node,
        threads,
    )


def test_slurm_would_take_whole_nodes(lab, host):
    assert (
        f"using {1200 * 256} processors"
        in script_of(lab, "--nodes", "1200", "--threads", "16")["check"]["words"]
    )


def test_a_script_for_more_nodes_than_there_are_is_refused_in_slurms_words(lab, host):
    checked = script_of(lab, "--nodes", "1345")["check"]
    assert not checked["accepted"]
    assert "node configuration is not available" in checked["words"]


def test_a_script_with_a_recipe_runs_with_its_settings(lab, host, mpi_prefix):
    program = ranks_program("mpich", mpi_prefix, lab)
    (lab.parent / "r.toml").write_text(recipe_text(program.name, *OF_MPICH))
    script = lab.parent / "recipe.sh"
    environment = mpi_environment("mpich", mpi_prefix("mpich"), clean_environment())
    expected = ["--recipe", str(lab.parent / "r.toml"), "--nodes", "2", "--mpi", "pmi2", "-o", str(script)]
    done = cluster.run(lab, "n1", [MPIRIC, "script", *expected, "--", str(program)], environment)
    assert done.returncode == 0, done.stderr
    assert "malloc, from the recipe" in script.read_text()
    output = lab.parent / "recipe.out"
    job = ["sbatch", "--wait", f"--output={output}", f"--chdir={lab.parent}", str(script)]
    assert cluster.run(lab, "n1", job, environment, timeout=120).returncode == 0
    assert [host for _, _, host in ranks_printed(output.read_text())] == ["n1", "n1", "n2", "n2"]


def test_a_script_under_srun_runs_under_the_library_of_its_recipe(lab, host, mpi_prefix):
    program = ranks_program("mpich", mpi_prefix, lab)
    wrapper = lab.parent / "wrapper.sh"
    wrapper.write_text(f"#!/bin/sh\nexec {program}\n")
    wrapper.chmod(0o755)
    store = lab.parent / "recipes"
    store.mkdir()
    (store / "w.recipe.toml").write_text(recipe_text(wrapper.name, *OF_MPICH))
    environment = mpi_environment("mpich", mpi_prefix("mpich"), clean_environment())
    line = ["srun", "--nodes=2", "--ntasks=2", "--mpi=pmi2", str(wrapper)]

    def run(*options):
        return cluster.run(lab, "n1", [MPIRIC, "run", *options, "--", *line], environment, timeout=120)

    done = run("--store", str(store))
    assert "malloc=keep-memory" in done.stderr
    assert [host for _, _, host in ranks_printed(done.stdout)] == ["n1", "n2"]
    untouched = run("--no-recipe")
    assert "running the command as it is" in untouched.stderr
    assert untouched.returncode == 0
