import shlex

import pytest

from mpiric.launchers import parse_command
from mpiric.model.errors import MpiricError, NotFoundError

BAD = [
    ("", "openmpi4", "command is empty"),
    ("A=1", "openmpi4", "contains no program"),
    ("time", "openmpi4", "contains no program"),
    ("''", "openmpi4", "contains no program"),
    ("mpirun", "openmpi4", "program is missing"),
    ("mpirun -np 2", "openmpi4", "program is missing"),
    ("mpirun -np", "openmpi4", "'-np' needs a value"),
    ("mpirun --mca btl", "openmpi5", "'--mca' needs a value"),
    ("mpirun -np two ./a", "openmpi4", "number of ranks in '-np two'"),
    ("mpirun -n 0 ./a", "hydra", "number of ranks in '-n 0'"),
    ("mpirun -n -4 ./a", "hydra", "number of ranks in '-n -4'"),
    ("mpiexec -n=x ./a", "hydra", "number of ranks in '-n=x x'"),
    ("mpirun -np 2 ./a : -np 2", "openmpi4", "program is missing after ':'"),
    ("mpirun -np 2 ./a :", "openmpi4", "program is missing after ':'"),
    ("mpirun : ./a", "openmpi4", "program is missing"),
    ("srun -n ./a", "srun", "number of ranks in '-n ./a'"),
    ("srun -n4x ./a", "srun", "number of ranks in"),
    ("jsrun -n 4 ./a", "openmpi4", "does not support the launcher 'jsrun'"),
]


@pytest.mark.parametrize(("line", "dialect", "message"), BAD)
def test_a_bad_line_is_refused_with_one_sentence_and_a_hint(line, dialect, message):
    with pytest.raises(MpiricError) as caught:
        parse_command(shlex.split(line), "/", {}, dialect=dialect)
    assert message in caught.value.message
    assert caught.value.hint
    assert "\n" not in caught.value.message


def test_a_launcher_of_no_known_library_is_refused():
    with pytest.raises(NotFoundError, match="'mpirun' does not belong to an MPI library"):
        parse_command(["mpirun", "./a"], "/", {}, dialect=None)


def test_an_unknown_option_ends_where_the_caller_sees_a_program():
    argv = ["mpirun", "--tomorrow", "app", "in.dat", "x"]
    job = parse_command(argv, "/", {}, is_program=lambda word: word == "app", dialect="openmpi4")
    assert job.program == ("app", "in.dat", "x")


def test_an_unknown_option_takes_a_word_that_is_not_a_program():
    argv = ["mpirun", "--tomorrow", "app", "in.dat", "x"]
    job = parse_command(argv, "/", {}, is_program=lambda word: word == "in.dat", dialect="openmpi4")
    assert job.program == ("in.dat", "x")
