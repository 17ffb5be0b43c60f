"""Which attempt of `mpiric build` is the fastest, proved by fresh pairs of runs."""

import math
import random
import statistics
from collections.abc import Callable, Sequence

from mpiric.host.toolchain import Toolchain
from mpiric.tuning.proof.confidence_sequence import centre, median_interval
from mpiric.workflows.build.attempt import Attempt, BuildRequest, run_attempt

WORTH_SAYING = 1.01  # a smaller gain is not recommended
ERROR = 0.05  # of calling something faster that is not
_FRESH = 6  # fresh pairs for each timed run of the choice, at most


def time_interleaved(
    request: BuildRequest,
    right: Sequence[Attempt],
    toolchain: Toolchain,
    limit_s: float,
    watch: Callable[[str], None],
) -> None:
    """Time the programs in rounds, each in random order, and rate them by their pairs with the first."""
    for number in range(request.repeats):
        watch(f"timing {len(right)} programs, round {number + 1} of {request.repeats}")
        for attempt in random.sample(list(right), len(right)):
            attempt.seconds.append(run_attempt(request, attempt, toolchain, limit_s)[1])
    for attempt in right:
        pairs = zip(right[0].seconds, attempt.seconds, strict=True)
        attempt.ratio = statistics.median(first / own for first, own in pairs) if attempt.seconds else None


def proved_fastest(
    request: BuildRequest, attempts: Sequence[Attempt], toolchain: Toolchain, limit_s: float
) -> tuple[Attempt | None, str]:
    """The fastest right one when fresh pairs prove it, else the first; and what they showed.

    The best of many looks better than it is, so the pairs that chose it do not count for it.
    """
    timed = [attempt for attempt in attempts if attempt.ratio is not None]
    if not timed:
        return next((attempt for attempt in attempts if attempt.agrees), None), ""
    first, best = timed[0], max(timed, key=lambda attempt: attempt.ratio or 0.0)
    if best is first:
        return first, f"none was faster than {first.label}"
    fresh: list[float] = []
    low, high = 0.0, math.inf
    while len(fresh) < _FRESH * request.repeats and low < WORTH_SAYING <= high:
        seconds = {
            a.label: run_attempt(request, a, toolchain, limit_s)[1] for a in random.sample([first, best], 2)
        }
        fresh.append(seconds[first.label] / seconds[best.label])
        low, high = median_interval(fresh, ERROR)
    best.ratio = centre(fresh)
    if low >= WORTH_SAYING:
        return (
            best,
            f"{best.label} is {best.ratio:.3f} times as fast as {first.label}: {len(fresh)} fresh pairs",
        )
    return first, f"no difference shown in {len(fresh)} fresh pairs between {first.label} and {best.label}"
