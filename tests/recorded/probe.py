"""Scripted probe of a sweep: times depend on the algorithm that the environment selects."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from tests.recorded.world import World

from mpiric.host.host import Completed

_CHOICES = ("_algorithm", "MPIRIC_POLICY", "MPIRIC_COLLECTIVES")  # parts of the variables that choose
_EXPORTED = ("rules_filename", "JSON_FILE")  # parts of the variables that name an exported file


def with_probe(seconds_of: Mapping[str, float], *, wrong: str = "", fails: str = "") -> Any:
    """Return an action: launches report the library's time multiplied by the factor of the selected value.

    With an exported file, that is the smallest factor. The candidate with the value ``wrong`` has wrong
    results, the candidate with the value ``fails`` fails.
    """

    def act(world: World) -> None:
        for family in ("openmpi", "mpich"):
            for part in ("probe-collectives", "probe-mpi"):
                path = world.place / "native" / family / part
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"")

        def answer(
            argv: Sequence[str], *, environment: Mapping[str, str | None] | None = None, **_: Any
        ) -> Completed | None:
            if argv[-1] == "identity":
                return Completed(0, '{"host": "n1"}\n' * 2, "")
            if not any(Path(word).name == "probe-collectives" for word in argv):
                return None
            chosen = {
                value
                for name, value in (environment or {}).items()
                if value and any(part in name for part in _CHOICES)
            }
            is_exported = any(
                value and any(part in name for part in _EXPORTED)
                for name, value in (environment or {}).items()
            )
            first = next(index for index, word in enumerate(argv) if word.endswith("probe-collectives"))
            rows = []
            for word in argv[first + 2 :]:
                collective, ranks, per_node, size = word.split(":")
                factor = min((seconds_of[value] for value in chosen if value in seconds_of), default=1.1)
                if is_exported:
                    factor = min(seconds_of.values(), default=1.0)
                random = Random(f"{word} {sorted(chosen)} {len(world.program.launches)}")
                median_s = 1e-5 * (1 + int(size) / 4096) * (factor if chosen or is_exported else 1.0)
                median_s = round(median_s * (1 + 0.004 * random.random()), 12)
                rows.append(
                    {
                        "collective": collective,
                        "ranks": int(ranks),
                        "per_node": int(per_node),
                        "bytes": int(size),
                        "calls": 900,
                        "median_s": median_s,
                        "low_s": median_s * 0.99,
                        "high_s": median_s * 1.01,
                        **({"wrong": 2} if wrong in chosen else {}),
                    }
                )
                world.clock.sleep(0.06)
            world.clock.sleep(0.3)
            text = "".join(f"{json.dumps(row)}\n" for row in rows)
            return Completed(1, "", "segmentation fault") if fails in chosen else Completed(0, text, "")

        for launcher in ("mpirun.openmpi", "mpiexec.mpich"):
            world.answers[launcher] = answer

    return act
