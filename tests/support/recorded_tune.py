"""Complete tunes on a recorded machine, with a scripted runner: nothing is run, and no time passes."""

from dataclasses import dataclass, field
from pathlib import Path

from tests.support.replay_host import ReplayHost
from tests.support.scripted_runner import ScriptedRunner

from mpiric.model.run import Narrator, Trial
from mpiric.model.situation import RankSeen
from mpiric.model.tuned import Tuned
from mpiric.tuning.events import read_log
from mpiric.workflows.tune.tune import TuneRequest, tune

MACHINE = Path(__file__).parents[1] / "data/machines/debian12.json"
PROGRAM = "/usr/bin/lmp"
COMMAND = ("mpirun.openmpi", "-n", "2", PROGRAM)
KNOBS = ("binding", "malloc", "huge-pages")  # subset of the knobs that apply to this machine
LIBRARIES = ("/usr/lib/x86_64-linux-gnu/libmpi.so.40", "/lib/x86_64-linux-gnu/libc.so.6")


def rank(number: int, rss_peak_bytes: int = 1 << 30) -> RankSeen:
    """Return a rank of the original program, free to run on both cores."""
    return RankSeen(number, PROGRAM, (0, 1), 1, 5.0, 0.1, 500, 0, 10, 10, rss_peak_bytes, 0, LIBRARIES)


@dataclass
class RecordedTune:
    """Tune of a command in a separate directory; the store is kept between calls."""

    place: Path
    runner: ScriptedRunner = field(default_factory=lambda: ScriptedRunner(ranks=(rank(0), rank(1))))
    command: tuple[str, ...] = COMMAND

    def __call__(self, **options: object) -> Tuned:
        """Run the workflow; ``options`` are fields of the request."""
        work = self.place / "work"
        work.mkdir(exist_ok=True)
        host = ReplayHost.load(MACHINE)
        # The record is of another program than the script, so that it must not exclude knobs by default.
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
            Narrator(),
            self.runner,
        )

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Return all trials of the store, in order."""
        (path,) = (self.place / "store").glob("*/events.jsonl")
        return read_log(path).trials
