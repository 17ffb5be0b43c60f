"""Consoles with the colours and the width of the terminal, and progress of long work on them."""

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console, ConsoleOptions, RenderableType
from rich.live import Live
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from mpiric.cli._logging import SHOWN
from mpiric.cli._streams import raw
from mpiric.model.errors import Finding
from mpiric.model.quoting import printable
from mpiric.model.run import Narrator, Outcome, Phase, Trial
from mpiric.plans.prove import STOP_AT

WIDTH_OF_FILES = 110  # rich narrows tables to 80 columns where the width is unknown


class PrintableConsole(Console):
    """A console whose only control sequences are its own: text is escaped, and never taken for markup."""

    def __init__(self, *, to_stderr: bool = False, width: int | None = None) -> None:
        stream = raw(sys.stderr if to_stderr else sys.stdout)
        super().__init__(file=stream, width=width, highlight=False, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render with the control characters of the text as visible escapes."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def stdout_console(width: int | None = WIDTH_OF_FILES) -> Console:
    """Make the console of stdout, without colours when stdout is not a terminal or NO_COLOR is set.

    ``width`` applies to files and pipes, unless COLUMNS is set.
    """
    is_known = sys.stdout.isatty() or os.environ.get("COLUMNS")
    return PrintableConsole(width=None if is_known else width)


def stderr_console(width: int | None = None) -> Console:
    """Make the console of stderr; ``width`` applies to files and pipes."""
    return PrintableConsole(to_stderr=True, width=None if sys.stderr.isatty() else width)


@contextmanager
def status_line(title: str = "", console: Console | None = None) -> Iterator[Callable[[str], None]]:
    """Show a line on a terminal's stderr during the work. Yields a function that replaces its text."""
    with (console or stderr_console()).status(Text(title)) as status:
        yield lambda text: status.update(Text(text))


LOG = logging.getLogger(__package__)


class Progress(Narrator):
    """Prints progress lines."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or stderr_console()
        self._live: Live | None = None
        self._runs = 0
        self._best: float | None = None

    def __enter__(self) -> "Progress":
        if self._console.is_terminal:
            self._live = Live(console=self._console, transient=True, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def phase(self, title: str) -> None:
        """Print the title of the next phase."""
        LOG.info("%s", title, extra=SHOWN)
        self._console.print(Text(title, style="bold"))

    def say(self, text: str) -> None:
        """Print a line."""
        self._line_of(Text(f"  {text}"))

    def found(self, finding: Finding) -> None:
        """Print a finding."""
        self._line_of(Text(f"  ! {finding.says} ({finding.evidence})", style="yellow"))

    def trial(self, trial: Trial, best: float | None, remaining_s: float) -> None:
        """Update the live line on a terminal, or print a line."""
        self._runs = trial.number or self._runs + 1  # number in the log, which also counts repeated runs
        self._best = best
        if self._live is not None:
            self._live.update(self._line(trial, remaining_s))
        else:
            self._line_of(Text(f"  run {self._runs}: {_summary(trial)}"))

    def _line_of(self, text: Text) -> None:
        """Print a message, wrapped on a terminal only: in the output of a job, a message is one line."""
        LOG.info("%s", text.plain.strip(), extra=SHOWN)
        self._console.print(text, soft_wrap=not self._console.is_terminal)

    def _line(self, trial: Trial, remaining_s: float) -> Table:
        table = Table.grid(padding=(0, 2))
        best = f"best {self._best:.4g}" if self._best is not None else ""
        time_left = (
            f"{max(0, int(remaining_s)) // 60}:{max(0, int(remaining_s)) % 60:02d} left"
            if remaining_s < 1e6
            else ""
        )
        run = Text(f"  run {self._runs}", style="bold")
        table.add_row(run, Text(best, style="green"), time_left, Text(_summary(trial)))
        return table


def _summary(trial: Trial) -> str:
    if trial.outcome is Outcome.OK and trial.objective is not None:
        return f"{trial.objective:.4g}  {trial.configuration}"
    if trial.phase is Phase.PROOF and trial.at_least is not None:
        other = "tuned" if not trial.configuration else "original"
        return f"> {trial.at_least:.3g} s (stopped at {STOP_AT:g}x the {other} run)  {trial.configuration}"
    return f"{trial.outcome.value}  {trial.configuration}  {trial.reason}"
