"""Knobs that a tune does not try, and why: a heat solver and a program with reductions."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.oversubscription import yielding

from mpiric.host.facts.local import LocalHost
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis

EXAMPLES = Path(__file__).parents[2] / "examples"
UNUSED = {"ucx-transports"}
# Of collectives that neither program calls; where the program shows its symbols they do not even apply.
ALGORITHMS = {"alltoall-algorithm", "allgather-algorithm", "gather-algorithm", "scatter-algorithm"}
pytestmark = pytest.mark.requires("gcc", "mpi:mpich")


@pytest.fixture(scope="module")
def mpich() -> MpiLibrary:
    return next(mpi for mpi in find_mpis(LocalHost()) if mpi.label.startswith("mpich-5"))


@pytest.fixture
def tuned(mpich: MpiLibrary, tmp_path: Path):
    """Tune an example in a few runs, which are sufficient for a record."""

    def tune(source: str, ranks: int, *arguments: str, **settings: str) -> dict[str, Any]:
        program = tmp_path / Path(source).stem
        command = [mpich.compilers["c"], "-O2", str(EXAMPLES / source), "-o", str(program), "-lm"]
        subprocess.run(command, check=True)
        line = [mpich.launcher, "-n", str(ranks), str(program), *arguments]
        options = ["--json", "--max-runs", "8", "--no-check", "--store", str(tmp_path / "store")]
        place = tmp_path / "work"
        place.mkdir()
        done = subprocess.run(
            [sys.executable, "-m", "mpiric", "tune", *options, "--", *line],
            cwd=place,
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
        return json.loads(done.stdout)

    return tune


def needless(results: dict[str, Any]) -> dict[str, str]:
    return {entry["knob"]: entry["why"] for entry in results["cannot_matter"]}


def test_a_heat_solver_on_one_node_is_not_tried_with_what_its_messages_never_meet(tuned):
    result = tuned("heat3d/heat3d.c", 2, "224", "20")
    why = needless(result)
    assert UNUSED | {"eager-node"} <= set(why)
    assert "UCX" in why["ucx-transports"]
    assert "392 KiB" in why["eager-node"]
    assert "malloc" not in why
    assert result["tried"]
    assert not set(result["tried"]) & (set(why) | ALGORITHMS)


def test_who_only_reduces_has_no_messages_to_set_anything_for(tuned):
    ranks = 2 * len(os.sched_getaffinity(0))
    result = tuned("known_wins/oversubscribed.c", ranks, "20", LD_PRELOAD=yielding())
    why = needless(result)
    of_messages = {"eager-node", "single-copy", "single-copy-threshold", "node-buffers"}
    assert UNUSED | of_messages <= set(why)
    assert why["eager-node"] == "no message is sent on a node"
    # Start-up allocates too: whether that is a share worth trying depends on how long the rest takes.
    assert "malloc" not in why or "of a rank's time goes into" in why["malloc"]
    assert result["tried"][0] == "waiting"
    assert not set(result["tried"]) & (set(why) | ALGORITHMS)
