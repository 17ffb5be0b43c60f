"""The collected launch lines: each is parsed, written again, and translated for every other launcher."""

import shlex
from itertools import product

import pytest
from tests.python.launchers.test_lines import FOLDER, LINES

from mpiric.launchers import dialects, parse_command, render
from mpiric.model.errors import MismatchError, MpiricError
from mpiric.model.job import Spelling


def read_collected():
    dialect = ""
    for text in (FOLDER / "collected.txt").read_text().splitlines():
        if text.startswith("["):
            dialect = text.strip("[]")
        elif text and not text.startswith("#"):
            expected, _, line = text.partition(" | ")
            ranks, program = expected.split()
            yield dialect, None if ranks == "-" else int(ranks), program, line


COLLECTED = tuple(read_collected())
LAUNCHED = [row for row in COLLECTED if row[0] != "direct"]
TARGETS = {
    "hydra": "mpiexec",
    "intelmpi": "mpirun",
    "openmpi4": "mpirun",
    "openmpi5": "mpirun",
    "srun": "srun",
}
HIDDEN = [
    "perf stat -e cycles mpirun -np 2 ./a",
    "strace -f mpirun -np 2 ./a",
    "valgrind --tool=massif mpiexec -n 2 ./a",
    "gdb --args mpirun -np 2 ./a",
    "xvfb-run -a mpirun -np 2 ./a",
    "sudo -u me mpirun -np 2 ./a",
    "conda run -n env mpirun -np 2 ./a",
    "uv run mpirun -np 2 python3 a.py",
    "poetry run mpiexec -n 2 python3 a.py",
    "nsys profile -o report mpirun -np 2 ./a",
    "salloc -n 2 srun ./a",
    "flock lock mpirun -np 2 ./a",
    "make -C build mpirun -n 2",
    "script -c 'mpirun -np 2 ./a' log",
    "bash -lc 'module load mpi; mpirun -np 2 ./a'",
    "sh -c 'cd run && mpiexec -n 2 ./a'",
    "ssh n1 'mpirun -np 2 ./a'",
]


def test_at_least_three_hundred_different_lines_are_collected():
    lines = {line for _, _, _, line in COLLECTED} | {str(line) for line in LINES} | set(HIDDEN)
    assert len(lines) >= 300


@pytest.mark.parametrize(("dialect", "ranks", "program", "line"), COLLECTED)
def test_ranks_and_program_are_found_and_the_line_is_written_again(parse, dialect, ranks, program, line):
    job = parse(line, dialect)
    launch = render(job)
    assigned = [f"{name}={value}" for name, value in launch.environment.items()]
    assert (job.dialect, job.ranks, job.program[0]) == (dialect, ranks, program)
    assert [*assigned, *launch.argv] == shlex.split(line)


def translated(job, target):
    """Return the job under another launcher, None if it is refused with a reason."""
    spelling = Spelling(dialect=target, launcher_words=(TARGETS[target],))
    try:
        launch = render(job, [("mpi", "x", spelling)])
    except MismatchError:
        return None
    return parse_command(launch.argv, "/work", {}, dialect=target)


@pytest.mark.parametrize("row", LAUNCHED, ids=str)
def test_another_launcher_starts_the_same_programs_or_the_line_is_refused(parse, row):
    dialect, ranks, _, line = row
    job = parse(line, dialect)
    programs = [segment.program for segment in job.segments]
    for again in filter(None, (translated(job, target) for target in TARGETS)):
        assert again.ranks == ranks
        assert [segment.program for segment in again.segments] == programs


def test_most_lines_can_be_translated(parse):
    jobs = [parse(line, dialect) for dialect, _, _, line in LAUNCHED]
    refused = [job for job, target in product(jobs, TARGETS) if translated(job, target) is None]
    assert len(refused) <= len(jobs) * len(TARGETS) / 4


@pytest.mark.parametrize("line", HIDDEN)
def test_a_tool_in_front_of_the_launcher_is_refused_with_the_place_for_mpiric(parse, line):
    with pytest.raises(MpiricError, match="is in front of the launcher") as caught:
        parse(line, "openmpi5")
    assert "mpiric VERB -- " in caught.value.hint


@pytest.mark.parametrize("name", dialects())
def test_lines_of_every_dialect_are_collected(name):
    assert any(dialect == name for dialect, _, _, _ in COLLECTED)
