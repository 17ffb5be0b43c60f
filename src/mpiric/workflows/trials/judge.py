"""Judge: whether a run's output, files and memory agree with the original's, and the run's objective."""

import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mpiric import knobs
from mpiric.host.files import is_file
from mpiric.host.isolation.working_copies import TrialDirectory
from mpiric.host.processes.captured import CommandLate, last_line, run_in_shell
from mpiric.model.count import count_of
from mpiric.model.errors import MpiricError
from mpiric.model.knob import FilesEffect
from mpiric.model.launch import Launch
from mpiric.model.marks import MarkPair, RunMarks
from mpiric.model.situation import RankSeen, Situation
from mpiric.model.spread import in_own_places
from mpiric.model.trial import Outcome, Phase, Split, Trial
from mpiric.tuning.equivalence.output_equivalence import Disagreement, Expectation, learn
from mpiric.tuning.equivalence.output_files import FilesExpectation, learn_files
from mpiric.tuning.marks.forecast import forecast_s
from mpiric.tuning.objective import Objective, value_of
from mpiric.workflows.trials.mark_judge import MarkJudge, StoppedOriginal, learn_at_mark

OUTPUTS = "outputs"  # directory of a tune that holds what its runs printed
_LEARNED_FROM = (Phase.OBSERVE, Phase.RECORD)
_PARTS = {"main": "main_s", "io": "io_s"}  # objective → what of a run's split it is
_CHECK_LIMIT_S = 600
_KEPT_BYTES = 512 << 20  # of an original's output files
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{4,}")
_MEMORY_FACTOR, _MEMORY_SLACK_BYTES = 1.5, 256 << 20  # what a knob may cost in memory before it is refused


@dataclass
class Judge:
    """Everything passes until it has learned from runs of the original; these may widen it later."""

    objective: Objective
    check_command: str = ""  # the user's own judge, run in the trial's directory
    rounding: bool = False  # whether the last digits may differ
    printed: Expectation | None = field(default=None, init=False)  # None: not compared
    at_mark: MarkJudge | None = field(default=None, init=False)  # None: runs are whole
    until_safe: bool = field(default=False, init=False)  # runs last until what they wrote is on the servers
    marks_of_length: float | None = field(default=None, init=False)  # of the run that is forecast
    _compares: bool = field(default=False, init=False)
    _written: FilesExpectation | None = field(default=None, init=False)
    _rss_limit_bytes: int = field(default=0, init=False)  # of one process; 0: not watched
    _stdout_of_original: str = field(default="", init=False)

    def learn(self, originals: Sequence[Trial], *, compare: bool) -> None:
        """Require of every later run what these runs of the original print and write in common."""
        self._stdout_of_original = originals[0].stdout
        if compare:
            self.printed = learn([Path(trial.stdout) for trial in originals])
            self._written = learn_files([kept_files(trial) for trial in originals])

    def learn_at_mark(
        self, pair: MarkPair, originals: Sequence[tuple[Trial, RunMarks]], *, compare: bool
    ) -> None:
        """Require that every later run comes to its last mark as these runs did, which ended there."""
        self._compares = compare
        self.at_mark = learn_at_mark(pair, [_stopped(trial, marks) for trial, marks in originals])

    @property
    def expectation(self) -> object:
        """What runs are held against, None before anything was learned; another one once it was widened."""
        return self.at_mark or self.printed

    def limit_memory(self, situation: Situation) -> None:
        """Refuse later runs whose memory grows far beyond the original's."""
        observation, memory = situation.observation, situation.machine.memory
        whole = min(memory.total_bytes, memory.limit_bytes or memory.total_bytes)
        self._rss_limit_bytes = memory_limit(whole, observation.rss_peak_bytes, len(observation.ranks))

    def judge(
        self,
        trial: Trial,
        launch: Launch,
        situation: Situation,
        ranks: tuple[RankSeen, ...],
        directory: TrialDirectory,
        marks: RunMarks | None = None,
    ) -> Trial:
        """The trial of a run that ended well with its objective, or with what is wrong with it."""
        if trial.phase is Phase.FINISH or (trial.phase in _LEARNED_FROM and not trial.configuration):
            _keep_files(trial, directory)
        if complaint := self._complaint(trial, directory, situation, set_by(launch), marks):
            outcome, reason = complaint
            return replace(trial, outcome=outcome, reason=reason)
        time_s = self._time_s(trial)
        if time_s is None and trial.phase in _LEARNED_FROM:
            return trial  # it teaches what is printed; what is compared carries marks
        try:
            objective = self._value(trial, _known(time_s), launch, situation, ranks, directory)
        except MpiricError as error:
            return replace(trial, outcome=Outcome.FAILED, reason=error.message)
        return replace(trial, objective=objective)

    def valued(self, trial: Trial, launch: Launch, situation: Situation) -> Trial:
        """An original that ended at the mark before it was known what counts, with its objective.

        Raises MpiricError where it shows none before the mark.
        """
        value = self._value(trial, _known(self._time_s(trial)), launch, situation, ())
        return replace(trial, objective=value)

    def _value(
        self,
        trial: Trial,
        time_s: float,
        launch: Launch,
        situation: Situation,
        ranks: tuple[RankSeen, ...],
        directory: TrialDirectory | None = None,
    ) -> float:
        if self.at_mark is not None and self.objective.pattern:
            self.at_mark.cut(Path(trial.stdout))
        return value_of(
            self.objective,
            time_s,
            cores_used(launch, situation, ranks),
            Path(trial.stdout),
            directory.path if directory else Path(situation.job.working_directory),
            situation.job.environment,
            directory.entering if directory else None,
        )

    def _time_s(self, trial: Trial) -> float | None:
        """The time that counts; None when the run's marks do not tell it."""
        if self.at_mark is not None and trial.split is not None and trial.split.per_mark_s is not None:
            if self.marks_of_length is None:
                return trial.split.per_mark_s
            return forecast_s(trial.split, self.marks_of_length)
        until_safe_s = trial.safe_s - trial.wall_s if self.until_safe and trial.safe_s is not None else 0.0
        if self.objective.text in _PARTS:
            part_s = getattr(trial.split, _PARTS[self.objective.text], None)
            return None if part_s is None else part_s + until_safe_s
        return None if trial.came_early or self.at_mark is not None else trial.wall_s + until_safe_s

    def least(self, split: Split | None) -> float | None:
        """The least objective of a stopped run, by bounds of its times; None if they say nothing."""
        if split is None or split.per_mark_s is None:
            return None
        if self.marks_of_length is None:
            return split.per_mark_s
        return (split.start_from_s or 0.0) + self.marks_of_length * split.per_mark_s

    def prints_alike(self, stdout: Path, settings: tuple[str, ...]) -> bool:
        """Whether an output agrees with the originals'."""
        if self.at_mark is not None:
            return True  # its files and marks are gone: another run will tell
        printed = self.printed
        return printed is None or printed.compare(stdout, rounding=self.rounding, settings=settings) is None

    def _complaint(
        self,
        trial: Trial,
        directory: TrialDirectory,
        situation: Situation,
        settings: tuple[str, ...],
        marks: RunMarks | None,
    ) -> tuple[Outcome, str] | None:
        if self._rss_limit_bytes and trial.rss_peak_bytes > self._rss_limit_bytes:
            grown, limit = trial.rss_peak_bytes >> 20, self._rss_limit_bytes >> 20
            return Outcome.GREEDY, f"a process grew to {grown} MiB, more than the {limit} MiB allowed"
        if self.at_mark is not None and trial.phase is Phase.RECORD:
            return None  # it is ended anywhere, for what it shows until then
        if self.at_mark is not None:
            different = self._different_at_mark(self.at_mark, trial, directory, settings, marks)
            return (Outcome.DIFFERENT, different) if different else None
        difference = self._difference(trial, directory, settings)
        if difference is not None:
            return Outcome.DIFFERENT, str(difference)
        if self.check_command:
            return self._check(trial, directory, situation)
        return None

    def _different_at_mark(
        self,
        at_mark: MarkJudge,
        trial: Trial,
        directory: TrialDirectory,
        settings: tuple[str, ...],
        marks: RunMarks | None,
    ) -> str:
        """What differs at the mark; a run of the original that came there only teaches."""
        if other_work := at_mark.other_work(marks):
            return f"other work than the original's: {other_work}"
        assert marks is not None
        if not self._compares:
            return ""
        different = at_mark.complaint(
            marks,
            Path(trial.stdout),
            in_own_places(directory.written()),
            rounding=self.rounding,
            settings=settings,
        )
        if different and not trial.configuration:
            _keep_files(trial, directory)
            stdout = shutil.copyfile(trial.stdout, kept_files(trial).with_suffix(".printed"))
            self.at_mark = at_mark.widened(StoppedOriginal(marks, stdout, kept_files(trial)))
            return ""
        return different

    def _difference(
        self, trial: Trial, directory: TrialDirectory, settings: tuple[str, ...]
    ) -> Disagreement | None:
        """What differs from the original's output; a run of the original itself only teaches."""
        stdout = Path(trial.stdout)
        if self.printed:
            difference = self.printed.compare(stdout, rounding=self.rounding, settings=settings)
            if difference is not None and trial.configuration:
                return difference
            if difference is not None:
                self.printed = self.printed.widened(stdout)
        if self._written is None or not trial.configuration:
            return None
        found = in_own_places(directory.written())
        return self._written.compare_files(
            found,
            rounding=self.rounding,
            settings=settings,
            rearranged=_rearranges(trial.configuration.as_dict()),
        )

    def _check(
        self, trial: Trial, directory: TrialDirectory, situation: Situation
    ) -> tuple[Outcome, str] | None:
        """Ask the user's own judge: in the trial's directory, with the outputs' paths in the environment."""
        environment = {
            **situation.job.environment,
            "MPIRIC_STDOUT": trial.stdout,
            "MPIRIC_STDERR": trial.stderr,
            "MPIRIC_ORIGINAL_STDOUT": self._stdout_of_original or trial.stdout,
        }
        check = f"the check {shlex.quote(self.check_command)}"
        try:
            done = run_in_shell(
                self.check_command,
                directory=directory.path,
                environment=environment,
                limit_s=_CHECK_LIMIT_S,
                enter=directory.entering,
            )
        except CommandLate:
            return Outcome.DIFFERENT, f"{check} did not end in {_CHECK_LIMIT_S} s"
        if done.returncode == 0:
            return None
        printed = last_line(done)
        because = f"{check} said no (status {done.returncode})"
        return Outcome.DIFFERENT, f"{because}: {printed}" if printed else because


def _rearranges(values: Mapping[str, str]) -> bool:
    """Whether a setting may leave bytes of files otherwise arranged."""
    known = knobs.all_knobs()
    return any(known[name].files is FilesEffect.RELAYOUT for name in values if name in known)


def _known(time_s: float | None) -> float:
    if time_s is None:
        raise MpiricError("left nothing from which its time can be told")
    return time_s


def set_by(launch: Launch) -> tuple[str, ...]:
    """Environment variables that a launch sets, wherever it writes them."""
    named = {*launch.environment, *launch.unset, *(setting.name for setting in launch.settings)}
    return tuple(sorted(name for name in named if _VARIABLE.fullmatch(name)))


def memory_limit(machine_bytes: int, original_bytes: int, ranks: int) -> int:
    """Resident bytes one process may reach: half as much again as the original, within the machine."""
    generous = int(original_bytes * _MEMORY_FACTOR) + _MEMORY_SLACK_BYTES
    return min(generous, max(original_bytes, int(machine_bytes * 0.9 / max(1, ranks))))


def cores_used(launch: Launch, situation: Situation, ranks: tuple[RankSeen, ...]) -> int:
    """Cores a run keeps from others: whole nodes when there are several, else ranks × threads, capped."""
    cores = situation.machine.usable_cpu_count
    if situation.nodes > 1:
        return cores * situation.nodes
    count = len(ranks) or len(situation.observation.ranks) or situation.job.ranks or 1
    threads = {**situation.job.environment, **launch.environment}.get("OMP_NUM_THREADS", "").split(",")[0]
    return max(1, min(cores, count * max(1, count_of(threads))))


def _stopped(trial: Trial, marks: RunMarks) -> StoppedOriginal:
    return StoppedOriginal(marks, Path(trial.stdout), kept_files(trial))


def kept_files(trial: Trial) -> Path:
    """Directory of the copies of what a run wrote, where these are kept."""
    return Path(trial.stdout).with_suffix(".files")


def written_by_originals(tune: Path) -> tuple[str, ...]:
    """Names of the files that the original wrote in the runs of a tune, as far as copies were kept."""
    kept = (tune / OUTPUTS).glob("*.files")
    return tuple(
        sorted({str(path.relative_to(run)) for run in kept for path in run.rglob("*") if is_file(path)})
    )


def _keep_files(trial: Trial, directory: TrialDirectory) -> None:
    """Copy what a run of the original wrote, as long as it is not too much, to learn from it."""
    kept = kept_files(trial)
    kept.mkdir(exist_ok=True)
    left = _KEPT_BYTES
    for name, path in directory.written().items():
        left -= path.stat().st_size
        if left >= 0:
            (kept / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, kept / name)
