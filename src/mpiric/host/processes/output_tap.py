"""Copies of a foreground launch's output for a listener; the output itself is unchanged."""

import os
import select
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

Listener = Callable[[bytes], None]

_PIECE = 1 << 16
_LINGER_S = 0.2  # wait for data in transit after the end of the launcher
_MOST_READ = 1 << 30  # limit for the output in a file


class OutputTap:
    """Listener on one stream of a launch, standard output by default.

    A file is read after the launch, other output passes a pipe.

    The output of a program that writes directly to the terminal is not copied, because a pipe would change
    its behaviour.
    """

    def __init__(
        self, listener: Listener | None, *, through_launcher: bool, stream: TextIO | None = None
    ) -> None:
        self._listener = listener
        self._stream = stream or sys.stdout
        self._begin: int | None = None
        self._pipe: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None
        self._is_over = threading.Event()
        if listener is None:
            return
        try:
            mode = os.fstat(self._stream.fileno()).st_mode
        except (OSError, ValueError):
            return  # closed
        if stat.S_ISREG(mode):
            self._begin = os.lseek(self._stream.fileno(), 0, os.SEEK_END)
        elif through_launcher or stat.S_ISFIFO(mode):
            self._pipe = os.pipe()

    @property
    def descriptor(self) -> int | None:
        """Return the stream for the launch; None to inherit it."""
        return self._pipe[1] if self._pipe else None

    def begin(self) -> None:
        """Start to listen, after the launch was started."""
        if self._pipe is not None:
            os.close(self._pipe[1])
            self._thread = threading.Thread(target=self._pass_on, daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Process the remaining output, after the launch has ended."""
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
        elif self._begin is not None and self._listener is not None:
            assert self._begin is not None
            assert self._listener is not None
            with suppress(OSError):
                descriptor = os.open(f"/proc/self/fd/{self._stream.fileno()}", os.O_RDONLY | os.O_CLOEXEC)
                with os.fdopen(descriptor, "rb") as file:
                    file.seek(self._begin)
                    remaining_bytes = _MOST_READ
                    while remaining_bytes > 0 and (piece := file.read(min(remaining_bytes, 1 << 20))):
                        self._listener(piece)
                        remaining_bytes -= len(piece)

    def _pass_on(self) -> None:
        assert self._pipe is not None
        assert self._listener is not None
        descriptor = self._pipe[0]
        try:
            while True:
                ready, _, _ = select.select([descriptor], [], [], _LINGER_S)
                if not ready and self._is_over.is_set():
                    return  # a process that outlives the launcher holds the pipe
                piece = os.read(descriptor, _PIECE) if ready else None
                if piece == b"":
                    return
                if piece:
                    self._listener(piece)
                    _write_all(self._stream.fileno(), piece)
        except OSError:
            return  # the reader of the output is gone: the launcher notices at its next write
        finally:
            os.close(descriptor)


def _write_all(descriptor: int, piece: bytes) -> None:
    while piece:
        piece = piece[os.write(descriptor, piece) :]
