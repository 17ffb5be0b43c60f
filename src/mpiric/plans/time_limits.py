"""Time limits of runs: a run that takes longer counts as hanging, and is ended."""

from mpiric.model.dataclass import dataclass


@dataclass(frozen=True)
class TimeLimit:
    """Multiple of the time of earlier runs, plus a slack for work that does not grow with the program."""

    times: float
    slack_s: float

    def after(self, run_s: float) -> float:
        """Return the limit in seconds, if earlier runs took ``run_s``."""
        return self.times * run_s + self.slack_s


UNCHANGED = TimeLimit(4.0, 5.0)  # runs of the unchanged command differ by other load and by its start-up
RECORDED = TimeLimit(4.0, 10.0)  # ranks also write and merge their records
TO_MARKER = TimeLimit(10.0, 30.0)  # the time until the step marker is known from a single run
LEARNING = TimeLimit(10.0, 10.0)  # the runtime also tries slow algorithms of collectives
BENCHMARKED = TimeLimit(4.0, 5.0)  # algorithms that are much slower than the library's choice are of no use
PROVED = TimeLimit(4.0, 5.0)  # so are configurations that are much slower than the original
COMPLETE = TimeLimit(4.0, 30.0)  # a complete run after trials that ended at a marker also ends the program
