"""Judge: comparison of a run's output, files and memory with the original, and the run's objective."""

import filecmp
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path

from mpiric import knobs
from mpiric.host.files import exists, is_file
from mpiric.host.isolation.working_copies import TrialDirectory
from mpiric.host.owned_files import open_new, remove_tree
from mpiric.host.processes.captured import CommandLate, last_line, run_in_shell
from mpiric.lab.failures import Disputes, RejectedRun
from mpiric.lab.mark_judge import MarkJudge, kept_files, learn_at_mark
from mpiric.model.amount import count_of
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.model.job import Launch
from mpiric.model.knob import FilesEffect
from mpiric.model.pace import MarkPair
from mpiric.model.quoting import sh_word
from mpiric.model.run import Outcome, Phase, Split, Trial
from mpiric.model.situation import RankSeen, Situation
from mpiric.outputs.equivalence import AcceptedDifferences, Disagreement, Expectation, learn
from mpiric.outputs.files import FilesExpectation, learn_files
from mpiric.tuning.mark_split import forecast_s
from mpiric.tuning.objective import Objective, Place, value_of

OUTPUTS = "outputs"  # directory of a tune with the output of its runs
_LEARNED_FROM = (Phase.OBSERVE, Phase.RECORD)
_PARTS = {"main": "main_s", "io": "io_s"}  # objective → attribute of a run's split
_CHECK_LIMIT_S = 600
_KEPT_BYTES = 512 << 20  # limit of an original's output files
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{4,}")
_PLACING = ("binding", "threads-per-rank", "mapping", "mpi", "omp-places", "omp-bind", "ranks-per-node")
_ON_PLACEMENT = (  # lines of a program on its own threads; OpenMP runtimes write OMP_…
    *("hread affinity", "hread pinning", "inning threads", "CPU affinity", "cpu affinity", "core binding"),
    *("bound to core", "bound to CPU"),
)
# Memory limit of a configuration: factor of the original, plus slack.
_MEMORY_FACTOR, _MEMORY_SLACK_BYTES = 1.5, 256 << 20


@dataclass
class Judge:
    """Checks of runs. All runs pass until original runs are known; later original runs relax the checks."""

    objective: Objective
    check_command: str = ""  # the user's own check, run in the trial's directory
    rounding: bool = False  # the last digits may differ
    ignored: "re.Pattern[str] | None" = None  # lines that are not compared
    printed: Expectation | None = field(default=None, init=False)  # None: not compared
    at_mark: MarkJudge | None = field(default=None, init=False)  # None: runs are complete
    until_safe: bool = field(default=False, init=False)  # a run ends when its output is stored on the servers
    # Number of marks in the run that is forecast.
    marks_of_length: float | None = field(default=None, init=False)
    _compares: bool = field(default=False, init=False)
    disputes: Disputes = field(default_factory=Disputes, init=False)
    _written: FilesExpectation | None = field(default=None, init=False)
    # Directories from which the expected files were learned.
    _reference_directories: list[Path] = field(default_factory=list, init=False)
    _rss_limit_bytes: int = field(default=0, init=False)  # limit of one process; 0: not checked
    _stdout_of_original: str = field(default="", init=False)

    def learn(self, originals: Sequence[Trial], *, compare: bool) -> None:
        """Require the common output of these original runs, on stdout and in files, from every later run."""
        self._stdout_of_original = originals[0].stdout
        if compare:
            self.printed = learn([Path(trial.stdout) for trial in originals], self.ignored)
            self._reference_directories = [kept_files(trial) for trial in originals]
            self._written = learn_files(self._reference_directories, ignored=self.ignored)

    def learn_at_mark(self, pair: MarkPair, originals: Sequence[Trial], *, compare: bool) -> None:
        """Require that every later run reaches its last mark like these original runs, which ended there."""
        self._compares = compare
        stopped = [trial for trial in originals if trial.marks is not None]
        self.at_mark = learn_at_mark(pair, stopped, self.ignored)

    @property
    def expectation(self) -> tuple[object, ...]:
        """Return the reference of comparisons, empty before learning; it changes when it is relaxed."""
        return (self.at_mark,) if self.at_mark else (self.printed, self._written) if self.printed else ()

    @property
    def uncompared(self) -> str:
        """Return a sentence about output of the original that differs between runs; "" for none."""
        printed = self.at_mark.printed.stdout.expected if self.at_mark and self._compares else self.printed
        if printed is None:
            return ""
        if printed.compares_nothing:
            return "its output differs from run to run and was not compared"
        if printed.varying:
            more = f" and {len(printed.varying) - 1} more" if len(printed.varying) > 1 else ""
            return f"lines that differ from run to run were not compared: '{printed.varying[0]}'{more}"
        return ""

    def cleared(self) -> list[Trial]:
        """Return trials whose rejection is withdrawn, because they agree with the known original runs."""
        return self.disputes.cleared(lambda run: self._disagreement(run) is None)

    def limit_memory(self, situation: Situation) -> None:
        """Reject later runs whose memory exceeds the original's by far."""
        observation, memory = situation.observation, situation.machine.memory
        available_bytes = min(memory.total_bytes, memory.limit_bytes or memory.total_bytes)
        generous = int(observation.rss_peak_bytes * _MEMORY_FACTOR) + _MEMORY_SLACK_BYTES
        self._rss_limit_bytes = min(
            generous,
            max(observation.rss_peak_bytes, int(available_bytes * 0.9 / max(1, len(observation.ranks)))),
        )

    def judge(
        self,
        trial: Trial,
        launch: Launch,
        situation: Situation,
        directory: TrialDirectory,
    ) -> Trial:
        """Return the trial of a successful run with its objective, or with the reason for its rejection."""
        if trial.phase is Phase.FINISH or (trial.phase in _LEARNED_FROM and not trial.configuration):
            _keep_files(trial, directory)
        registered = knobs.all_knobs()
        effects = {registered[name].files for name, _ in trial.configuration.items if name in registered}
        accepted = AcceptedDifferences(self.rounding, set_by(launch), FilesEffect.RELAYOUT in effects)
        if complaint := self._complaint(trial, directory, situation, accepted):
            outcome, reason = complaint
            if isinstance(reason, Disagreement):
                files, valued = directory.written(), self._valued(trial, launch, situation, directory)
                self.disputes.add(RejectedRun(valued, reason.place, files, accepted))
            return replace(trial, outcome=outcome, reason=str(reason))
        if self._time_s(trial) is None and trial.phase in _LEARNED_FROM:
            return trial  # used to learn the printed output; only runs with marks are compared
        return self._valued(trial, launch, situation, directory)

    def _valued(self, trial: Trial, launch: Launch, situation: Situation, directory: TrialDirectory) -> Trial:
        """Return the trial with its objective, failed if there is none."""
        try:
            return replace(trial, objective=self._value(trial, launch, situation, directory))
        except MpiricError as error:
            return replace(trial, outcome=Outcome.FAILED, reason=error.message)

    def valued(self, trial: Trial, launch: Launch, situation: Situation) -> Trial:
        """Return an original run that ended at the mark, with its objective.

        Raises MpiricError if it has no objective before the mark.
        """
        return replace(trial, objective=self._value(replace(trial, ranks=()), launch, situation))

    def _value(
        self,
        trial: Trial,
        launch: Launch,
        situation: Situation,
        directory: TrialDirectory | None = None,
    ) -> float:
        time_s = self._time_s(trial)
        if time_s is None:
            raise MpiricError("the run left no data about its time", hint="check that it calls MPI_Finalize")
        if self.at_mark is not None and self.objective.pattern:
            self.at_mark.cut(Path(trial.stdout))
        place = Place(
            directory.path if directory else Path(situation.job.working_directory),
            situation.job.environment,
            directory.entering if directory else None,
        )
        cores = cores_used(launch, situation, trial.ranks)
        return value_of(self.objective, time_s, cores, Path(trial.stdout), place)

    def _time_s(self, trial: Trial) -> float | None:
        """Return the time that is compared; None if the run's marks do not give it."""
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
        """Return a lower bound of a stopped run's objective, from bounds of its times; None if unknown."""
        if split is None or split.per_mark_s is None:
            return None
        if self.marks_of_length is None:
            return split.per_mark_s
        return (split.start_from_s or 0.0) + self.marks_of_length * split.per_mark_s

    def _disagreement(self, run: RejectedRun) -> Disagreement | None:
        """Return the disagreement of a run with all recorded runs of the original."""
        marks, stdout = run.trial.marks, Path(run.trial.stdout)
        if self.at_mark is not None:
            if marks is None or not exists(stdout):
                return Disagreement("its step markers were not recorded")
            return self.at_mark.complaint(marks, stdout, run.files, run.accepted)
        if self.printed and (wrong := self.printed.compare(stdout, run.accepted)):
            return wrong
        return None if self._written is None else self._written.compare(run.files, run.accepted)

    def _complaint(
        self, trial: Trial, directory: TrialDirectory, situation: Situation, accepted: AcceptedDifferences
    ) -> tuple[Outcome, str | Disagreement] | None:
        if self._rss_limit_bytes and trial.rss_peak_bytes > self._rss_limit_bytes:
            grown, limit = trial.rss_peak_bytes >> 20, self._rss_limit_bytes >> 20
            return Outcome.GREEDY, f"a process grew to {grown} MiB, more than the {limit} MiB allowed"
        if self.at_mark is not None and trial.phase is Phase.RECORD:
            return None  # it may end at any time; its record is complete up to then
        if self.at_mark is not None:
            different = self._different_at_mark(self.at_mark, trial, directory, accepted)
            return (Outcome.DIFFERENT, different) if different else None
        difference = self._difference(trial, directory, accepted)
        if difference is not None:
            return Outcome.DIFFERENT, difference
        if self.check_command:
            return self._check(trial, directory, situation)
        return None

    def _different_at_mark(
        self, at_mark: MarkJudge, trial: Trial, directory: TrialDirectory, accepted: AcceptedDifferences
    ) -> str | Disagreement | None:
        """Return the difference at the mark; a run of the original only relaxes the check."""
        marks = trial.marks
        if other_work := at_mark.other_work(marks):
            return f"other work than the original's: {other_work}"
        assert marks is not None
        if not self._compares:
            return None
        different = at_mark.complaint(marks, Path(trial.stdout), directory.written(), accepted)
        if different and not trial.configuration:
            _keep_files(trial, directory)
            stdout = _copy_private(Path(trial.stdout), kept_files(trial).with_suffix(".printed"))
            self.at_mark = at_mark.widened(replace(trial, stdout=str(stdout)))
            return None
        return different

    def _difference(
        self, trial: Trial, directory: TrialDirectory, accepted: AcceptedDifferences
    ) -> Disagreement | None:
        """Return the difference from the original's output; a run of the original only relaxes the check."""
        stdout, files = Path(trial.stdout), directory.written()
        disagreement = self._disagreement(RejectedRun(trial, "", files, accepted))
        if disagreement is None or trial.configuration:
            return disagreement
        if self.printed and self.printed.compare(stdout, AcceptedDifferences(self.rounding)) is not None:
            self.printed = self.printed.widened(stdout)
        if self._written and self._written.compare(files) is not None:
            _keep_files(trial, directory)
            self._reference_directories.append(kept_files(trial))
            self._written = learn_files(self._reference_directories, ignored=self.ignored)
        return None

    def _check(
        self, trial: Trial, directory: TrialDirectory, situation: Situation
    ) -> tuple[Outcome, str] | None:
        """Run the user's check in the trial's directory, with the output paths in the environment."""
        environment = {
            **situation.job.environment,
            "MPIRIC_STDOUT": trial.stdout,
            "MPIRIC_STDERR": trial.stderr,
            "MPIRIC_ORIGINAL_STDOUT": self._stdout_of_original or trial.stdout,
        }
        check = f"the check {sh_word(self.check_command)}"
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
        because = f"{check} rejected the results (status {done.returncode})"
        return Outcome.DIFFERENT, f"{because}: {printed}" if printed else because


def set_by(launch: Launch) -> tuple[str, ...]:
    """Return names of variables that a launch sets, and words of lines that report a placement it sets."""
    named = {*launch.environment, *launch.unset, *(setting.name for setting in launch.settings)}
    variables = sorted(name for name in named if _VARIABLE.fullmatch(name))
    places = any(setting.knob in _PLACING for setting in launch.settings)
    return (*variables, *(_ON_PLACEMENT if places else ()))


def cores_used(launch: Launch, situation: Situation, ranks: tuple[RankSeen, ...]) -> int:
    """Return the cores that a run occupies: whole nodes if there are several, else ranks × threads."""
    cores = situation.machine.usable_cpu_count
    if situation.nodes > 1:
        return cores * situation.nodes
    count = len(ranks) or len(situation.observation.ranks) or situation.job.ranks or 1
    threads = {**situation.job.environment, **launch.environment}.get("OMP_NUM_THREADS", "").split(",")[0]
    return max(1, min(cores, count * max(1, count_of(threads))))


def written_by_originals(tune: Path) -> tuple[str, ...]:
    """Return the names of files that the original wrote in a tune, as far as copies were kept."""
    copies = (tune / OUTPUTS).glob("*.files")
    return tuple(
        sorted({str(path.relative_to(run)) for run in copies for path in run.rglob("*") if is_file(path)})
    )


def _keep_files(trial: Trial, directory: TrialDirectory) -> None:
    """Copy the output files of a run of the original within the size limit, to learn from them.

    A file that is identical to an earlier run's, such as a checkpoint, is stored once.
    """
    destination = kept_files(trial)
    remove_tree(destination)  # left by a run that an interrupted tune did not log
    destination.mkdir(mode=0o700)
    free_bytes = _KEPT_BYTES
    for name, path in directory.written().items():
        free_bytes -= path.stat().st_size
        if free_bytes >= 0:
            (destination / name).parent.mkdir(parents=True, exist_ok=True)
            earlier = (run / name for run in sorted(destination.parent.glob("*.files")) if run != destination)
            alike = (file for file in earlier if is_file(file) and filecmp.cmp(path, file, shallow=False))
            try:
                os.link(next(alike), destination / name)
            except (StopIteration, OSError):  # no identical file, or a file system without hard links
                _copy_private(path, destination / name)


def _copy_private(path: Path, copy: Path) -> Path:
    """Copy a file so that only this user can read the copy."""
    copy.unlink(missing_ok=True)
    with path.open("rb") as source, os.fdopen(open_new(copy), "wb") as target:
        shutil.copyfileobj(source, target)
    return copy
