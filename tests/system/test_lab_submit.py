"""`mpiric tune --submit` and `profile --submit` over real Slurm, through what befalls jobs on a cluster."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.lab import cluster
from tests.lab.enter import command_line
from tests.lab.plan import host_names
from tests.lab.slurm import daemons
from tests.lab.slurm.config import SlurmPlan
from tests.support.login import PATIENCE_S, SRUN
from tests.support.slurm_lab import NEEDS

from mpiric import knobs
from mpiric.model.batch import Stage
from mpiric.model.errors import ExitCode
from mpiric.schedulers import Patience, batch_scheduler

QUEUE = batch_scheduler("slurm")

pytestmark = [
    pytest.mark.requires(*NEEDS),
    pytest.mark.requires("mpi:mpich", "libpmi2.so.0"),
]
PAIR = ("srun", "--nodes=2", "--ntasks=2", "--mpi=pmi2")
AT_MARKS = ("tune", "--submit", "--json", "--budget", "40s", "--try-all", "--only", "malloc")
PAGES = {name for name, knob in knobs.all_knobs().items() if "pages" in knob.chosen_by}
HOSTS = host_names("5")  # one more than a job takes
SLURM = SlurmPlan()


def long_program(login, mpi_prefix):
    """Path of a program with steps for hours, in a shared directory."""
    program = login.place / "steps"
    source = Path(__file__).parent / "programs/steps.c"
    subprocess.run([mpi_prefix("mpich") / "bin/mpicc", source, "-o", program], check=True)
    return str(program)


def test_a_tune_outlives_its_login_session(login):
    session = login.tune("--max-runs", "4")
    login.await_trials(2)
    session.kill()
    session.communicate()
    again = login.tune("--max-runs", "4", "--resume")
    tuned = json.loads(again.communicate(timeout=PATIENCE_S)[0])
    assert again.returncode == 0, login.said
    assert tuned["runs"] == len(login.trials())
    assert len(login.jobs()) == 1


def test_a_cancelled_tune_goes_on_where_it_was(login, host):
    session = login.tune("--max-runs", "5")
    login.await_trials(2)
    QUEUE.cancel(host, login.jobs())
    session.communicate(timeout=PATIENCE_S)
    assert session.returncode == 130
    assert "was cancelled; its measurements are kept" in login.said
    before = login.trials()
    # The hint holds no options: the store remembers them.
    (hint,) = (line for line in login.said.splitlines() if line.startswith("hint: continue with: "))
    argv = shlex.split(hint.removeprefix("hint: continue with: "))
    assert not {"--budget", "--only", "--max-runs"} & set(argv)
    again = login.start(*argv[1:])
    again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 0, login.said
    trials = login.trials()
    assert trials[: len(before)] == before
    assert len(trials) <= len(before) + 5  # --max-runs
    assert {name for trial in trials for name in trial["configuration"]} <= {"malloc", *PAGES}  # --only
    assert len(login.jobs()) == 2


def test_a_command_that_does_not_work_says_so_where_it_was_submitted(login):
    session = login.start("tune", "--submit", "--store", str(login.store), "--", *SRUN, "false")
    session.communicate(timeout=PATIENCE_S)
    assert session.returncode == ExitCode.PROGRAM_FAILED
    assert (
        "no rank of the program was seen to load an MPI library" in login.said
        or "does not work" in login.said
    )


def test_hours_of_steps_are_tuned_at_marks_in_a_job(login, mpi_prefix):
    program = long_program(login, mpi_prefix)
    session = login.start(*AT_MARKS, "--store", str(login.store), "--max-runs", "7", "--", *PAIR, program)
    tuned = json.loads(session.communicate(timeout=PATIENCE_S)[0])
    assert session.returncode == 0, login.said
    assert (tuned["scope"], tuned["marks"]["function"]) == ("steps", "MPI_Allreduce"), login.said
    assert tuned["stopped_trials"] == tuned["runs"]
    assert tuned["rejected"] == []
    remaining = [
        path for path in Path("/proc").glob("[0-9]*/cmdline") if program.encode() in path.read_bytes()
    ]
    assert remaining == []


def test_production_jobs_under_slurm_take_turns(login, lab, mpi_prefix):
    program = login.place / "told_steps"
    source = Path(__file__).parent / "programs/told_steps.c"
    subprocess.run([mpi_prefix("mpich") / "bin/mpicc", source, "-o", program], check=True)
    (login.place / "work/input").write_text("120 0 0")
    line = (*PAIR, str(program), "input")
    recipe = login.store / "tune/steps.recipe.toml"
    command = ["-m", "tests.support.proved_recipe", str(recipe), "MPI_Allreduce@*@2.0:10,50", "--", *line]
    in_work = [
        "/bin/sh",
        "-c",
        'cd "$1" && shift && exec "$@"',
        "sh",
        str(login.place / "work"),
        sys.executable,
    ]
    environment = {**login.environment, "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run(command_line(lab, "n1", [*in_work, *command]), env=environment, check=True)
    for _ in range(2):
        session = login.start("run", "--explore", "--store", str(login.store), "--", *line)
        out, _ = session.communicate(timeout=PATIENCE_S)
        assert session.returncode == 0, login.said
        assert out.splitlines()[-1].startswith("step 110 sum ")
    assert login.said.count("exploring: this job (block 1) runs") == 2, login.said
    session = login.start("history", "--explore", "--json", "--store", str(login.store))
    answer = json.loads(session.communicate(timeout=PATIENCE_S)[0])
    assert (answer["blocks"], answer["jobs"], answer["unknown"]) == (1, 2, 0)


def test_a_profile_is_taken_in_a_job(login):
    record = login.place / "record"
    command = ("profile", "--submit", "--json", "-o", str(record), "--", *SRUN, str(login.program))
    session = login.start(*command)
    profile = json.loads(session.communicate(timeout=PATIENCE_S)[0])
    assert session.returncode == 0, login.said
    assert profile["nodes"] == ["n1", "n2", "n3", "n4"]
    assert "0 of 4 on n1" in login.said  # the program's own words


@pytest.mark.sweep
def test_a_sweep_is_made_in_a_job_and_goes_on_with_what_it_has(login):
    out = login.place / "swept"
    options = ("--json", "--collectives", "barrier", "--seconds", "0.002", "--ranks", "4")
    command = ("--submit", "--sbatch=-N 4", "--out", str(out), *options)
    session = login.start("sweep", *command, "--", "mpiexec", "-n", "4", "-ppn", "1")
    swept = json.loads(session.communicate(timeout=PATIENCE_S)[0])
    assert session.returncode == 0, login.said
    assert swept["points"] > 1
    assert [key["collective"] for key in swept["keys"]] == ["barrier"]
    assert (out / "mpiric.policy").read_text().startswith("mpiric-policy 1")
    assert "runs on n1, n2, n3, n4" in login.said
    again = login.start("sweep", *command, "--resume", "--", "mpiexec", "-n", "4", "-ppn", "1")
    assert json.loads(again.communicate(timeout=PATIENCE_S)[0])["keys"] == swept["keys"]
    assert len((out / "jobs").read_text().split()) == 1  # it was done


@pytest.mark.sweep
def test_a_tune_goes_on_when_the_controller_was_restarted(login, lab):
    """Slurm delays the next job step by a minute, which does not count against its settings."""
    session = login.tune("--max-runs", "10")
    login.await_trials(4)
    daemons.stop(lab, "n1", ["slurmctld"])
    daemons.up(lab)
    tuned = json.loads(session.communicate(timeout=PATIENCE_S)[0])
    assert session.returncode == 0, login.said
    assert tuned["runs"] == len(login.trials())
    assert len(login.jobs()) == 1
    assert "failed" not in {trial["outcome"] for trial in login.trials()}


@pytest.mark.sweep
def test_a_tune_survives_a_killed_host_and_a_restarted_controller(login, lab, host):
    session = login.tune("--max-runs", "24")
    login.await_trials(6)
    session.kill()  # the login session is lost as well
    session.communicate()
    before, (job,) = login.trials(), login.jobs()
    cluster.crash(lab, "n3")
    daemons.stop(lab, "n1", ["slurmctld"])
    daemons.start(lab, "n1")
    again = login.tune("--max-runs", "24", "--resume")
    patience = Patience(first_s=0.2, longest_s=1.0, controller_s=120)
    waiting = next(
        observed for observed in QUEUE.follow(host, [job], patience) if observed.stage is Stage.WAITING
    )
    assert waiting.restarts == 1
    host.run(["scontrol", "update", f"JobId={job}", "StartTime=now"])  # Slurm waits two minutes otherwise
    tuned = json.loads(again.communicate(timeout=PATIENCE_S)[0])
    assert again.returncode == 0, login.said
    assert login.jobs() == [job]
    assert login.trials()[: len(before)] == before
    assert tuned["runs"] == len(login.trials()) > len(before)
    # The host is the cause of the failed run, not the program.
    assert "failed" not in {trial["outcome"] for trial in login.trials()}
    assert f"job {job} runs on n1, n2, n4, n5, for the 2. time" in login.said
    cluster.boot(lab, "n3")
