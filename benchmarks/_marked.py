"""Runs that carry marks, for benchmarks: learned from a recorded run, then armed by the product's parts."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks._programs import Bed
from mpiric.host.facts.local import LocalHost
from mpiric.host.processes.early_end import EarlyEnd
from mpiric.host.processes.execution import Runner
from mpiric.lab.mark_judge import crossings
from mpiric.lab.probes import BetweenMarkers
from mpiric.lab.recording import read_recorded
from mpiric.lab.render import render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.marks import MarkPair, RunMarks
from mpiric.model.pace import Crossing, RunPace
from mpiric.model.situation import Allowed, Situation
from mpiric.model.spelling import Spelling
from mpiric.model.trial import Execution, Outcome, Split
from mpiric.profile.pace import run_pace
from mpiric.tuning.marks.choice import MarkChoice, choose_key, is_collective, with_own_places
from mpiric.tuning.marks.window import MarkWindow, choose_window
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.trials.expected import expected_situation
from mpiric.workflows.trials.recorded_runs import recorder_for, runtime_with_marks

AS_IT_IS = Configuration()
_FEWEST_CALLS = 16
_FEWEST_MARKS = 4  # of a short window


@dataclass(frozen=True)
class Seen:
    """One run, what its ranks left, and where its output is until the next run."""

    execution: Execution
    marks: RunMarks | None
    split: Split | None
    stdout: Path
    directory: Path

    def crossings(self, pair: MarkPair) -> dict[int, Crossing]:
        """Rank → it at the last mark."""
        return crossings(self.marks, pair) if self.marks else {}


@dataclass(frozen=True)
class Learned:
    """What a recorded run has shown."""

    choice: MarkChoice
    window: MarkWindow | None
    wall_s: float
    pace: RunPace

    @property
    def pair(self) -> MarkPair | None:
        """The marks, None without a window."""
        if self.choice.key is None or self.window is None:
            return None
        return MarkPair(self.choice.key, self.window.first, self.window.last, self.choice.on_rank_0_alone)

    def calls_of(self, pair: MarkPair) -> int:
        """How many calls of a mark's kind rank 0 made in all."""
        first = self.pace.first_rank
        calls = first.of(pair.key) if first is not None else None
        return calls.calls if calls is not None else 0

    @property
    def any_pair(self) -> MarkPair | None:
        """Marks also where no call comes evenly, in a short run or beside others: of a collective of all."""
        first = self.pace.first_rank
        collectives = [
            each
            for each in (first.keys if first else ())
            if is_collective(each.key.function)
            and each.key.ranks == self.pace.world_size
            and each.calls >= _FEWEST_CALLS
        ]
        if self.pair is not None or not collectives:
            return self.pair
        chosen = min(collectives, key=lambda each: each.calls)
        return MarkPair(chosen.key, max(1, chosen.calls // 10), chosen.calls // 2)

    def short_pair(self, numbers: tuple[int, int], seconds: float) -> MarkPair:
        """Marks with these numbers at most that a run comes to in about so many seconds."""
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
    """A command of a library in a place of its own, which is emptied before each run but for its inputs."""

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
            raise ProgramFailedError(f"{' '.join(self.situation.job.argv)}: {self.said(execution)}")
        pace = with_own_places(run_pace(read_recorded(directory, "", execution.wall_s).record))
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
    ) -> Seen:
        """One run that carries marks, to the last of them or to its end; libraries ``behind`` the runtime."""
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
        return Seen(
            execution, marks, armed.split(marks, execution), self.place / "stdout", self.place / "work"
        )

    def can(self, configuration: Configuration) -> bool:
        """Whether this library and launcher have words for it."""
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
        return self.runner.execute(launch, environment, work, out, err, limit_s, early_end=early)

    def said(self, execution: Execution) -> str:
        """Why a run went wrong, with the end of its errors."""
        said = (self.place / "stderr").read_text(errors="replace").strip()[-300:]
        return f"{execution.reason or execution.outcome.value}: {said}"

    @staticmethod
    def _empty(directory: Path) -> None:
        for path in sorted(directory.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        directory.mkdir(parents=True, exist_ok=True)


@contextmanager
def marked_program(
    argv: Sequence[str], bed: Bed, inputs: Mapping[str, str] | None = None, shared: Path | None = None
) -> Iterator[MarkedProgram]:
    """A command of a library, ready to run; everything it writes is gone at the end.

    ``shared`` is a directory that all hosts see, for several.
    """
    host = LocalHost()
    with TemporaryDirectory(prefix="mpiric-marked-", dir=shared) as name, Runner() as runner:
        place = Path(name)
        (place / "work").mkdir()
        for each, text in (inputs or {}).items():
            (place / "work" / each).write_text(text)
        parsed = parse_job(list(argv), host, str(place / "work"), bed.environment)
        situation = expected_situation(parsed, host, Allowed())
        yield MarkedProgram(situation, runtime_with_marks(situation, host), place, runner, inputs or {})
