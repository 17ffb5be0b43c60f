"""The collective algorithms of the MPI implementations, as data."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mpiric.algorithms import library as library_module
from mpiric.algorithms.library import (
    LibraryAlgorithm,
    algorithms_of,
    all_algorithms,
    are_chosen_at_start,
    coarse_algorithms,
    own_algorithms,
)

ROOT = Path(__file__).parents[3]


def algorithm(since: tuple[int, ...] = (), until: tuple[int, ...] = ()) -> LibraryAlgorithm:
    return LibraryAlgorithm("mpich", "bcast", "tree", "V", "tree", (("V", "tree"),), since, until)


def test_a_version_before_the_first_does_not_have_it() -> None:
    assert not algorithm(since=(4, 2)).exists_in((4, 1, 9))


def test_the_first_version_has_it() -> None:
    assert algorithm(since=(4, 2)).exists_in((4, 2))


def test_the_version_it_ends_with_does_not_have_it() -> None:
    assert not algorithm(until=(5,)).exists_in((5, 0, 2))


def test_an_unknown_version_has_the_features_of_all_versions() -> None:
    assert algorithm().exists_in(())


def test_every_algorithm_sets_its_own_variable_to_its_own_value() -> None:
    for algorithm in all_algorithms():
        name, value = algorithm.environment[0]
        assert value == algorithm.value
        assert algorithm.variable in name or algorithm.implementation == "intelmpi"


def test_algorithms_of_open_mpi_are_numbered_as_its_enumeration() -> None:
    number_of = {c.name: c.value for c in algorithms_of("openmpi", "allreduce", (5, 0, 11))}
    assert number_of["recursive_doubling"] == "3"
    assert number_of["rabenseifner"] == "6"


def test_the_collectives_are_named_as_mpi_names_them() -> None:
    assert {"allreduce", "alltoall", "barrier", "bcast", "reduce_scatter"} <= set(coarse_algorithms())


def test_generated_candidates_are_current() -> None:
    command = [sys.executable, "-m", "tools.generate.candidates", "--check"]
    assert subprocess.run(command, cwd=ROOT).returncode == 0


def test_the_knob_reference_is_current() -> None:
    command = [sys.executable, "-m", "tools.generate.knob_reference", "--check"]
    assert subprocess.run(command, cwd=ROOT).returncode == 0


def test_libraries_without_a_file_have_no_algorithms() -> None:
    assert algorithms_of("unknown", "bcast", ()) == ()
    assert not are_chosen_at_start("unknown")


def test_an_algorithm_of_our_own_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = tmp_path / "coll"
    shutil.copytree(ROOT / "src/runtime/coll", sources)
    chain = (sources / "bcast/chain.cpp").read_text()
    (sources / "bcast/made_up.cpp").write_text(chain.replace('"chain', '"made_up'))
    names = tmp_path / "own_algorithms.toml"
    subprocess.run([sys.executable, ROOT / "cmake/algorithm_names.py", sources, names], check=True)
    monkeypatch.setattr(library_module, "native_part", lambda name: str(tmp_path / name))
    library_module.names_by_collective.cache_clear()
    assert any(name.startswith("made_up") for name in own_algorithms("bcast"))
    assert "ring" in own_algorithms("allreduce")
    assert own_algorithms("unknown") == ()
    library_module.names_by_collective.cache_clear()
