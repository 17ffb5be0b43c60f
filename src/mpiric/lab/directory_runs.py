"""DirectoryRuns: launches, each in a directory as the original's was, and what they wrote made safe."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Protocol

from mpiric.host.files import is_directory
from mpiric.host.isolation.working_copies import TrialDirectory
from mpiric.host.processes.early_end import EarlyEnd
from mpiric.host.processes.overlay_mount import OverlayMount
from mpiric.host.processes.preparing import leads_out, make_ready
from mpiric.lab.durability import cool, make_durable
from mpiric.model.errors import MpiricError
from mpiric.model.execution import Execution
from mpiric.model.launch import Launch
from mpiric.model.situation import Situation
from mpiric.model.trial import Outcome, Trial


class LaunchRunner(Protocol):
    """Executes launches: a `Runner`, or a test's script."""

    def execute(
        self,
        launch: Launch,
        environment: Mapping[str, str],
        directory: str | PathLike[str],
        stdout_path: str | PathLike[str],
        stderr_path: str | PathLike[str],
        limit_s: float | None,
        *,
        observe: bool = False,
        early_end: EarlyEnd | None = None,
        mount: OverlayMount | None = None,
    ) -> Execution:
        """Run a launch to its end, or to its early one."""
        ...


class DirectorySource(Protocol):
    """Gives each trial a directory as the original was: `WorkingCopies`, or a test's own."""

    def fresh(self) -> TrialDirectory:
        """A directory for the next trial; the one before is over."""
        ...

    def copy_instead(self) -> None:
        """Give up mounts: directories are copies from now on."""
        ...

    def renew(self) -> None:
        """Make the next directory from nothing."""
        ...


class _Unwatched(TrialDirectory):
    """A directory of which nobody looks at what a run wrote."""

    def written(self) -> dict[str, Path]:
        """Return nothing."""
        return {}


class UsersDirectory:
    """The user's own directory for every run; files that a run writes there are ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def fresh(self) -> TrialDirectory:
        """Return the directory as it is."""
        return _Unwatched(self._path, {})

    def copy_instead(self) -> None:
        """Do nothing, as mounts are never used."""

    def renew(self) -> None:
        """Do nothing."""


class DirectoryRuns:
    """Executes launches and keeps what one run's directory means for the next."""

    def __init__(self, runner: LaunchRunner, directories: DirectorySource) -> None:
        self.cold: tuple[str, ...] = ()  # inputs that each run reads from the servers
        self.ran_in = ""  # directory of the last run
        self._runner, self._directories = runner, directories
        self._mounts_work = False
        self._changed_more = False  # the last run, of its directory, than files

    def execute(
        self,
        launch: Launch,
        environment: Mapping[str, str],
        stem: Path,
        limit_s: float | None,
        *,
        observe: bool,
        early_end: EarlyEnd | None,
    ) -> tuple[TrialDirectory, Execution]:
        """Run a launch in a directory of its own; again in a copy when the first one in a mount fails.

        Its output goes into files that begin with ``stem``.
        """
        if self._changed_more:
            self._directories.renew()
        directory = self._directories.fresh()
        self._changed_more = bool(launch.prepare)
        self.ran_in = str(directory.path)
        if complaint := self._not_ready(launch, environment, directory):
            return directory, Execution(Outcome.REFUSED, 0.0, 0, complaint)
        execution = self._runner.execute(
            launch,
            environment,
            directory.path,
            str(stem.with_suffix(".stdout")),
            str(stem.with_suffix(".stderr")),
            limit_s,
            observe=observe,
            early_end=early_end,
            mount=directory.mount,
        )
        if directory.mount is not None and not self._mounts_work and self._gives_up_mounts(execution):
            return self.execute(launch, environment, stem, limit_s, observe=observe, early_end=early_end)
        return directory, execution

    def _not_ready(self, launch: Launch, environment: Mapping[str, str], directory: TrialDirectory) -> str:
        """Why a launch cannot begin in its directory, "" when it can; inputs are cold then."""
        if launch.prepare and directory.mount is not None:
            return "the directory is laid over the user's, where no layout can be set"
        if astray := leads_out(launch, directory.path):
            return f"'{astray}' leads out of the working directory by a link: its layout is left alone"
        complaint = make_ready(launch, {**environment, **launch.environment}, directory.path)
        cool(directory, self.cold)
        return complaint

    def _gives_up_mounts(self, execution: Execution) -> bool:
        """Whether the first run in a mount failed and is to be made in a copy: it may have been the mount."""
        self._mounts_work = execution.outcome is Outcome.OK
        if execution.outcome not in (Outcome.FAILED, Outcome.REFUSED):
            return False
        try:
            self._directories.copy_instead()
        except MpiricError:
            return False  # too much to be copied: the command's own failure is what there is to tell
        return True

    def make_durable(
        self, trial: Trial, situation: Situation, directory: TrialDirectory, *, read_back: bool
    ) -> Trial:
        """The trial with the time until its bytes were safe; a disk that lost some has made it fail.

        With ``read_back`` what a stopped run has under way is waited for: it would slow the next run.
        """
        if trial.outcome is Outcome.TIMED_OUT and read_back and is_directory(Path(directory.path)):
            with suppress(OSError, MpiricError):
                make_durable(situation.job, situation.nodes, directory)
        if trial.outcome is not Outcome.OK or trial.came_early or not is_directory(Path(directory.path)):
            return trial
        try:
            written = make_durable(
                situation.job,
                situation.nodes,
                directory,
                cold=self.cold,
                read_back=read_back,
            )
        except OSError as error:
            reason = f"what it wrote was lost when it was synchronised: {error.strerror}"
            return replace(trial, outcome=Outcome.FAILED, reason=reason)
        except MpiricError:
            return trial
        safe_s = trial.wall_s + written.until_safe_s
        return replace(trial, safe_s=safe_s, written_bytes=written.size_bytes)
