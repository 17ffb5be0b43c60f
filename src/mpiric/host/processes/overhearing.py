"""Listening to the standard output of a launch in the foreground, which goes where it would go anyway."""

import os
import select
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

Listener = Callable[[bytes], None]

_PIECE = 1 << 16
_LINGER_S = 0.2  # for what is still under way when the launcher is gone
_MOST_READ = 1 << 30  # of a file behind a run: more is not looked at


class Overhearing:
    """One launch's output. A file is read behind the launch; what goes elsewhere passes through a pipe.

    Nothing is overheard of a program that writes to the terminal itself: it would behave otherwise.
    """

    def __init__(self, listener: Listener | None, *, through_launcher: bool) -> None:
        self._listener = listener
        self._begin: int | None = None
        self._pipe: tuple[int, int] | None = None
        self._thread: threading.Thread | None = None
        self._is_over = threading.Event()
        if listener is None:
            return
        try:
            mode = os.fstat(sys.stdout.fileno()).st_mode
        except (OSError, ValueError):
            return  # closed
        if stat.S_ISREG(mode):
            self._begin = os.lseek(sys.stdout.fileno(), 0, os.SEEK_END)
        elif through_launcher or stat.S_ISFIFO(mode):
            self._pipe = os.pipe()

    @property
    def stdout(self) -> int | None:
        """What the launch gets as its standard output; None for that of this process."""
        return self._pipe[1] if self._pipe else None

    def begin(self) -> None:
        """Listen, the launch having been started."""
        if self._pipe is not None:
            os.close(self._pipe[1])
            self._thread = threading.Thread(target=self._pass_on, daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Take in the rest, the launch being over."""
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
        elif self._begin is not None and self._listener is not None:
            self._read_file()

    def _pass_on(self) -> None:
        assert self._pipe is not None
        assert self._listener is not None
        descriptor = self._pipe[0]
        try:
            while True:
                ready, _, _ = select.select([descriptor], [], [], _LINGER_S)
                if not ready and self._is_over.is_set():
                    return  # something that outlives the launcher holds the pipe
                piece = os.read(descriptor, _PIECE) if ready else None
                if piece == b"":
                    return
                if piece:
                    self._listener(piece)
                    _write_all(sys.stdout.fileno(), piece)
        except OSError:
            return  # nobody reads our output any more: the launcher is to notice by its own next write
        finally:
            os.close(descriptor)

    def _read_file(self) -> None:
        assert self._begin is not None
        assert self._listener is not None
        with suppress(OSError):
            descriptor = os.open(f"/proc/self/fd/{sys.stdout.fileno()}", os.O_RDONLY | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                file.seek(self._begin)
                left = _MOST_READ
                while left > 0 and (piece := file.read(min(left, 1 << 20))):
                    self._listener(piece)
                    left -= len(piece)


def _write_all(descriptor: int, piece: bytes) -> None:
    while piece:
        piece = piece[os.write(descriptor, piece) :]
