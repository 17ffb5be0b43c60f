"""The log of a submission, passed on line by line."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mpiric.host.files import exists
from mpiric.schedulers import Patience


class RelayedLog:
    """Passes on what a log gains from now on, whole lines alone."""

    def __init__(self, path: Path, relay: Callable[[str], None]) -> None:
        self._path, self._relay = path, relay
        self._read_bytes = path.stat().st_size if exists(path) else 0

    def relay(self) -> list[str]:
        """Pass on the new lines, and return them."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read_bytes)
                new = file.read()
        except OSError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        lines = whole.decode(errors="replace").splitlines()
        for line in lines:
            self._relay(line)
        return lines

    def relay_while(self, patience: Patience, end_words: Sequence[str] = ()) -> Callable[[float], None]:
        """A sleep during which new lines are passed on; one with ``end_words`` of the scheduler ends it."""

        def sleep(seconds: float) -> None:
            until = patience.clock() + seconds
            while (left := until - patience.clock()) > 0:
                patience.sleep(min(left, 1.0))
                if any(word in line for line in self.relay() for word in end_words):
                    return

        return sleep
