"""The collective algorithms of the MPI implementations, as data."""

import subprocess
import sys
from pathlib import Path

from mpiric.model.candidates import CANDIDATES, Candidate, candidates_of, collectives

ROOT = Path(__file__).parents[3]


def candidate(since: tuple[int, ...] = (), until: tuple[int, ...] = ()) -> Candidate:
    return Candidate("mpich", "bcast", "tree", "V", "tree", (("V", "tree"),), since, until)


def test_a_version_before_the_first_does_not_have_it() -> None:
    assert not candidate(since=(4, 2)).exists_in((4, 1, 9))


def test_the_first_version_has_it() -> None:
    assert candidate(since=(4, 2)).exists_in((4, 2))


def test_the_version_it_ends_with_does_not_have_it() -> None:
    assert not candidate(until=(5,)).exists_in((5, 0, 2))


def test_an_unknown_version_has_what_every_version_has() -> None:
    assert candidate().exists_in(())


def test_every_candidate_sets_its_own_variable_to_its_own_value() -> None:
    for each in CANDIDATES:
        name, value = each.environment[0]
        assert value == each.value
        assert each.variable in name or each.implementation == "intelmpi"


def test_algorithms_of_open_mpi_are_numbered_as_its_enumeration() -> None:
    found = {c.name: c.value for c in candidates_of("openmpi", "allreduce", (5, 0, 11))}
    assert found["recursive_doubling"] == "3"
    assert found["rabenseifner"] == "6"


def test_the_collectives_are_named_as_mpi_names_them() -> None:
    assert {"allreduce", "alltoall", "barrier", "bcast", "reduce_scatter"} <= set(collectives())


def test_the_table_is_what_the_specification_says() -> None:
    words = [sys.executable, "-m", "tools.generate.candidates", "--check"]
    assert subprocess.run(words, cwd=ROOT).returncode == 0


def test_the_reference_is_what_the_knobs_say() -> None:
    words = [sys.executable, "-m", "tools.generate.knob_reference", "--check"]
    assert subprocess.run(words, cwd=ROOT).returncode == 0
