"""The cases of the recreated misfortunes: commands as their users have them."""

import pytest
from benchmarks.recreated import CASES

from mpiric.knobs import all_knobs
from mpiric.launchers import parse_command

DIALECTS = {"mpich": "hydra", "openmpi": "openmpi5", "intelmpi": "intelmpi"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name} {case.mpi}")
def test_a_case_is_a_launch_line_of_its_library_without_a_word_of_ours(case) -> None:
    job = parse_command([*case.launch, *case.program], "/", case.environment, dialect=DIALECTS[case.mpi])
    assert job.program[0] == case.program[0]
    assert not set(all_knobs()) & {*case.launch, *case.environment}


def test_every_library_meets_the_slow_network() -> None:
    assert {case.mpi for case in CASES if case.name == "slow network"} == set(DIALECTS)
