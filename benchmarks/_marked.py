"""Runs with marks, for benchmarks: choose the marks from a recorded run, then run to them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks._programs import Bed
from mpiric import knobs
from mpiric.host.facts.local import LocalHost
from mpiric.host.processes.execution import Runner, Workspace
from mpiric.host.processes.request import EarlyEnd
from mpiric.lab.directory_runs import read_recorded
from mpiric.lab.mark_judge import crossings
from mpiric.lab.probes import BetweenMarkers
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.job import Spelling
from mpiric.model.pace import Crossing, MarkPair, RunMarks, RunPace
from mpiric.model.run import Execution, Outcome, Split
from mpiric.model.situation import Allowed, Situation
from mpiric.profile.pace import run_pace
from mpiric.statistics.step_window import MarkWindow, choose_window
from mpiric.tuning.mark_choice import MarkChoice, choose_key, is_collective, without_library_places
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.trials.expected import expected_situation
from mpiric.workflows.trials.recorded_runs import recorder_for, runtime_with_marks

AS_IT_IS = Configuration()
_FEWEST_CALLS = 16
_FEWEST_MARKS = 4  # minimum length of a short window


@dataclass(frozen=True)
class MarkedRun:
    """Result of a run: marks of its ranks, and its output, which the next run overwrites."""

    execution: Execution
    marks: RunMarks | None
    split: Split | None
    stdout: Path
    directory: Path

    def crossings(self, pair: MarkPair) -> dict[int, Crossing]:
        """Return rank → state at the last mark."""
        return crossings(self.marks, pair) if self.marks else {}


@dataclass(frozen=True)
class Learned:
    """Marks and pace of a recorded run."""

    choice: MarkChoice
    window: MarkWindow | None
    wall_s: float
    pace: RunPace

    @property
    def pair(self) -> MarkPair | None:
        """Return the marks, None without a window."""
        if self.choice.key is None or self.window is None:
            return None
        return MarkPair(self.choice.key, self.window.first, self.window.last, self.choice.on_rank_0_alone)

    def calls_of(self, pair: MarkPair) -> int:
        """Return how often rank 0 made the calls of the mark in the whole run."""
        first = self.pace.first_rank
        calls = first.of(pair.key) if first is not None else None
        return calls.calls if calls is not None else 0

    @property
    def any_pair(self) -> MarkPair | None:
        """Return marks even if no call comes evenly, as in a short run: calls of a world-wide collective."""
        first = self.pace.first_rank
        collectives = [
            calls
            for calls in (first.keys if first else ())
            if is_collective(calls.key.function)
            and calls.key.ranks == self.pace.world_size
            and calls.calls >= _FEWEST_CALLS
        ]
        if self.pair is not None or not collectives:
            return self.pair
        chosen = min(collectives, key=lambda calls: calls.calls)
        return MarkPair(chosen.key, max(1, chosen.calls // 10), chosen.calls // 2)

    def short_pair(self, numbers: tuple[int, int], seconds: float) -> MarkPair:
        """Return marks with at most these numbers that a run reaches in about this time."""
        pair = self.any_pair
        if pair is None:
            raise MpiricError("no marks were found")
        per_mark_s = self.window.per_mark_s if self.window else 0.0
        first, last = min(numbers[0], pair.first), min(numbers[1], pair.last)
        if per_mark_s > 0:
            last = min(last, first + max(_FEWEST_MARKS, int(seconds / per_mark_s)))
        return replace(pair, first=first, last=last)


@dataclass(frozen=True)
class MarkedProgram:
    """A command of a library in its own directory, which is reset to its inputs before each run."""

    situation: Situation
    library: str
    place: Path
    runner: Runner
    inputs: Mapping[str, str]  # name → text

    def learn(self, budget_s: float = 120.0, limit_s: float = 120.0) -> Learned:
        """Record one whole run."""
        directory = self.place / "record"
        self._empty(directory)
        carried = recorder_for(self.situation, LocalHost()).spelling(directory)
        execution = self._execute(AS_IT_IS, carried, limit_s, None)
        if execution.outcome is not Outcome.OK:
            raise ProgramFailedError(f"{' '.join(self.situation.job.argv)}: {self.why_failed(execution)}")
        pace = without_library_places(run_pace(read_recorded(directory, "", execution.wall_s).record))
        choice = choose_key(pace)
        first = pace.first_rank
        calls = first.of(choice.key) if first is not None and choice.key is not None else None
        window = choose_window([calls], budget_s) if calls else None
        return Learned(choice, window, execution.wall_s, pace)

    def run(
        self,
        pair: MarkPair | None,
        configuration: Configuration = AS_IT_IS,
        *,
        ends: bool = True,
        limit_s: float = 120.0,
        behind: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> MarkedRun:
        """Run with marks, to the last one or to the end; preload the libraries ``behind`` the runtime."""
        armed = BetweenMarkers(pair, ends, self.library, directory=self.place / "marks")
        self._empty(armed.directory)
        spelling = armed.spelling()
        carried = replace(
            spelling,
            preload=(*spelling.preload, *behind),
            environment={**spelling.environment, **(environment or {})},
        )
        execution = self._execute(configuration, carried, limit_s, armed.early_end)
        marks = armed.marks(execution)
        return MarkedRun(
            execution, marks, armed.split(marks, execution), self.place / "stdout", self.place / "work"
        )

    def can(self, configuration: Configuration) -> bool:
        """Return whether this library and launcher can express the configuration."""
        if knobs.check_configuration(configuration.as_dict()):
            return False
        try:
            render(configuration, self.situation)
        except MpiricError:
            return False
        return True

    def _execute(
        self, configuration: Configuration, carried: Spelling, limit_s: float, early: EarlyEnd | None
    ) -> Execution:
        work = self.place / "work"
        self._empty(work)
        for name, text in self.inputs.items():
            (work / name).write_text(text)
        launch = render(configuration, self.situation, carried)
        out, err = self.place / "stdout", self.place / "stderr"
        environment = self.situation.job.environment
        return self.runner.execute(launch, environment, Workspace(work, out, err), limit_s, early_end=early)

    def why_failed(self, execution: Execution) -> str:
        """Return why a run failed, with the end of its stderr."""
        message = (self.place / "stderr").read_text(errors="replace").strip()[-300:]
        return f"{execution.reason or execution.outcome.value}: {message}"

    @staticmethod
    def _empty(directory: Path) -> None:
        for path in sorted(directory.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        directory.mkdir(parents=True, exist_ok=True)


@contextmanager
def marked_program(
    argv: Sequence[str], bed: Bed, inputs: Mapping[str, str] | None = None, shared: Path | None = None
) -> Iterator[MarkedProgram]:
    """Yield a command of a library, ready to run; remove all its files at the end.

    ``shared`` is a directory that all hosts see, for runs on several hosts.
    """
    host = LocalHost()
    with TemporaryDirectory(prefix="mpiric-marked-", dir=shared) as name, Runner() as runner:
        place = Path(name)
        (place / "work").mkdir()
        for input_name, text in (inputs or {}).items():
            (place / "work" / input_name).write_text(text)
        parsed = parse_job(list(argv), host, str(place / "work"), bed.environment)
        situation = expected_situation(parsed, host, Allowed())
        yield MarkedProgram(situation, runtime_with_marks(situation, host), place, runner, inputs or {})
