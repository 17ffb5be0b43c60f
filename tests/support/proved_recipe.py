"""A recipe that was proved at marks or by whole runs, as a tune on this host would have saved it.

``python -m tests.support.proved_recipe PATH MARK -- CMD`` writes it from another process: inside the lab.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from mpiric.host.facts.local import LocalHost
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence, ProvedMarks, Recipe, Verdict, WholeCheck
from mpiric.model.pace import read_mark_option
from mpiric.schedulers import job_around
from mpiric.tuning.recipe import write_recipe
from mpiric.workflows.launch.fingerprints import fingerprint
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.run.recipe_choice import situation_for


def write_proved(
    path: Path, line: Sequence[str], place: Path, mark: str, configuration: dict[str, str] | None = None
) -> None:
    """Write it for a command line that runs in ``place``; its runs were of steps of 3 and 2.5 ms.

    Without a ``mark`` its runs were whole.
    """
    host = LocalHost()
    parsed = parse_job(tuple(line), host, str(place), dict(os.environ))
    situation = situation_for(None, None, parsed, host)
    pair = read_mark_option(mark) if mark else None
    pairs = ((3.0, 2.0),) * 9
    recipe = Recipe(
        Path(situation.job.program[0]).name,
        Configuration.of(configuration or {"binding": "core"}),
        fingerprint(situation.job, situation.machine, situation.mpi, host),
        Evidence(Configuration(), Verdict.FASTER, 1.4, 1.3, 1.5, pairs, 0.99, 0.01, "decided"),
        tuple(line),
        "2026-11-23T08:00:00+00:00",
        scope="steps" if pair else "",
        whole=WholeCheck() if pair else None,
        marks=ProvedMarks(pair, (0.1, 0.1), (0.003, 0.0025)) if pair else None,
        measured_in=job_around(host),
    )
    write_recipe(path, recipe)


if __name__ == "__main__":
    written, named, _, *command = sys.argv[1:]
    write_proved(Path(written), command, Path.cwd(), named, {"malloc": "keep-memory"})
