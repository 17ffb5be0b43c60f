"""Log of mpiric, controlled by `mpiric -v`, `-vv` and `--log-file`.

Each package logs to the logger of its name. INFO has each command that is started, each decision with its
reason and each file that is written. DEBUG has environments, ends of commands and answers from the cache.
"""

import io
import logging
import os
import sys
from pathlib import Path

from mpiric.model.errors import writing

_FILE_FORMAT = "%(asctime)s.%(msecs)03d %(levelname)s %(name)s: %(message)s"
_SCREEN_FORMAT = "[%(seconds).2f s] %(name)s: %(message)s"
_LEVELS = {0: logging.NOTSET, 1: logging.INFO}
SHOWN = {"shown": True}  # `extra` of a record whose message the user sees anyway


class _Screen(logging.Handler):
    """Write records to the current standard error, which progress lines may have replaced."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Leave out messages that are on the screen already."""
        return not getattr(record, "shown", False) and bool(super().filter(record))

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record as one line."""
        record.seconds = record.relativeCreated / 1000
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except (OSError, ValueError):  # standard error was closed
            logging.getLogger("mpiric").removeHandler(self)


class _File(logging.FileHandler):
    """Append records to a file; a file that can no longer be written ends the log, not the command."""

    def _open(self) -> io.TextIOWrapper:
        from mpiric.host.owned_files import open_output  # only a log needs it

        descriptor = open_output(self.baseFilename)
        return io.TextIOWrapper(os.fdopen(descriptor, "ab"), encoding=self.encoding, errors=self.errors)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 name of the base class
        """Stop logging to the file."""
        logging.getLogger("mpiric").removeHandler(self)
        print(f"mpiric: {self.baseFilename} can no longer be written: the log is incomplete", file=sys.stderr)
        del record


def configure(verbosity: int, path: Path | None) -> None:
    """Send the log to standard error (1: INFO, 2: DEBUG) and to a file (DEBUG).

    Raises NoRoomError for a file that cannot be written.
    """
    logger = logging.getLogger("mpiric")
    if verbosity:
        screen = _Screen(_LEVELS.get(verbosity, logging.DEBUG))
        screen.setFormatter(logging.Formatter(_SCREEN_FORMAT))
        logger.addHandler(screen)
    if path is not None:
        with writing(path, "name another file with --log-file"):
            file = _File(path.absolute(), encoding="utf-8", errors="backslashreplace")
        file.setFormatter(logging.Formatter(_FILE_FORMAT, "%Y-%m-%dT%H:%M:%S"))
        logger.addHandler(file)
    if logger.handlers:
        logger.setLevel(logging.DEBUG if path is not None or verbosity > 1 else logging.INFO)
        logger.propagate = False
        from mpiric.host.command_log import shown_command  # needed for a log only

        logger.info("mpiric called as: %s", shown_command(sys.argv))
