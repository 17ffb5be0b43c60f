"""The log of a submission, relayed line by line."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mpiric.host.files import exists
from mpiric.schedulers import Patience


class RelayedLog:
    """Relay for lines that are added to a log from now on; only complete lines."""

    def __init__(self, path: Path, relay: Callable[[str], None]) -> None:
        self._path, self._relay = path, relay
        self._read_bytes = path.stat().st_size if exists(path) else 0

    def relay(self) -> list[str]:
        """Relay the new lines, and return them."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read_bytes)
                new = file.read()
        except OSError:
            return []
        complete = new[: new.rfind(b"\n") + 1]
        self._read_bytes += len(complete)
        lines = complete.decode(errors="replace").splitlines()
        for line in lines:
            self._relay(line)
        return lines

    def relay_while(self, patience: Patience, end_words: Sequence[str] = ()) -> Callable[[float], None]:
        """Return a sleep function that relays new lines; a line with ``end_words`` ends it."""

        def sleep(seconds: float) -> None:
            until = patience.clock() + seconds
            while (remaining_s := until - patience.clock()) > 0:
                patience.sleep(min(remaining_s, 1.0))
                if any(word in line for line in self.relay() for word in end_words):
                    return

        return sleep
