"""Launches that see the keeper's mounts, the fallback for others, and inputs of a command."""

import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tests.support.records import file, rank, record
from tests.support.replay_host import Recording, ReplayHost
from tests.support.scripted_runner import FAILS, Behaviour, ScriptedRunner
from tests.support.situations import MPIS, machine, situation

from mpiric.host.isolation.working_copies import TrialDirectory
from mpiric.host.processes.request import OverlayMount
from mpiric.lab.directory_runs import Recorded
from mpiric.lab.judge import Judge
from mpiric.lab.lab import Lab
from mpiric.launchers import parse_command
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.run import Outcome, Phase, Run
from mpiric.profile.analyse import analyse
from mpiric.tuning.objective import Objective
from mpiric.tuning.store import Store
from mpiric.workflows.launch.parse_job import ParsedJob
from mpiric.workflows.trials.users_lab import inputs_seen, sees_mounts


def parsed(line: str, dialect: str = "hydra", nodes: int = 1) -> ParsedJob:
    return ParsedJob(parse_command(shlex.split(line), "/u", {}, dialect=dialect), machine(), None, (), nodes)


def host(**environ: str) -> ReplayHost:
    return ReplayHost(Recording(environ=environ))


def test_a_launcher_that_starts_its_ranks_itself_on_one_node_sees_them():
    assert sees_mounts(parsed("mpiexec -n 4 ./app"), host())
    assert sees_mounts(parsed("./run.sh"), host())


@pytest.mark.parametrize(
    ("line", "nodes"),
    [
        ("srun -n 4 ./app", 1),
        ("mpiexec -n 4 apptainer exec image.sif ./app", 1),
        ("mpiexec -hosts n1 -n 4 ./app", 1),
        ("mpiexec -n 4 ./app", 2),
    ],
)
def test_ranks_of_daemons_containers_and_other_nodes_do_not(line, nodes):
    assert not sees_mounts(parsed(line, nodes=nodes), host())


def test_ranks_within_an_allocation_do_not():
    allocation = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n1", "SLURM_TASKS_PER_NODE": "4"}
    assert not sees_mounts(parsed("mpiexec -n 4 ./app"), host(**allocation, SLURM_JOB_NUM_NODES="1"))


def test_inputs_are_the_files_of_the_command_and_those_that_ranks_only_read(tmp_path):
    for name in ("app", "in.lj", "grid"):
        (tmp_path / name).touch()
    job = parse_command(
        ["mpiexec", "-n", "2", "./app", "-in", "in.lj", "--grid=grid", "no"], str(tmp_path), {}
    )
    used = (file("/w/table", reads=3), file("/w/restart", reads=1, writes=1), file("/w/out", writes=2))
    run_record = record(rank(0, 1.0, files=used))
    recorded = Recorded(tmp_path, run_record, analyse(run_record, ""))
    assert inputs_seen(job) == ("./app", "in.lj", "grid")
    assert inputs_seen(job, [recorded]) == ("./app", "in.lj", "grid", "/w/table")


@dataclass
class Mounting:
    """Directories that claim to be mounted until copies are asked for."""

    place: Path
    too_large: bool = False
    copies: bool = field(default=False, init=False)

    def fresh(self) -> TrialDirectory:
        mount = None if self.copies else OverlayMount("", str(self.place), (), "", "")
        return TrialDirectory(self.place, {}, mount)

    def copy_instead(self) -> None:
        if self.too_large:
            raise MpiricError("too many files")
        self.copies = True


def trials_of(runner: ScriptedRunner, directories: Mounting) -> Lab:
    log = Store(directories.place / "store").create("app", "job", ("./app",))
    lab = Lab(runner, directories, log, Judge(Objective()))
    lab.situation = situation(MPIS[0])
    return lab


def test_a_first_run_that_fails_in_a_mount_is_made_again_in_a_copy(tmp_path):
    runner, directories = ScriptedRunner(nth={1: FAILS}), Mounting(tmp_path)
    trial = trials_of(runner, directories).measure(Run(Configuration(), Phase.OBSERVE))
    assert (trial.outcome, len(runner.launches), directories.copies) == (Outcome.OK, 2, True)


def test_once_a_run_has_worked_in_a_mount_a_failure_is_the_configurations(tmp_path):
    runner, directories = ScriptedRunner(nth={2: FAILS}), Mounting(tmp_path)
    trials = trials_of(runner, directories)
    outcomes = [trials.measure(Run(Configuration(), Phase.SEARCH)).outcome for _ in range(2)]
    assert outcomes == [Outcome.OK, Outcome.FAILED]
    assert not directories.copies


def test_the_commands_own_failure_is_reported_where_nothing_can_be_copied(tmp_path):
    runner = ScriptedRunner(original=replace(FAILS, stdout="no"), settings={"none": Behaviour()})
    trial = trials_of(runner, Mounting(tmp_path, too_large=True)).measure(Run(Configuration(), Phase.OBSERVE))
    assert trial.reason == FAILS.reason
