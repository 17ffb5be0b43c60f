"""Plans for this machine, launched with the words mpiric writes under every MPI library of the machine."""

import subprocess
from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.launchers import emit
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.placement import PlacementRequest
from mpiric.placement import plan
from mpiric.workflows.placement.place import place

SHOW = """#!/bin/sh
for rank in "$OMPI_COMM_WORLD_RANK" "$PMI_RANK"; do [ -n "$rank" ] && break; done
echo "$rank $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
"""


def _launched(mpi: MpiLibrary, argv: tuple[str, ...], env: dict[str, str], place_: Path) -> dict[int, str]:
    show = place_ / "show"
    show.write_text(SHOW)
    show.chmod(0o755)
    done = subprocess.run(
        [mpi.launcher, *argv[1:], str(show)],
        env=env,
        cwd=place_,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return {int(rank): cpus for rank, cpus in (line.split() for line in done.stdout.splitlines())}


@pytest.mark.requires("several-cores")
@pytest.mark.parametrize("order", ["levels", "lists"])
def test_ranks_sit_where_they_were_planned(mpi, order, environment, tmp_path):
    planned = place(LocalHost(), PlacementRequest(2, policy="compact"), "", str(tmp_path)).plan
    if order == "lists":  # one core is withheld from the plan, so that no level says it
        planned = plan(planned.topology, PlacementRequest(1, policy="compact"), planned.usable[1:])
    emission = emit(planned, mpi.dialect)
    for name, text in emission.files.items():
        (tmp_path / name).write_text(text)
    paths = {
        "LD_LIBRARY_PATH": ":".join(mpi.library_path),
        "PATH": ":".join([*mpi.search_path, environment["PATH"]]),
    }
    env = {**environment, **mpi.environment, **paths, **emission.env}
    observed = _launched(mpi, emission.argv, env, tmp_path)
    assert observed == {rank: str(seat.pus[0]) for rank, seat in enumerate(planned.seats)}
