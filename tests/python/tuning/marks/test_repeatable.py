import pytest

from mpiric.tuning.marks.repeatable import PROGRAMS, repeatable_hint


@pytest.mark.parametrize("program", ["gmx", "gmx_mpi", "gmx_mpi_d", "mdrun_mpi"])
def test_the_options_of_gromacs_are_named(program: str) -> None:
    assert "`-reprod -dlb no -notunepme`" in repeatable_hint(program)


@pytest.mark.parametrize("program", ["", "app", "gmxlike", "lmp"])
def test_of_other_programs_nothing_is_reported(program: str) -> None:
    assert repeatable_hint(program) == ""


def test_each_entry_has_options_and_a_reason() -> None:
    assert all(program.options.startswith("-") and program.why for program in PROGRAMS)
