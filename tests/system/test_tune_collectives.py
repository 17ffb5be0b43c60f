"""`mpiric tune` learns a program's collectives by itself, and what it keeps works with and without mpiric."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mpiric.host.local import LocalHost
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis

SOURCE = Path(__file__).parent / "runtime_programs/repeats.c"
# A user's setting of a poor algorithm is what the library does by itself then.
POOR = {"MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM": "brucks"}
pytestmark = pytest.mark.requires("gcc", "mpi:mpich")


@pytest.fixture
def launch(tmp_path: Path) -> tuple[str, ...]:
    mpich: MpiLibrary = next(mpi for mpi in find_mpis(LocalHost()) if mpi.label.startswith("mpich-5"))
    program = tmp_path / "repeats"
    subprocess.run([mpich.compilers["c"], "-O1", str(SOURCE), "-o", str(program)], check=True)
    return mpich.launcher, "-n", "2", str(program), "3000", "65536"


def test_a_tune_learns_collectives_unasked_and_keeps_what_it_proved(
    launch: tuple[str, ...], run_mpiric: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    only = ("--only", "collectives", "--without", "collective-component")
    options = ("--json", "--budget", "150s", "--max-runs", "30", *only)
    done = run_mpiric("tune", *options, "--store", tmp_path / "s", "--", *launch, env=POOR)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    store = Path(said["store"])
    events = [json.loads(line) for line in (store / "events.jsonl").read_text().splitlines()]
    tried = {json.dumps(event) for event in events if "collectives" in json.dumps(event)}
    assert any('"online"' in event for event in tried), "nothing was learned"
    keys = json.loads((store / "learned.policy.json").read_text())["keys"]
    chosen = {key["candidate"] for key in keys if key["settled"]}
    if chosen - {"library"}:
        assert any('"policy"' in event for event in tried)
    if said["changes"]:
        assert said["recipe"]
        assert (store / "collectives/mpich-5.policy.json").is_file()
        line = run_mpiric("run", "--recipe", said["recipe"], "--dry-run", "--", *launch, env=POOR)
        assert ".policy" in line.stdout or "SELECTION_TUNING" in line.stdout
        again = run_mpiric("run", "--recipe", said["recipe"], "--", *launch, env=POOR)
        assert (again.returncode, again.stdout) == (0, "right\n"), again.stderr
