"""`mpiric tune` learns collectives itself, and its result works with and without mpiric."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.oversubscription import yielding

from mpiric.host.facts.local import LocalHost
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis import find_mpis

SOURCES = Path(__file__).parent / "runtime_programs"
# A user's setting of a poor algorithm is what the library does by itself then.
POOR = {"MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM": "brucks"}
# A candidate that takes a hundred times as long as others is slower on every machine.
VERY_POOR = {
    "MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM": "mpir",
    "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "pipelined_tree",
    "MPIR_CVAR_BCAST_TREE_PIPELINE_CHUNK_SIZE": "64",
}
pytestmark = pytest.mark.requires("gcc", "mpi:mpich")


def built(name: str, directory: Path) -> tuple[str, ...]:
    mpich: MpiLibrary = next(mpi for mpi in find_mpis(LocalHost()) if mpi.label.startswith("mpich-5"))
    program, source = directory / name, SOURCES / f"{name}.c"
    subprocess.run([mpich.compilers["c"], "-O1", str(source), "-o", str(program)], check=True)
    return mpich.launcher, "-n", "2", str(program)


@pytest.fixture
def launch(tmp_path: Path) -> tuple[str, ...]:
    return *built("repeats", tmp_path), "3000", "65536"


def test_what_a_program_calls_too_seldom_to_learn_is_learned_by_a_benchmark_of_it(
    run_mpiric: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    line = (*built("seldom", tmp_path), "30", str(1 << 16))
    env = {**VERY_POOR, "LD_PRELOAD": yielding()}
    # One variable that chooses another algorithm would be as good, and simpler.
    only = ("--only", "collectives", "--without", "collective-component,alltoall-algorithm")
    options = ("--json", "--budget", "600s", "--max-runs", "28", *only)
    done = run_mpiric("tune", *options, "--store", tmp_path / "s", "--", *line, env=env)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    store = Path(result["store"])
    assert not any("a proof takes" in note for note in result["notes"]), "learning counted as a run"
    tuner, outcome = (
        json.loads((store / f"{name}.policy.json").read_text())["keys"] for name in ("learned", "benchmark")
    )
    assert not [key for key in tuner if key["decided"]], "the run decided it by itself"
    # The benchmark does not rank algorithms if ranks lost their CPUs.
    if not outcome and os.getloadavg()[0] > len(os.sched_getaffinity(0)):
        pytest.skip("other processes took the CPUs during the benchmark")
    assert [(key["collective"], key["from"], key["decided"]) for key in outcome] == [("bcast", 1 << 16, True)]
    assert outcome[0]["candidate"] != "library"
    assert "by a benchmark of 1 of its calls" in done.stderr
    events = [json.loads(line) for line in (store / "events.jsonl").read_text().splitlines()]
    output = next(event for event in events if event["event"] == "benchmark")
    (line_of_policy,) = output["by_benchmark"]
    assert line_of_policy == f"choose bcast 2 1 2 block * {1 << 16} {1 << 17} {outcome[0]['candidate']}"
    assert output["by_program"] == []
    space = next(event for event in events if event["event"] == "space")
    assert "policy" in next(
        entry["values"] for entry in space["dimensions"] if entry["knob"] == "collectives"
    )
    # Which values a search of few runs tries, and which runs it ends early, is decided by times.
    ran = [event for event in events if event.get("configuration", {}).get("collectives") == "policy"]
    assert not [event for event in ran if event["outcome"] in {"failed", "different output"}]
    assert not any("bcast-algorithm" in event["configuration"] for event in ran)
    done = run_mpiric("run", "--policy", store / "benchmark.policy.json", "--", *line, env=env)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr


def test_a_tune_learns_collectives_unasked_and_keeps_what_it_proved(
    launch: tuple[str, ...], run_mpiric: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    env = {**POOR, "LD_PRELOAD": yielding()}
    # One variable that chooses another algorithm would be as good, and simpler.
    only = ("--only", "collectives", "--without", "collective-component,alltoall-algorithm")
    options = ("--json", "--budget", "600s", "--max-runs", "30", *only)
    done = run_mpiric("tune", *options, "--store", tmp_path / "s", "--", *launch, env=env)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    store = Path(answer["store"])
    events = [json.loads(line) for line in (store / "events.jsonl").read_text().splitlines()]
    tried = {json.dumps(event) for event in events if "collectives" in json.dumps(event)}
    assert any('"online"' in event for event in tried), "nothing was learned"
    keys = json.loads((store / "learned.policy.json").read_text())["keys"]
    chosen = {key["candidate"] for key in keys if key["decided"]}
    if chosen - {"library"}:
        assert any('"policy"' in event for event in tried)
    if "collectives" in {change["knob"] for change in answer["changes"]}:
        assert answer["recipe"]
        assert (store / "collectives/mpich-5.policy.json").is_file()
        line = run_mpiric(
            "run",
            "--recipe",
            answer["recipe"],
            "--dry-run",
            "--",
            *launch,
            env=env,
        )
        assert ".policy" in line.stdout or "SELECTION_TUNING" in line.stdout
        again = run_mpiric("run", "--recipe", answer["recipe"], "--", *launch, env=env)
        assert (again.returncode, again.stdout) == (0, "right\n"), again.stderr
