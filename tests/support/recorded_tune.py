"""The whole of a tune on a machine that was recorded, by a runner that follows a script: no run, no time."""

from dataclasses import dataclass, field
from pathlib import Path

from tests.support.replay_host import ReplayHost
from tests.support.scripted_runner import ScriptedRunner

from mpiric.model.narrator import Silence
from mpiric.model.situation import RankSeen
from mpiric.model.trial import Trial
from mpiric.model.tuned import Tuned
from mpiric.tuning.store.events import read_log
from mpiric.workflows.tune.tune import TuneRequest, tune

MACHINE = Path(__file__).parents[1] / "data/machines/debian12.json"
PROGRAM = "/usr/bin/lmp"
COMMAND = ("mpirun.openmpi", "-n", "2", PROGRAM)
KNOBS = ("binding", "malloc", "huge-pages")  # of those that apply there
LIBRARIES = ("/usr/lib/x86_64-linux-gnu/libmpi.so.40", "/lib/x86_64-linux-gnu/libc.so.6")


def rank(number: int, rss_peak_bytes: int = 1 << 30) -> RankSeen:
    """One rank of the program as it is, free to run on both cores."""
    return RankSeen(number, PROGRAM, (0, 1), 1, 5.0, 0.1, 500, 0, 10, 10, rss_peak_bytes, 0, LIBRARIES)


@dataclass
class RecordedTune:
    """Tunes a command in a directory of its own; the store stays from one call to the next."""

    place: Path
    runner: ScriptedRunner = field(default_factory=lambda: ScriptedRunner(ranks=(rank(0), rank(1))))
    command: tuple[str, ...] = COMMAND

    def __call__(self, **options: object) -> Tuned:
        """Run the workflow; ``options`` are of the request."""
        work = self.place / "work"
        work.mkdir(exist_ok=True)
        host = ReplayHost.load(MACHINE)
        # What a record says is of another program than the script's: it decides on nothing unless asked to.
        request = {
            "try_all": True,
            "only": KNOBS,
            "budget_s": 3600.0,
            "store": self.place / "store",
            **options,
        }
        return tune(
            TuneRequest(self.command, str(work), {"PATH": "/usr/bin:/bin"}, **request),  # type: ignore[arg-type]
            host,
            Silence(),
            self.runner,
        )

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All that is in the store, in order."""
        (path,) = (self.place / "store").glob("*/events.jsonl")
        return read_log(path).trials
