import shlex

import pytest

from mpiric.launchers import parse_command, render
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
    ("srun -n 4 --multi-prog", "srun", "program is missing"),
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


BAD_FILES = [
    ("", "lists no program"),
    ("# only this\n\n", "lists no program"),
    ("-n 1 './a\n", "cannot be read"),
    ("-n 1 ./a\n-configfile b\n", "names another file"),
    ("-n 1\n", "program is missing"),
]


@pytest.mark.parametrize(("text", "message"), BAD_FILES)
def test_a_bad_file_of_programs_is_refused_with_a_hint(text, message):
    with pytest.raises(MpiricError, match=message) as caught:
        parse_command(
            ["mpiexec", "-configfile", "f"], "/", {}, dialect="intelmpi", read_text=lambda _name: text
        )
    assert caught.value.hint


FILES = [
    (
        "openmpi4",
        "mpirun -x B=1 --bind-to none --app f",
        "mpirun --bind-to none -np 1 ./a : -x A=1 -np 2 ./b '\"c'",
    ),
    ("hydra", "mpiexec -genv B 1 -configfile f", "mpiexec -genv B 1 -np 1 ./a : -x A=1 -np 2 ./b '\"c'"),
]


@pytest.mark.parametrize(("dialect", "line", "expected"), FILES)
def test_the_lines_of_a_file_become_programs_of_the_launch(dialect, line, expected):
    text = '# two programs\n-np 1 ./a\n\n-x A=1 -np 2 ./b "c\n'
    job = parse_command(line.split(), "/", {}, dialect=dialect, read_text=lambda _name: text)
    assert render(job).shell_line() == expected
