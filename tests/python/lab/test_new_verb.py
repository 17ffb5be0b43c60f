"""Example of a new verb: a plan, a lab and a line of output. It runs a command five times."""

from collections.abc import Sequence
from pathlib import Path

from tests.support.recorded_tune import COMMAND, MACHINE, rank
from tests.support.replay_host import ReplayHost
from tests.support.scripted_runner import Behaviour, ScriptedRunner

from mpiric.host.host import Host
from mpiric.host.isolation.working_copies import CopyPolicy, WorkingCopies
from mpiric.host.processes.execution import Runner
from mpiric.lab.judge import Judge
from mpiric.lab.lab import Lab, drive
from mpiric.model.configuration import Configuration
from mpiric.model.errors import ProgramFailedError
from mpiric.model.run import Outcome, Phase, Plan, Run
from mpiric.model.situation import Allowed
from mpiric.tuning.objective import Objective
from mpiric.tuning.store import Store
from mpiric.workflows.launch.fingerprints import job_identity
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.trials.expected import expected_situation


def repeated(times: int) -> Plan[list[float]]:
    """Run the unchanged command a number of times; return its objectives."""
    objectives = []
    for _ in range(times):
        trial = yield Run(Configuration(), Phase.OBSERVE)
        if trial.outcome is not Outcome.OK or trial.objective is None:
            raise ProgramFailedError(f"the command {trial.reason}")
        objectives.append(trial.objective)
    return objectives


def spread(argv: Sequence[str], directory: Path, store: Path, host: Host, runner: Runner) -> str:
    """The verb: how much five runs of a command differ."""
    parsed = parse_job(argv, host, str(directory), {"PATH": "/usr/bin:/bin"})
    with (
        Store(store).create("spread", job_identity(parsed.job), tuple(argv)) as log,
        runner,
        WorkingCopies(directory, log.path, CopyPolicy()) as copies,
    ):
        lab = Lab(runner, copies, log, Judge(Objective()))
        lab.situation = expected_situation(parsed, host, Allowed())
        seconds = drive(repeated(5), lab.measure)
    return f"5 runs: {min(seconds):.3g} to {max(seconds):.3g} s"


def test_a_verb_that_runs_a_program_is_one_file_of_sixty_lines(tmp_path):
    runner = ScriptedRunner(ranks=(rank(0), rank(1)), nth={3: Behaviour(1.5)}, jitter=(1.0,))
    result = spread(COMMAND, tmp_path, tmp_path / "store", ReplayHost.load(MACHINE), runner)
    assert result == "5 runs: 10 to 15 s"
    assert len(Path(__file__).read_text().splitlines()) <= 60
