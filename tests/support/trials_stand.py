"""Trials of a scripted program in a separate store."""

from dataclasses import dataclass, field
from pathlib import Path

from tests.support.scripted_runner import ScriptedRunner
from tests.support.situations import MPIS, situation

from mpiric.host.isolation.working_copies import TrialDirectory
from mpiric.lab.failures import LostAllocationError
from mpiric.lab.judge import Judge
from mpiric.lab.lab import Lab
from mpiric.model.configuration import Configuration
from mpiric.model.run import Phase, Run
from mpiric.tuning.objective import Objective
from mpiric.tuning.store import Store

ORIGINAL, BOUND = Configuration(), Configuration.of({"binding": "core"})
SITUATION = situation(MPIS[0])


@dataclass
class Directories:
    """An empty directory for each trial."""

    place: Path
    count: int = 0

    def fresh(self) -> TrialDirectory:
        self.count += 1
        path = self.place / f"trial-{self.count}"
        path.mkdir()
        return TrialDirectory(path, {})


@dataclass
class Excuses:
    """Excuses ``count`` failures; after that, ``lost`` names a host that is lost, if any."""

    count: int = 0
    lost: str = ""
    was_closed: bool = False

    def excuse(self, stderr: Path) -> str:
        self.count -= 1
        if self.count < 0 and self.lost:
            raise LostAllocationError(self.lost)
        return "node n1 went down" if self.count >= 0 else ""

    def leave(self) -> None:
        self.was_closed = True


@dataclass
class Stand:
    """Trials in a separate store."""

    place: Path
    runner: ScriptedRunner = field(default_factory=ScriptedRunner)
    objective: Objective = field(default_factory=Objective)
    check_command: str = ""
    excuses: Excuses = field(default_factory=Excuses)

    def __post_init__(self) -> None:
        self.log = Store(self.place / "store").create("app", "job", ("./app",))
        directories = Directories(self.place)
        judge = Judge(self.objective, self.check_command)
        self.lab = Lab(self.runner, directories, self.log, judge, self.excuses)
        self.lab.situation = SITUATION

    def run(self, configuration=ORIGINAL, phase=Phase.SEARCH, **options):
        return self.lab.measure(Run(configuration, phase, **options))

    def learn(self, runs=2):
        originals = [self.run(phase=Phase.OBSERVE) for _ in range(runs)]
        self.lab.judge.learn(originals, compare=True)

    @property
    def outcomes(self):
        return [trial.outcome for trial in self.log.read().trials]
