"""The comparison of other people's suites finds what differs, and only that."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.mpis import find_mpis

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "same/well": 'test "$*" = "-count=3 -x" && test "$LEVEL" = 2 && echo "No Errors"',
    "same/ending": "echo partly; exit 3",
    "same/turns/unsteady": 'date +%N >> seen; [ $(($(wc -l < seen) % 2)) = 1 ] || echo "No Errors"',
    "same/turns/watched": 'echo "No Errors"; test -z "$LD_PRELOAD" || echo "I am watched"',
    "same/greedy": "exit 1",
}
LISTS = {
    "same": "# a comment\nwell 1 arg=-count=3 arg=-x env=LEVEL=2\nending 1\nturns\nabsent 2\ngreedy mem=9\n",
    "same/turns": "unsteady 1\n!dtp:all\nwatched 1 timeLimit=30\n",
}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    for name, body in PROGRAMS.items():
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    for directory, text in LISTS.items():
        (tmp_path / directory / "testlist").write_text(text)
    return tmp_path


@pytest.mark.requires("mpi:mpich")
def test_what_differs_is_told_apart_from_what_is_unsteady(suite):
    label = next(
        mpi.label
        for mpi in find_mpis(LocalHost())
        if (mpi.implementation, mpi.found_by) == ("mpich", "mpiric")
    )
    command = ["testlists", "--mpi", label, "--results", str(suite / "results"), str(suite), "same"]

    def compare() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tests.support.suites.compare_suite", *command],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=240,
        )

    first = compare()
    assert first.returncode == 1, first.stderr
    assert [line.split(": ")[0] for line in first.stdout.splitlines()] == ["same/turns/watched on 1"]
    assert set(first.stderr.splitlines()[0].split(": ")[1].split(", ")) == {
        "1 passes",
        "1 the same",
        "1 unsteady",
        "1 differs",
    }
    for part in (
        "6 lines; 0 duplicates with at most 8 ranks",
        "1 need more than 4 GB",
        "not built: same/absent",
        "~ same/turns/unsteady on 1: ",
        "= same/ending on 1: status 3, other output; profile: status 3, other output",
    ):
        assert part in first.stderr
    rows = [json.loads(line) for line in (suite / "results").read_text().splitlines()]
    assert {row["way"] for row in rows if "well" in row["test"]} == {"profile"}
    assert {row["outcome"] for row in rows if "ending" in row["test"]} == {"status 3, other output"}
    again = compare()
    assert again.stdout == first.stdout
    assert len((suite / "results").read_text().splitlines()) == len(rows)
