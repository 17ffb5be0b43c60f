"""A recipe of one MPI library and a run under another."""

import pytest
from tests.support.situations import BY_LABEL, situation

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Fingerprint, Recipe
from mpiric.workflows.run.recipe_choice import other_library

OPEN_MPI, MPICH = "openmpi-5.0.11", "mpich-5.0.2"
CASE = situation(BY_LABEL[OPEN_MPI], others=(BY_LABEL[MPICH],))


def recipe(**values: str) -> Recipe:
    return Recipe("app", Configuration.of(values), Fingerprint({}, {}, {}), None, ("./app",), "")


@pytest.mark.parametrize(
    ("tuned", "label"),
    [(recipe(binding="core"), MPICH), (recipe(mpi=MPICH), OPEN_MPI), (recipe(mpi=MPICH), "image")],
)
def test_a_recipe_of_another_library_is_named_with_both(tuned, label):
    sentence = other_library(tuned, label, CASE)
    assert label in sentence
    assert tuned.configuration.as_dict().get("mpi", OPEN_MPI) in sentence


@pytest.mark.parametrize(
    ("tuned", "label"),
    [(recipe(binding="core"), OPEN_MPI), (recipe(mpi=MPICH), MPICH), (recipe(mpi=MPICH), "")],
)
def test_a_recipe_of_the_library_is_applied(tuned, label):
    assert other_library(tuned, label, CASE) == ""
