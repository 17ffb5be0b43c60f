"""Execution and measurement of a Launch: the client of the keeper process."""

import itertools
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from mpiric.host.command_log import log_end, log_start
from mpiric.host.processes.interrupts import PASSED_ON, Handler, Interrupts, put_back
from mpiric.host.processes.keeper import EARLY, MARK, Inbox, send
from mpiric.host.processes.leftovers import KEEPER_WORD, Leftovers, end_abandoned, end_marked, mark_of
from mpiric.host.processes.other_load import LoadWatch
from mpiric.host.processes.proc import carrying
from mpiric.host.processes.request import EarlyEnd, OverlayMount
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import ExitCode, MpiricError, NoRoomError
from mpiric.model.job import Launch
from mpiric.model.machine import parse_pu_list
from mpiric.model.record import ProcessState
from mpiric.model.run import Execution, Outcome, Usage
from mpiric.model.situation import RankSeen

_FULL_BYTES = 64 << 10  # the last write failed if less space is free


def judge(
    answer: Mapping[str, Any],
    limit_s: float | None,
    output_limit_bytes: int,
    *,
    came_early: bool = False,
    root: str = "",
) -> Execution:
    """Return the execution that the keeper's answer describes; with ``came_early`` an early end is OK.

    ``root`` is the directory in which its ranks saw the file tree, "" for the real root.
    """
    if "refused" in answer:
        return Execution(Outcome.INTERRUPTED, 0.0, 127, "interrupted")
    status = answer["status"] if answer["status"] is not None else -9
    outcome, reason = Outcome.OK, ""
    if answer["ended"] == "timed out":
        outcome, reason = Outcome.TIMED_OUT, f"did not end within {limit_s:g} s"
    elif answer["ended"] == "interrupted":
        outcome, reason = Outcome.INTERRUPTED, "interrupted"
    elif answer["ended"] == "output":
        limit_mib = output_limit_bytes >> 20
        outcome, reason = Outcome.FAILED, f"printed more than {limit_mib} MiB, and was ended"
    elif status != 0 and answer.get("passed") and not came_early:
        outcome = Outcome.INTERRUPTED
        reason = (
            f"{_status_sentence(status)} after {signal.Signals(answer['passed']).name} was passed on to it"
        )
    elif status != 0 and not came_early:
        outcome, reason = Outcome.FAILED, _status_sentence(status)
    return Execution(
        outcome,
        answer["wall_s"],
        status,
        reason,
        Usage(**{name: answer[name] for name in Usage.__dataclass_fields__}),
        answer["rss_peak_bytes"],
        ranks_of(answer["ranks"], root),
        tuple(answer["strays"]),
        tuple(answer["stuck"]),
        answer["started_ns"],
        came_early,
        states={key: ProcessState(**state) for key, state in answer["states"].items()},
    )


def ranks_of(rows: list[dict[str, Any]], root: str = "") -> tuple[RankSeen, ...]:
    """Return the ranks in the keeper's rows; paths below ``root`` are converted to paths of this process."""
    return tuple(
        RankSeen(
            **{
                **row,
                "cpus_allowed": parse_pu_list(row["cpus_allowed"]),
                "program": row["program"].removeprefix(root),
                "libraries": tuple(path.removeprefix(root) for path in row["libraries"]),
            }
        )
        for row in rows
    )


def _status_sentence(status: int) -> str:
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"ended by signal {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"


def refused(answer: Mapping[str, Any]) -> Execution:
    """Return the execution of a launch that could not be started; raise if no launch could."""
    if answer["what"] == "output":
        raise NoRoomError(
            f"the output of a run cannot be written: {answer['refused']}",
            hint="make room there, or name another directory with --store",
        )
    if answer["what"] == "directory":
        raise MpiricError(
            f"the working directory is gone: {answer['refused']}",
            hint="change to an existing directory, and start again",
            exit_code=ExitCode.NOT_FOUND,
        )
    return Execution(Outcome.REFUSED, 0.0, 127, f"could not be started: {answer['refused']}")


def check_room(execution: Execution, directories: tuple[str, ...]) -> None:
    """Raise NoRoomError on a full disk, which makes programs fail or truncates their output."""
    for directory in directories:
        try:
            room = os.statvfs(directory)
        except OSError:
            continue
        free = room.f_bfree if os.getuid() == 0 else room.f_bavail
        if free * room.f_frsize < _FULL_BYTES or (room.f_files and not room.f_ffree):
            raise NoRoomError(
                f"the file system of {directory} is full"
                + (f"; the run {execution.reason}" if execution.reason else ""),
                hint="make room there, or name another directory with --store",
            )


OUTPUT_LIMIT_BYTES = 256 << 20  # limit of a trial's output on disk
GRACE_S = 5.0  # Open MPI and PRRTE give their ranks 1 to 2 s between SIGTERM and SIGKILL

_LAUNCH_NUMBERS = itertools.count(1)  # unique in this process, for all runners

OnSample = Callable[[tuple[RankSeen, ...]], None]


@dataclass(frozen=True)
class Workspace:
    """Working directory and output files of a launch."""

    directory: str | os.PathLike[str]
    stdout: str | os.PathLike[str]
    stderr: str | os.PathLike[str]
    mount: OverlayMount | None = None  # made for this launch only; it contains the directory


class Runner:
    """Runner for one launch at a time; a context manager that owns a keeper process.

    The keeper starts with the first launch. Several runners, each with its own keeper, may work at the same
    time. ``on_sample`` is called with each sample of the ranks of a launch.
    """

    clock = staticmethod(time.monotonic)  # clock for the times of launches

    def __init__(
        self,
        *,
        grace_s: float = GRACE_S,
        output_limit_bytes: int = OUTPUT_LIMIT_BYTES,
        on_sample: OnSample | None = None,
    ) -> None:
        self.on_sample = on_sample
        self._grace_s = grace_s
        self._output_limit_bytes = output_limit_bytes
        self._keeper: subprocess.Popen[bytes] | None = None
        self._inbox: Inbox | None = None
        self._handlers: dict[int, Handler] = {}

    def __enter__(self) -> "Runner":
        if threading.current_thread() is threading.main_thread():
            # Between launches no other handler exists, and the signals would end mpiric.
            self._handlers = {number: signal.signal(number, lambda *_: None) for number in PASSED_ON}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        for number, handler in self._handlers.items():
            put_back(number, handler)

    def close(self) -> None:
        """End the keeper."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None and keeper.stdin and keeper.stdout and keeper.stderr:
            keeper.stdin.close()
            keeper.wait()
            keeper.stdout.close()
            keeper.stderr.close()

    def execute(
        self,
        launch: Launch,
        environment: Mapping[str, str],
        workspace: Workspace,
        limit_s: float | None,
        *,
        observe: bool = False,
        early_end: EarlyEnd | None = None,
    ) -> Execution:
        """Run ``launch`` with ``environment`` and wait until all its processes have ended.

        ``observe`` samples the ranks through /proc. A launch that reached its ``early_end`` is OK for any
        exit status. Ctrl-C ends the launch with ``INTERRUPTED``; a second one kills it. SIGUSR1 and SIGUSR2
        are forwarded to the launch, which is also ``INTERRUPTED`` if it fails afterwards. Raises NoRoomError
        if the disk of the output or of the directory is full.
        """
        directory, mount, on_sample = str(workspace.directory), workspace.mount, self.on_sample
        mark = mark_of(os.getpid(), next(_LAUNCH_NUMBERS))
        request: dict[str, Any] = {
            "argv": list(launch.argv),
            "environment": _environment(launch, environment, directory, mark),
            "directory": directory,
            "stdin": launch.stdin,
            "stdout": str(workspace.stdout),
            "stderr": str(workspace.stderr),
            "limit_s": limit_s,
            "grace_s": self._grace_s,
            "output_limit_bytes": self._output_limit_bytes,
            "observe": observe or on_sample is not None,
            "tell": on_sample is not None,
            "ends_itself": early_end is not None and early_end.ends_itself,
        }
        root = mount.root if mount is not None else ""
        if mount is not None:
            request["mount"] = asdict(mount)
        start_s, load = time.monotonic(), LoadWatch()
        log_start(launch.argv, directory, {**dict.fromkeys(launch.unset), **launch.environment})
        leftovers = Leftovers(request["environment"])
        try:
            answer = self._ask(request, early_end, root)
        except _KeeperLostError as lost:
            leftovers.note(carrying(MARK, mark))
            leftovers.remove(end_marked(MARK, mark, self._grace_s))
            self._forget()
            log_end(launch.argv, lost.sentence, time.monotonic() - start_s)
            return Execution(Outcome.FAILED, time.monotonic() - start_s, -9, lost.sentence)
        if "refused" in answer and "ended" not in answer:
            return refused(answer)
        came_early = answer["ended"] == EARLY or (early_end is not None and early_end.has_come())
        execution = judge(answer, limit_s, self._output_limit_bytes, came_early=came_early, root=root)
        execution = replace(execution, disturbed=load.is_disturbed(execution.usage))
        log_end(launch.argv, f"{execution.outcome.value}, status {execution.exit_status}", execution.wall_s)
        if execution.outcome is not Outcome.INTERRUPTED:
            outputs = (str(Path(path).parent) for path in (workspace.stdout, workspace.stderr))
            check_room(execution, (mount.upper if mount else directory, *outputs))
        return execution

    def can_mount(self, mount: OverlayMount) -> bool:
        """Return whether launches can have this mount, by a trial."""
        keeper, inbox = self._start()
        assert keeper.stdin is not None
        try:
            send(keeper.stdin.fileno(), {"mount": asdict(mount)})
            answer = inbox.wait()
        except BrokenPipeError:
            answer = None
        return answer is not None and not answer["refused"]

    @property
    def keeper_pid(self) -> int:
        """Return the pid of the process whose mounts launches see; 0 without one."""
        return self._keeper.pid if self._keeper is not None else 0

    def _ask(self, request: dict[str, Any], early_end: EarlyEnd | None, root: str) -> dict[str, Any]:
        keeper, inbox = self._start()
        assert keeper.stdin is not None
        with Interrupts() as interrupts:
            try:
                send(keeper.stdin.fileno(), request)
                while (message := self._next(inbox, interrupts, early_end)) is None or "seen" in message:
                    if message is not None:
                        if self.on_sample is not None:
                            self.on_sample(ranks_of(message["seen"], root))
                        continue
                    passed = interrupts.take_passed()
                    for number in passed:
                        send(keeper.stdin.fileno(), {"signal": number})
                    if interrupts.count:
                        send(keeper.stdin.fileno(), {"stop": self._grace_s if interrupts.count == 1 else 0.0})
                    elif not passed:
                        early_end = None  # one request is sufficient
                        send(keeper.stdin.fileno(), {"stop": self._grace_s, "why": EARLY})
            except (BrokenPipeError, EOFError):
                keeper.wait()
                assert keeper.stderr is not None
                os.set_blocking(keeper.stderr.fileno(), False)
                text = (keeper.stderr.read() or b"").decode(errors="replace").strip()
                raise _KeeperLostError(text.splitlines()[-1] if text else "") from None
            except BaseException:
                # Raised by `on_sample`: the launch must not continue unobserved.
                self._forget()
                raise
            if interrupts.count:
                message["ended"] = "interrupted"
        return message

    @staticmethod
    def _next(inbox: Inbox, interrupts: Interrupts, early_end: EarlyEnd | None) -> dict[str, Any] | None:
        """Return the keeper's next message; None for Ctrl-C or an early end. Raises EOFError if it ended."""
        pause_s = early_end.every_s if early_end else None
        while (message := inbox.take()) is None:
            ready, _, _ = select.select([inbox.descriptor, interrupts.descriptor], [], [], pause_s)
            if interrupts.descriptor in ready:
                interrupts.hear()
                return None
            if not ready:
                if early_end is not None and early_end.is_due():
                    return None
                continue
            inbox.read()
            if inbox.closed:
                raise EOFError
        return message

    def _start(self) -> tuple[subprocess.Popen[bytes], Inbox]:
        """Return the keeper; start it if necessary, isolated from the user's PYTHON* and LD_PRELOAD."""
        if self._keeper is not None and self._keeper.poll() is not None:
            self._forget()
        if self._keeper is None or self._inbox is None:
            end_abandoned(MARK)
            root = str(Path(__file__).parents[3])
            path = "import sys; sys.path.insert(0, sys.argv[1]); "
            code = f"{path}from mpiric.host.processes.keeper import main; main()"
            inherited = ("PATH", "LD_LIBRARY_PATH", "LANG", "HOME")
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", code, root, KEEPER_WORD],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={name: os.environ[name] for name in inherited if name in os.environ},
                close_fds=False,  # launches inherit the descriptors that the user's shell opened for mpiric
                start_new_session=True,  # Ctrl-C in the terminal reaches only mpiric
            )
            assert self._keeper.stdout is not None
            self._inbox = Inbox(self._keeper.stdout.fileno())
        return self._keeper, self._inbox

    def _forget(self) -> None:
        """Discard a keeper that has ended; the next launch starts a new one."""
        self.close()
        self._inbox = None


class _KeeperLostError(Exception):
    def __init__(self, last_words: str) -> None:
        self.sentence = "the process that ran it was killed" + (f": {last_words}" if last_words else "")
        super().__init__(self.sentence)


def _environment(launch: Launch, environment: Mapping[str, str], directory: str, mark: str) -> dict[str, str]:
    """Return the complete environment of the launch. PWD is the directory, as in a shell."""
    variables = {name: value for name, value in environment.items() if name not in launch.unset}
    variables.update(launch.environment)
    if "PWD" in variables:
        variables["PWD"] = directory
    variables[MARK] = mark
    return variables
