from dataclasses import replace

import pytest
from tests.support.paces import key

from mpiric.lab.mark_judge import compare_results, learn_results
from mpiric.model.pace import MarksState, PlaceResults, RankMarks, RunMarks
from mpiric.outputs.equivalence import AcceptedDifferences

STEP = key("MPI_Allreduce", "lmp+0x10")
TIMER = key("MPI_Allreduce", "lmp+0x20")
SENT = key("MPI_Isend", "lmp+0x30")


def run(*results: PlaceResults, ranks: int = 2) -> RunMarks:
    files = tuple(
        RankMarks(number, MarksState.ENDED, frozenset(), 0.0, 0.1, None, None, None, 9, 1, (), results, 0)
        for number in range(ranks)
    )
    return RunMarks(ranks, "", files)


def result(which=STEP, digest: int = 1, latest: tuple[float, ...] = (1.0,), count: int = 9) -> PlaceResults:
    return PlaceResults(which, count, digest, latest)


def test_the_same_results_agree():
    assert compare_results(learn_results([run(result()), run(result())]), run(result())) == ""


def test_one_bit_is_enough():
    expected = learn_results([run(result()), run(result())])
    assert (
        compare_results(expected, run(result(digest=2)))
        == "the results of MPI_Allreduce at lmp+0x10 on rank 0 before the mark are not the original's"
    )
    assert "not as many" in compare_results(expected, run(result(count=8)))
    assert "not as many" in compare_results(expected, run())


def test_places_that_vary_by_themselves_are_not_looked_at():
    expected = learn_results([run(result(), result(TIMER, 5)), run(result(), result(TIMER, 6))])
    assert compare_results(expected, run(result(), result(TIMER, 7))) == ""


def test_with_rounding_the_latest_results_may_differ_a_little():
    expected = learn_results([run(result()), run(result())])
    near, distant = result(digest=2, latest=(1.0 + 1e-13,)), result(digest=2, latest=(1.001,))
    assert compare_results(expected, run(near), AcceptedDifferences(rounding=True)) == ""
    assert compare_results(expected, run(near))
    assert compare_results(expected, run(distant), AcceptedDifferences(rounding=True))
    assert compare_results(expected, run(result(digest=2, latest=())), AcceptedDifferences(rounding=True))


def test_messages_of_the_last_step_are_compared_unless_rounding_may_have_grown():
    expected = learn_results([run(result(), result(SENT)), run(result(), result(SENT))])
    other = run(result(), result(SENT, 2, latest=(1.001,)))
    assert compare_results(expected, run(result(), result(SENT))) == ""
    sentence = "the messages of MPI_Isend at lmp+0x30 on rank 0 in the step before the mark"
    assert compare_results(expected, other) == f"{sentence} are not the original's"
    assert compare_results(expected, other, AcceptedDifferences(rounding=True)) == ""


@pytest.mark.parametrize("library", ["libmpi_mpifh.so.40+0x9", "libmpifort.so.12+0x7"])
def test_places_in_an_mpi_library_are_others_in_the_next_one(library):
    of_fortran = result(replace(STEP, place="libmpifort.so.12+0x1"))
    expected = learn_results([run(of_fortran), run(of_fortran)])
    assert compare_results(expected, run(result(replace(STEP, place=library)))) == ""
