"""The measuring path of `mpiric tune`, opened for benchmarks: the same runner, copies, trials and judge."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks._programs import Bed
from mpiric.host.facts.local import LocalHost
from mpiric.host.isolation.working_copies import CopyPolicy, WorkingCopies
from mpiric.host.processes.execution import Runner
from mpiric.lab.judge import Judge
from mpiric.lab.lab import Lab, drive
from mpiric.model.configuration import Configuration
from mpiric.model.run import Narrator, Phase, Run, Trial
from mpiric.model.situation import Allowed, Situation
from mpiric.tuning.objective import Objective
from mpiric.tuning.store import Store
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.trials.observe import Observing, observe


@dataclass(frozen=True)
class Workbench:
    """An observed program with its expected output; wrong output is rejected as in a tune."""

    lab: Lab
    situation: Situation
    originals: tuple[Trial, ...]

    def run(
        self, configuration: Configuration, phase: Phase, limit_s: float | None = None, pair: int = -1
    ) -> Trial:
        """Measure one run."""
        return self.lab.measure(Run(configuration, phase, pair, limit_s))


@contextmanager
def workbench(argv: list[str], bed: Bed) -> Iterator[Workbench]:
    """Observe the command as `tune` does; remove all its files at the end."""
    host = LocalHost()
    with ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="mpiric-bench-")))
        work = place / "work"
        work.mkdir()
        parsed = parse_job(argv, host, str(work), bed.environment)
        tune = stack.enter_context(Store(place / "store").create("benchmark", "benchmark", tuple(argv)))
        runner = stack.enter_context(Runner())
        copies = stack.enter_context(WorkingCopies(work, tune.path, CopyPolicy()))
        lab = Lab(runner, copies, tune, Judge(Objective()))
        plan = observe(lab, parsed, host, Narrator(), Observing(Allowed(), compare=True))
        observed = drive(plan, lab.measure)
        lab.judge.limit_memory(lab.situation)
        yield Workbench(lab, lab.situation, observed.originals)
