"""Ctrl-C as something to wait for, so that it never tears a message or a clean-up apart."""

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

Handler = Callable[[int, FrameType | None], Any] | int | None


class Interrupts:
    """Counts SIGINT while it is entered; ``descriptor`` becomes readable with each.

    In another thread than the main one it counts nothing: Python delivers signals to the main thread.
    """

    def __init__(self) -> None:
        self.count = 0
        self.descriptor, self._writing = os.pipe()
        os.set_blocking(self.descriptor, False)
        os.set_blocking(self._writing, False)
        self._in_charge = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> "Interrupts":
        if self._in_charge:
            self._before = signal.signal(signal.SIGINT, self._count)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._in_charge:
            put_back(signal.SIGINT, self._before)
        os.close(self.descriptor)
        os.close(self._writing)

    def hear(self) -> None:
        """Take notice of what made the descriptor readable."""
        try:
            os.read(self.descriptor, 4096)
        except BlockingIOError:
            return

    def _count(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.count += 1
        try:
            os.write(self._writing, b"!")
        except BlockingIOError:
            return


def put_back(number: int, handler: Handler) -> None:
    """Restore the handler that ``signal.signal`` gave back when it set another."""
    # None: of a library in this process (UCX has some), which cannot be put back from here.
    signal.signal(number, signal.SIG_DFL if handler is None else handler)
