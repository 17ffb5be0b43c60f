from dataclasses import replace
from pathlib import Path

import pytest
from tests.python.tuning.test_recipe import MARKS, _recipe, check

from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.evidence import WholeCheck, WholeVerdict
from mpiric.model.pace import MarkKey, MarkPair, read_mark_option
from mpiric.tuning.recipe import read_recipe, write_recipe, write_whole_check

DIFFERS = WholeCheck(WholeVerdict.DIFFERS, "it ended with status 3")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "r.recipe.toml"
    write_recipe(path, _recipe(scope="steps", whole=WholeCheck(), marks=MARKS))
    return path


def test_a_whole_run_changes_its_own_lines_and_nothing_else(path: Path) -> None:
    edited = path.read_text().replace("[fingerprint", "# reviewed by Ada\n[fingerprint", 1)
    path.write_text(edited)
    write_whole_check(path, DIFFERS)
    assert read_recipe(path, check) == _recipe(scope="steps", whole=DIFFERS, marks=MARKS)
    assert "# reviewed by Ada" in path.read_text()
    write_whole_check(path, WholeCheck())
    assert [*filter(None, path.read_text().split("\n"))].sort() == [*filter(None, edited.split("\n"))].sort()
    assert "whole_check_why" not in path.read_text()


def test_a_reason_with_quotes_and_line_ends_stays_one_line(path: Path) -> None:
    write_whole_check(path, replace(DIFFERS, why='printed "nan"\nat once'))
    check_of_run = read_recipe(path, check).whole
    assert check_of_run is not None
    assert check_of_run.why == 'printed "nan"?at once'


def test_a_missing_recipe_cannot_be_changed(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        write_whole_check(tmp_path / "no.recipe.toml", DIFFERS)


@pytest.mark.parametrize("mark", ["", "MPI_Bcast", "/bin/sh@a+0x1@4.0:1,2", "MPI_Bcast@lmp+0x1@4.0:2,2"])
def test_a_recipe_with_another_mark_than_two_calls_is_refused(path: Path, mark: str) -> None:
    path.write_text(path.read_text().replace(MARKS.pair.option, mark))
    with pytest.raises(MpiricError, match="names no two calls"):
        read_recipe(path, check)


@pytest.mark.parametrize(
    "key",
    [
        MarkKey("MPI_Allreduce", "lmp+0x48f2", 4, 0),
        MarkKey("MPI_Isend", "", 0, 0),
        MarkKey("MPI_Bcast", "lib a@b.so+0x1"[4:], 2, 3),
    ],
)
def test_marks_are_read_in_the_form_for_the_runtime(key: MarkKey) -> None:
    pair = MarkPair(key, 3, 77, on_rank_0_alone=True)
    assert read_mark_option(pair.option, on_rank_0_alone=True) == (None if "@" in key.place else pair)
