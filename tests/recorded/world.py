"""The world of a recorded case: mpiric's own code runs, but launches, host facts and time are scripted.

The replacements are on the lowest possible level, so that a rewrite of the workflows needs no change here:

- launches: `Runner` and `run_in_foreground` of `mpiric.host.processes`,
- the machine: the methods of `LocalHost`, answered by a recorded machine,
- time, random words, host name, process number and `fsync`: the functions of Python's standard library.
"""

import io
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.recorded.program import SCRIPTED_RECORD, Clock, Program
from tests.support.replay_host import Recording, ReplayHost

# Imported before anything is replaced, so that names bound on import refer to the real functions.
from mpiric.cli import history, profile, run, sweep, tune  # noqa: F401
from mpiric.cli.main import main
from mpiric.host.facts.local import LocalHost
from mpiric.host.host import Completed
from mpiric.host.installation import native
from mpiric.host.processes import foreground
from mpiric.host.processes.execution import Runner, Workspace
from mpiric.host.processes.foreground import ForegroundResult
from mpiric.model.job import Launch
from mpiric.model.record import Record
from mpiric.model.run import Execution, Outcome
from mpiric.profile import read
from mpiric.workflows.mapping import plan_orders  # noqa: F401
from mpiric.workflows.run import explained
from mpiric.workflows.run.run import PreparedRun
from mpiric.workflows.submit import submit  # noqa: F401
from mpiric.workflows.tune import array  # noqa: F401

MACHINE = Path(__file__).parents[1] / "data/machines/debian12.json"
_HOST_METHODS = (
    *("run", "run_cached", "read_text", "list_dir", "is_file", "is_executable", "real_path", "which"),
    *("space", "attribute", "addresses", "topology_xml", "elf", "exported_symbols", "imported_symbols"),
)
_RUNTIMES = ("openmpi", "mpich", "standard")


class Scripted(ReplayHost):
    """A recorded machine; the case answers the commands whose name is a key of ``answers``."""

    def __init__(self, recording: Recording, answers: Mapping[str, Callable[..., Completed | None]]) -> None:
        super().__init__(recording)
        self.answers = answers

    def which(self, name: str, **options: Any) -> str | None:
        """Return the path of a command that the case answers, else the recorded path."""
        return f"/usr/bin/{name}" if name in self.answers else super().which(name, **options)

    def run(self, argv: Sequence[str], **options: Any) -> Completed:
        """Return the answer of the case; if there is none, or it is None, the recorded answer."""
        answer = self.answers.get(Path(argv[0]).name, lambda *_, **__: None)(argv, **options)
        return super().run(argv, **options) if answer is None else answer


@dataclass
class Answer:
    """Output and exit status of a call of the command line."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str


@dataclass
class World:
    """State of a case in a separate directory: cwd ``place/work``, home ``place/home``."""

    place: Path
    program: Program
    machine: Path = MACHINE
    environment: Mapping[str, str] = field(default_factory=dict)
    answers: dict[str, Callable[..., Completed | None]] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    has_runtime: bool = True

    @property
    def work(self) -> Path:
        """The working directory of the user."""
        return self.place / "work"

    @property
    def store(self) -> Path:
        """The default store."""
        return self.place / "home/state/mpiric/tunes"

    def mpiric(self, *argv: str) -> Answer:
        """Call the command line in this process; only allowed within `scripted`."""
        stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True)
        stderr = io.StringIO()
        before, sys.argv = sys.argv, ["mpiric", *argv]
        try:
            with redirect_stdout(stdout), redirect_stderr(stderr):
                main()
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            sys.argv = before
        stdout.flush()
        return Answer(argv, status, stdout.buffer.getvalue().decode(), stderr.getvalue())


@contextmanager
def scripted(world: World) -> Iterator[World]:
    """Make this process see the scripted world."""
    for directory in (world.work, world.place / "home", world.place / "native"):
        directory.mkdir(parents=True, exist_ok=True)
    swaps = [
        (datetime, _datetime_of(world.clock)),
        (foreground.run_in_foreground, _foreground_of(world)),
        (read.read_record, _record_reader_of(world)),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(world.work)
        _replace_environment(world, patch)
        _replace_clock(world.clock, patch)
        _replace_chance(patch)
        _replace_host(world, patch)
        _replace_runner(world, patch)
        _swap(swaps)
        try:
            yield world
        finally:
            _swap([(new, old) for old, new in swaps])


def _swap(swaps: Sequence[tuple[object, object]]) -> None:
    """Replace functions and classes in every module of mpiric that has imported them by name."""
    new_of = {id(old): new for old, new in swaps}
    for module in [module for name, module in sys.modules.items() if name.startswith("mpiric")]:
        for name in [name for name, value in vars(module).items() if id(value) in new_of]:
            setattr(module, name, new_of[id(vars(module)[name])])


def _replace_environment(world: World, patch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        patch.delenv(name)
    home = world.place / "home"
    places = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("DATA", "STATE", "CONFIG", "CACHE")}
    fixed = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1"}
    fixed["MPIRIC_MPI_HOME"] = "/home/user/.local/share/mpiric/mpi"  # path on the recorded machine
    # The width of a terminal decides where lines are broken, and paths have another length in each place.
    for name, value in {**fixed, **places, "COLUMNS": "400", **world.environment}.items():
        patch.setenv(name, value)
    patch.setattr(sys, "stdin", io.StringIO())


def _replace_clock(clock: Clock, patch: pytest.MonkeyPatch) -> None:
    # `subprocess` waits in real time, because the commands of --check and --objective really run.
    patch.setattr(subprocess, "time", SimpleNamespace(**vars(time)))
    patch.setattr(time, "monotonic", lambda: clock.now_s)
    patch.setattr(time, "monotonic_ns", lambda: int(clock.now_s * 1e9))
    patch.setattr(time, "time", clock.unix_s)
    patch.setattr(time, "sleep", clock.sleep)
    patch.setattr(time, "clock_getres", lambda _: 0.004)
    patch.setattr(Runner, "clock", staticmethod(time.monotonic))


def _datetime_of(clock: Clock) -> type[datetime]:
    class ScriptedDatetime(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            now = datetime.fromtimestamp(clock.unix_s(), tz or timezone.utc)
            return now if tz else now.replace(tzinfo=None)

    return ScriptedDatetime


def _replace_chance(patch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(1, 1 << 20))
    patch.setattr(secrets, "token_hex", lambda size: f"{next(numbers):0{2 * size}x}")
    patch.setattr(secrets, "randbits", lambda bits: next(numbers) * 0x9E3779B1 >> 16 & (1 << bits) - 1)
    patch.setattr(socket, "gethostname", lambda: "n1")
    patch.setattr(tempfile, "_get_candidate_names", lambda: (f"{next(numbers):08x}" for _ in iter(int, 1)))
    patch.setattr(os, "fsync", lambda _: None)  # no file of a case has to survive a crash


def _replace_host(world: World, patch: pytest.MonkeyPatch) -> None:
    host = Scripted(_recording(world.machine), world.answers)
    for name in _HOST_METHODS:
        patch.setattr(
            LocalHost, name, lambda _, *args, name=name, **kwargs: getattr(host, name)(*args, **kwargs)
        )
    patch.setattr(LocalHost, "python", property(lambda _: host.python))
    patch.setattr(native, "_ROOT", world.place / "native")
    for family in _RUNTIMES if world.has_runtime else ():
        library = world.place / "native" / family / "libmpiric.so"
        library.parent.mkdir(parents=True, exist_ok=True)
        library.write_bytes(b"\0MPIRIC_MARK_OUT\0MPIRIC_RANK_ORDER\0")


def _replace_runner(world: World, patch: pytest.MonkeyPatch) -> None:
    def execute(
        _: Runner,
        launch: Launch,
        environment: Mapping[str, str],
        workspace: Workspace,
        limit_s: float | None,
        *,
        early_end: Any = None,
        **__: Any,
    ) -> Execution:
        paths = tuple(Path(path) for path in (workspace.directory, workspace.stdout, workspace.stderr))
        answer = world.answers.get(Path(launch.argv[0]).name, lambda *_, **__: None)
        begun_s = world.clock.now_s
        done = answer(launch.argv, environment={**environment, **launch.environment})
        if done is None:
            return world.program.execute(world.clock, launch, *paths, limit_s, early_end)
        paths[1].write_text(done.stdout, encoding="utf-8")
        paths[2].write_text(done.stderr, encoding="utf-8")
        outcome = Outcome.FAILED if done.status else Outcome.OK
        reason = f"exit status {done.status}" if done.status else ""
        return Execution(outcome, world.clock.now_s - begun_s, done.status, reason)

    def run_explained(prepared: PreparedRun, *_: Any) -> None:
        launch = prepared.launch
        environment = {k: v for k, v in prepared.environment.items() if k not in launch.unset}
        become("", launch.argv, {**environment, **launch.environment})

    def become(_: str, argv: Sequence[str], environment: Mapping[str, str]) -> None:
        changed = {name: value for name, value in environment.items() if os.environ.get(name) != value}
        removed = [name for name in os.environ if name not in environment]
        print(f"becomes {list(argv)} with {changed} without {removed}")
        raise SystemExit(0)

    patch.setattr(Runner, "execute", execute)
    patch.setattr(os, "execvpe", become)
    patch.setattr(explained, "run_explained", run_explained)
    patch.setattr(Runner, "can_mount", lambda *_: False)


def _foreground_of(world: World) -> Callable[..., ForegroundResult]:
    def run_in_foreground(
        launch: Launch, environment: Mapping[str, str], output: Any, limit_s: float | None = None, *_: Any
    ) -> ForegroundResult:
        with tempfile.TemporaryDirectory() as place:
            paths = (Path.cwd(), Path(place, "stdout"), Path(place, "stderr"))
            done = world.program.execute(world.clock, launch, *paths, limit_s)
            sys.stdout.write(paths[1].read_text(encoding="utf-8"))
        was_asked = done.outcome is Outcome.INTERRUPTED
        return ForegroundResult(
            done.exit_status % 256, done.wall_s, done.outcome is Outcome.TIMED_OUT, was_asked
        )

    return run_in_foreground


def _record_reader_of(world: World) -> Callable[[Path | str], Record]:
    read_real = read.read_record

    def read_record(path: Path | str) -> Record:
        scripted_file, scripted_record = Path(path, SCRIPTED_RECORD), world.program.record
        if scripted_record is None or not scripted_file.exists():
            return read_real(path)
        if callable(scripted_record):
            return scripted_record(float(scripted_file.read_text()))
        return scripted_record

    return read_record


@cache
def _recording(machine: Path) -> Recording:
    return Recording.read(machine)
