"""Signals as events to wait for, so that they cannot interrupt a message or a clean-up."""

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

Handler = Callable[[int, FrameType | None], Any] | int | None


PASSED_ON = (signal.SIGUSR1, signal.SIGUSR2)  # warnings of batch systems, intended for the launch


class Interrupts:
    """Counter of SIGINT and collector of ``PASSED_ON`` signals; each signal makes ``descriptor`` readable.

    It has no effect outside the main thread, because Python delivers signals to the main thread.
    """

    def __init__(self) -> None:
        self.count = 0
        self._passed: list[int] = []
        self.descriptor, self._writing = os.pipe()
        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._writing, False)
        self._in_charge = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> "Interrupts":
        if self._in_charge:
            self._before = {
                number: signal.signal(number, self._note) for number in (signal.SIGINT, *PASSED_ON)
            }
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._in_charge:
            for number, handler in self._before.items():
                put_back(number, handler)
        os.close(self.descriptor)
        os.close(self._writing)

    def hear(self) -> None:
        """Read the events that made the descriptor readable."""
        try:
            os.read(self.descriptor, 4096)
        except BlockingIOError:
            return

    def take_passed(self) -> list[int]:
        """Return the numbers of signals to forward that arrived since the last call."""
        passed, self._passed = self._passed, []
        return passed

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if number == signal.SIGINT:
            self.count += 1
        else:
            self._passed.append(number)
        try:
            os.write(self._writing, b"!")
        except BlockingIOError:
            return


def put_back(number: int, handler: Handler) -> None:
    """Restore a handler that ``signal.signal`` returned."""
    # None: handler of a C library in this process (UCX has some), which cannot be restored from here.
    signal.signal(number, signal.SIG_DFL if handler is None else handler)
