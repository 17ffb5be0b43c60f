"""Knobs of functions that a program cannot call are skipped."""

from dataclasses import replace

import pytest
from tests.support.answers import LEAST, skipped
from tests.support.behaviours import ALLREDUCE, doing
from tests.support.situations import BY_LABEL, situation

from mpiric import knobs
from mpiric.model.situation import Allowed, Situation


def calling(*calls: str, mpi: str = "mpich-5.0.2", libraries: tuple[str, ...] = ()) -> Situation:
    case = situation(BY_LABEL[mpi], ranks=4, libraries=libraries, allowed=Allowed(rounding=True))
    return replace(case, observation=replace(case.observation, mpi_calls=frozenset(calls)))


def algorithms(case: Situation) -> set[str]:
    return {name for name in knobs.to_try(case) if name.endswith("-algorithm")}


def test_only_the_collectives_it_can_call_are_tried():
    assert algorithms(calling("mpi_init", "mpi_allreduce")) == {"allreduce-algorithm"}


@pytest.mark.parametrize("form", ["mpi_iallreduce", "mpi_allreduce_init"])
def test_other_forms_of_a_collective_count(form):
    assert algorithms(calling(form)) == {"allreduce-algorithm"}


def test_a_collective_that_shares_its_algorithms_counts():
    assert "reduce-scatter-algorithm" in algorithms(calling("mpi_reduce_scatter_block"))


def test_without_any_collective_their_component_is_left_alone():
    reason = skipped("collective-component", calling("mpi_send"))
    assert reason == "the program does not call any collective operation"


def test_of_an_unknown_program_all_are_tried():
    assert len(algorithms(calling())) > 5


def test_io_is_left_alone_without_a_call_of_it():
    components = ("/x/mca_io_ompio.so",)
    without = calling("mpi_send", mpi="openmpi-5.0.11", libraries=components)
    with_it = calling("mpi_file_open", mpi="openmpi-5.0.11", libraries=components)
    assert "mpi-io-library" not in knobs.to_try(without)
    assert "mpi-io-library" in knobs.to_try(with_it)


@pytest.mark.parametrize(
    ("label", "why"),
    [("mpich-5.0.2", "belongs to the process"), ("openmpi-5.0.11", "may create one meanwhile")],
)
def test_tuning_of_collectives_under_threads_names_what_it_leaves_to_the_library(label, why):
    def because(threads):
        shown = replace(ALLREDUCE, numbers={**ALLREDUCE.numbers, "many_threads": threads})
        case = replace(doing(calling("mpi_allreduce", mpi=label), shown), least_share=LEAST)
        return knobs.to_try(case)["collectives"].because

    assert why in because(1.0)
    assert why not in because(0.0)
