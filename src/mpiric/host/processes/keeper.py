"""The keeper: a small process that starts and measures launches for mpiric, and cleans up after them.

It outlives mpiric until the clean-up is complete: when mpiric ends for any reason, the pipe from it closes
and the keeper ends all processes of the launch. If the keeper itself is killed, the kernel ends the launch
(PDEATHSIG) and mpiric the rest. It runs one launch at a time.
"""

import marshal
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING

from mpiric.host.processes.keeper_launch import Files, NotStartedError, adopt_orphans, start
from mpiric.host.processes.keeper_tree import Tree, Wakeup
from mpiric.host.processes.leftovers import Arrivals, Leftovers
from mpiric.host.processes.proc import carrying, descendants, signal_one

if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]


def send(descriptor: int, message: "Message") -> None:
    """Write a complete message. Raises BrokenPipeError if the other end is closed."""
    body = marshal.dumps(message)
    unsent = memoryview(len(body).to_bytes(4, "little") + body)
    while unsent:
        unsent = unsent[os.write(descriptor, unsent) :]


class Inbox:
    """Reader that splits a byte stream from a pipe into messages."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.closed = False  # the other end was closed
        self._bytes = b""

    def take(self) -> "Message | None":
        """Return the next complete message in the buffer, or None; does not read."""
        size = int.from_bytes(self._bytes[:4], "little")
        if len(self._bytes) < 4 or len(self._bytes) < 4 + size:
            return None
        body, self._bytes = self._bytes[4 : 4 + size], self._bytes[4 + size :]
        message: Message = marshal.loads(body)  # noqa: S302
        return message

    def read(self) -> None:
        """Read available bytes; call it when the pipe is readable."""
        piece = os.read(self.descriptor, 1 << 16)
        self._bytes += piece
        self.closed = not piece

    def wait(self) -> "Message | None":
        """Return the next message; wait for it. None if the other end was closed."""
        while (message := self.take()) is None and not self.closed:
            select.select([self.descriptor], [], [])
            self.read()
        return message


if TYPE_CHECKING:
    from mpiric.host.processes.keeper import Message
    from mpiric.host.processes.keeper_mounts import Mounts
    from mpiric.host.processes.sampling import Sampler

MARK = "MPIRIC_LAUNCH"  # variable in the environment of each process of a launch, to find strays
EARLY = "early"  # the launch was ended because the required data is complete
_TICK_S = 0.25  # interval of checks of the output's size: two fstat calls
_NOTE_EVERY_S = 0.05  # ranks create their shared memory one after the other
_PATIENCE_S = 0.5  # wait for helpers of the launcher that end shortly after it


class Keeper:
    """Server for requests on one pipe, with answers on another."""

    def __init__(self, requests: int, answers: int) -> None:
        self.inbox = Inbox(requests)
        self.answers = answers
        self.wakeup = Wakeup()
        self.is_stopping = False
        self.mounts: Mounts | None = None

    def serve(self) -> None:
        """Serve requests until mpiric closes the pipe."""
        while not self.is_stopping and (request := self.inbox.wait()) is not None:
            if "argv" in request:
                self.answer(self._run(request))
            elif "mount" in request:
                self.answer({"refused": self._mount(request["mount"])})

    def answer(self, message: "Message") -> None:
        """Send a message; stop the service if mpiric no longer exists."""
        try:
            send(self.answers, message)
        except BrokenPipeError:
            self.is_stopping = True

    def _mount(self, mount: "Message") -> str:
        """Replace the mounts; return the error, "" on success."""
        if self.mounts is None:
            from mpiric.host.processes import keeper_mounts  # imported on demand, like sampling

            self.mounts = keeper_mounts.Mounts()
        try:
            self.mounts.renew(mount)
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def _run(self, request: "Message") -> "Message":
        if self.mounts is not None and "mount" not in request:
            self.mounts.clear()
        if "mount" in request and (refusal := self._mount(request["mount"])):
            return {"refused": f"its directory cannot be mounted: {refusal}", "what": "mount", "errno": 0}
        try:
            files = Files(request["stdin"], request["stdout"], request["stderr"])
        except NotStartedError as error:
            return {"refused": str(error), "what": error.what, "errno": error.errno}
        watch = Watch(self, request, files, Leftovers(request["environment"]))
        try:
            pid, started_ns = start(request["argv"], request["environment"], request["directory"], files)
        except NotStartedError as error:
            return {"refused": str(error), "what": error.what, "errno": error.errno}
        else:
            return watch.to_the_end(Tree(pid), started_ns)
        finally:
            files.close()
            watch.arrivals.close()


class Watch:
    """A launch, until its last process has ended."""

    def __init__(self, keeper: Keeper, request: "Message", files: Files, leftovers: Leftovers) -> None:
        self.keeper = keeper
        self.files = files
        self.leftovers = leftovers
        self.arrivals = Arrivals()
        self.note_ns: int | None = None  # time of the next check for new shared memory
        self.next_note_ns = 0  # the first check is immediate
        self.mark = (MARK, request["environment"].get(MARK, ""))
        self.grace_s: float = request["grace_s"]
        self.output_limit_bytes: int = request["output_limit_bytes"]
        self.passed = 0  # last signal forwarded to the launch
        self.ended = ""  # reason why the keeper ended it: "", "timed out", "interrupted", "output", EARLY
        self.request = request
        self.sampler: Sampler | None = None
        if request["observe"]:
            # Imported on demand: its imports cost as much as a fork.
            from mpiric.host.processes import sampling

            self.sampler = sampling.Sampler(os.getpid(), request["environment"], self.mark)

    def to_the_end(self, tree: Tree, started_ns: int) -> "Message":
        """Wait for the launch, check time and output, clean up; return the result as a message."""
        self.tree = tree
        self.started_ns = started_ns
        limit_s = self.request["limit_s"]
        self.deadline_ns = started_ns + int(limit_s * 1e9) if limit_s is not None else None
        self.next_sample_ns = started_ns + int(self.sampler.first_s * 1e9) if self.sampler else None
        ended_ns = self._wait()
        states = self._states()
        self._note()
        strays: list[str] = []
        if not self.ended:
            strays = self.tree.wait_for_helpers(self.keeper.wakeup, _PATIENCE_S)
        stuck = tree.end(self.keeper.wakeup, self._grace, self.mark) if self.ended or strays else []
        # A program that ends through MPI_Abort may leave as much behind as a failed one, with status 0.
        if self.ended or self.tree.status != 0 or self.request["ends_itself"]:
            self.leftovers.remove(self.tree.pids)
        return {
            "started_ns": self.started_ns,
            "wall_s": (ended_ns - self.started_ns) / 1e9,
            "status": os.waitstatus_to_exitcode(tree.status) if tree.status is not None else None,
            "ended": self.ended,
            "passed": self.passed,
            "strays": strays,
            "stuck": stuck,
            "output_bytes": self.files.written_bytes(),
            "user_s": tree.user_s,
            "system_s": tree.system_s,
            "minor_faults": tree.minor_faults,
            "major_faults": tree.major_faults,
            "voluntary_switches": tree.voluntary_switches,
            "involuntary_switches": tree.involuntary_switches,
            "rss_peak_bytes": tree.rss_peak_bytes,
            "ranks": self.sampler.report(tree) if self.sampler else [],
            "states": states,
        }

    def _states(self) -> "Message":
        """Return the states of the ranks of a launch that did not end in time."""
        if self.ended != "timed out" and not (self.ended == EARLY and self.request["observe"]):
            return {}
        from dataclasses import asdict  # imported on demand, like sampling

        from mpiric.host.processes.process_state import launch_states

        pids = {*descendants(os.getpid()), *carrying(*self.mark)}
        states = launch_states(pids, self.request["environment"])
        return {key: asdict(state) for key, state in states.items()}

    def _wait(self) -> int:
        """Return the time (CLOCK_MONOTONIC in ns) when the launch ended or its termination was decided."""
        keeper, poller = self.keeper, select.poll()
        poller.register(keeper.wakeup.descriptor, select.POLLIN)
        poller.register(keeper.inbox.descriptor, select.POLLIN)
        if self.arrivals.descriptor >= 0:
            poller.register(self.arrivals.descriptor, select.POLLIN)
        tick_ns = self.started_ns + int(_TICK_S * 1e9)
        while True:
            times = (tick_ns, self.deadline_ns, self.next_sample_ns, self.note_ns)
            wake_ns = min(at for at in times if at is not None)
            ready = dict(poller.poll(max(0.0, (wake_ns - time.monotonic_ns()) / 1e6)))
            now_ns = time.monotonic_ns()  # first statement, because it may be the end of the measurement
            self.tree.reap()
            if self.tree.status is not None:
                return now_ns
            received = keeper.wakeup.hear()
            if received & {signal.SIGTERM, signal.SIGHUP}:
                keeper.is_stopping = True
            if keeper.inbox.descriptor in ready:
                self._listen()
            self._note_arrivals(now_ns, is_any=self.arrivals.descriptor in ready and self.arrivals.take())
            if keeper.is_stopping or keeper.inbox.closed:
                self.ended = "interrupted"
            elif self.deadline_ns is not None and now_ns >= self.deadline_ns:
                self.ended = "timed out"
            elif now_ns >= tick_ns:
                tick_ns = now_ns + int(_TICK_S * 1e9)
                if self.files.written_bytes() > self.output_limit_bytes:
                    self.ended = "output"
            if self.ended:
                return now_ns
            self._sample(now_ns)

    def _note_arrivals(self, now_ns: int, *, is_any: bool) -> None:
        if is_any and self.note_ns is None:
            self.note_ns = max(now_ns, self.next_note_ns)
        if self.note_ns is not None and now_ns >= self.note_ns:
            self.note_ns = None
            self._note()

    def _note(self) -> None:
        """Record the shared memory of the launch while its processes use it."""
        if not self.leftovers.note(descendants(os.getpid())):
            self.leftovers.note(carrying(*self.mark))  # ranks that srun has started
        self.next_note_ns = time.monotonic_ns() + int(_NOTE_EVERY_S * 1e9)

    def _grace(self) -> float:
        """Return the seconds between SIGTERM and SIGKILL; a second Ctrl-C shortens them."""
        inbox = self.keeper.inbox
        if not inbox.closed and select.select([inbox.descriptor], [], [], 0)[0]:
            self._listen()
        return self.grace_s

    def _listen(self) -> None:
        self.keeper.inbox.read()
        while (message := self.keeper.inbox.take()) is not None:
            if "signal" in message and self.tree.status is None:
                self.passed = message["signal"]
                signal_one(self.tree.pid, self.passed)
            if "stop" in message:
                self.ended = message.get("why", "interrupted")
                self.grace_s = min(self.grace_s, message["stop"])

    def _sample(self, now_ns: int) -> None:
        if self.sampler is None or self.next_sample_ns is None or now_ns < self.next_sample_ns:
            return
        pause_s = self.sampler.sample((now_ns - self.started_ns) / 1e9)
        if self.request["tell"]:
            self.keeper.answer({"seen": self.sampler.seen()})
        self.next_sample_ns = time.monotonic_ns() + int(pause_s * 1e9)


def main() -> None:
    """Serve requests on descriptor 0 and answer on 1."""
    requests, answers = os.dup(0), os.dup(1)  # not inheritable, unlike 0 and 1
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    adopt_orphans()
    Keeper(requests, answers).serve()
    sys.exit(0)


if __name__ == "__main__":
    main()
