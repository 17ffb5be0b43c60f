"""Repeated measurement of the library's default transports, compared with a stored `mpiric fabric` result."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path

from mpiric.fabric.verdict import typical_us
from mpiric.host.files import LARGEST_TEXT_BYTES, read_bounded
from mpiric.host.host import Host
from mpiric.lab.lab import drive
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.fabric import PairClass, Probe
from mpiric.model.json_text import parse_json
from mpiric.model.situation import Allowed
from mpiric.tuning.proof.regression import Regression, compare_days, runs_needed
from mpiric.workflows.fabric.bench import probe_route
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.trials.expected import expected_situation
from mpiric.workflows.trials.users_lab import users_lab

_HINT = "keep one: mpiric fabric --keep 6 --json -- CMD > FILE"


def fabric_baseline(probes: Sequence[Probe]) -> dict[PairClass, tuple[float, ...]]:
    """Return one number per run for each class of pairs: the geometric mean over message sizes, in µs."""
    classes = [c for c in PairClass if probes and c in probes[0].points]
    return {c: tuple(typical_us(probe, c) for probe in probes if c in probe.points) for c in classes}


def against_fabric(
    path: Path,
    argv: Sequence[str],
    working_directory: str,
    host: Host,
    say: Callable[[str], None],
    confidence: float,
    minimum_effect: float,
) -> Mapping[PairClass, Regression]:
    """Return the comparison with a stored result for each class. Raises MpiricError without a baseline."""
    then = _read(path)
    runs = max(filter(None, (runs_needed(len(values), confidence) for values in then.values())), default=None)
    if runs is None:
        raise MpiricError(
            f"{path} has too few runs to compare with at this confidence",
            hint="keep one with more: mpiric fabric --keep 6 --json -- CMD > FILE",
        )
    parsed = parse_job(argv, host, working_directory, dict(host.environ))
    situation = expected_situation(parsed, host, Allowed())
    probes: list[Probe] = []
    with users_lab(situation, host) as lab:
        for number in range(runs):
            say(f"measuring again, {number + 1} of {runs}")
            route, _ = drive(probe_route(Configuration(), situation, host), lab.measure)
            if route.refused:
                raise MpiricError(f"messages cannot be measured: {route.refused}")
            probes += route.probes
    now = fabric_baseline(probes)
    return {c: compare_days(then[c], now[c], confidence, minimum_effect) for c in then if c in now}


def _read(path: Path) -> dict[PairClass, tuple[float, ...]]:
    try:
        stored = parse_json(read_bounded(path, "baseline", LARGEST_TEXT_BYTES, _HINT))["baseline_us"]
        baseline = {
            PairClass(name): tuple(float(value) for value in values) for name, values in stored.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise MpiricError(f"{path} is not a baseline of `mpiric fabric`: {error!r}", hint=_HINT) from None
    if not baseline or any(not 0 < value < inf for values in baseline.values() for value in values):
        raise MpiricError(f"{path} holds no times", hint="keep one: mpiric fabric --keep 6 --json -- CMD")
    return baseline
