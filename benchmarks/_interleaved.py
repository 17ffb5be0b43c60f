"""Several commands in turns: every round runs each once, in random order, so that drift hits all alike."""

import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from mpiric.host.processes.execution import Runner, Workspace
from mpiric.model.errors import ProgramFailedError
from mpiric.model.job import Launch
from mpiric.model.run import Outcome

_LIMIT_S = 120.0  # time limit of one run


def launch(
    argv: list[str], environment: Mapping[str, str] | None = None, unset: tuple[str, ...] = ()
) -> Launch:
    """Return a command with changes of the environment."""
    return Launch(tuple(argv), "", dict(environment or {}), unset)


def in_turns(
    launches: Mapping[str, Launch],
    environment: Mapping[str, str],
    rounds: int,
    seed: int = 0,
    equal: str = "",
) -> dict[str, list[float]]:
    """Return name → wall times in seconds, one per round. The first round warms up and is not counted.

    ``equal`` is a regular expression: its matches in the output must be the same in all runs. Raises
    ProgramFailedError for the first run that fails or differs.
    """
    times: dict[str, list[float]] = {name: [] for name in launches}
    expected: list[str] = []
    random = Random(f"benchmarks {seed}")
    with TemporaryDirectory(prefix="mpiric-bench-") as place, Runner() as runner:
        for count in range(rounds + 1):
            names = list(launches)
            random.shuffle(names)
            for name in names:
                wall_s = _wall_s(runner, launches[name], environment, Path(place))
                matches = _matches(equal, Path(place)) if equal else []
                expected = expected or matches
                if matches != expected or (equal and not matches):
                    raise ProgramFailedError(f"{name}: the output has {matches}, not {expected}")
                if count:
                    times[name].append(wall_s)
    return times


def _matches(pattern: str, place: Path) -> list[str]:
    """Return the sorted matches in the output of the last run; ranks print in any order."""
    text = "".join((place / stream).read_text(errors="replace") for stream in ("stdout", "stderr"))
    return sorted(re.findall(pattern, text))


def _wall_s(runner: Runner, launch: Launch, environment: Mapping[str, str], place: Path) -> float:
    out, err = place / "stdout", place / "stderr"
    execution = runner.execute(launch, environment, Workspace(place, out, err), _LIMIT_S)
    if execution.outcome is not Outcome.OK:
        message = err.read_text(errors="replace").strip()[-300:]
        raise ProgramFailedError(
            f"{launch.shell_line()}: {execution.reason or execution.outcome.value}: {message}"
        )
    return execution.wall_s
