"""Substitution of the user's parameters in a parsed launch line."""

from dataclasses import replace

import pytest

from mpiric.launchers import render, with_parameters
from mpiric.model.errors import MismatchError
from mpiric.model.job import Meaning


def test_options_of_the_launcher_have_the_values_of_the_parameter(parse):
    job = with_parameters(parse("mpirun -np {N} ./a {NB}", "openmpi4"), {"{N}": "3", "{NB}": "64"})
    assert job.ranks == 3
    assert render(job).argv == ("mpirun", "-np", "3", "./a", "64")


def test_another_value_replaces_the_first_one(parse):
    job = with_parameters(parse("mpirun -np 2 ./a {NB}", "openmpi4"), {"{NB}": "64"})
    assert with_parameters(job, {"{NB}": "32"}).argv == ("mpirun", "-np", "2", "./a", "32")


def test_the_command_as_written_is_kept(parse):
    job = with_parameters(parse("mpirun -np 2 ./a {NB}", "openmpi4"), {"{NB}": "64"})
    assert job.command == ("mpirun", "-np", "2", "./a", "{NB}")


def test_all_programs_of_a_launch_are_changed(parse):
    job = with_parameters(
        parse("mpirun -np 1 ./a {X} : -np {N} ./b {X}", "openmpi4"), {"{X}": "7", "{N}": "2"}
    )
    assert [segment.program for segment in job.segments] == [("./a", "7"), ("./b", "7")]
    assert job.segments[1].first(Meaning.RANKS).values == ("2",)


def test_variables_in_front_of_the_launcher_are_changed(parse):
    job = with_parameters(parse("BLOCK={NB} mpirun -np 2 ./a", "openmpi4"), {"{NB}": "64"})
    assert job.environment["BLOCK"] == "64"
    assert render(job).environment == {"BLOCK": "64"}


def test_a_command_without_the_parameter_is_refused(parse):
    with pytest.raises(MismatchError, match="does not contain"):
        with_parameters(parse("mpirun -np 2 ./a", "openmpi4"), {"{NB}": "64"})


def test_a_launch_with_programs_in_a_file_is_refused(parse):
    job = parse("mpirun -np 2 ./a {NB}", "openmpi4")
    listed = replace(job, argv=("mpirun", "--app", "file", "{NB}"))
    with pytest.raises(MismatchError, match="listed in a file"):
        with_parameters(listed, {"{NB}": "64"})


@pytest.mark.parametrize("line", ["mpirun -np 2 {X} 1", "mpirun -np 2 numactl -N 0 {X} 1", "{X} 1"])
def test_the_program_itself_cannot_be_a_parameter(parse, line):
    with pytest.raises(MismatchError, match="cannot be a parameter"):
        with_parameters(parse(line, "openmpi4"), {"{X}": "rm"})


def test_a_part_of_the_path_of_the_program_can_be_a_parameter(parse):
    job = with_parameters(parse("mpirun -np 2 ./a-{X}", "openmpi4"), {"{X}": "fast"})
    assert job.program == ("./a-fast",)
