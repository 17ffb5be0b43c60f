from pathlib import Path

import pytest

from mpiric.model.errors import MpiricError
from mpiric.tuning.objective import Place, parse_objective, shown, value_of


def value(text: str, printed: str, tmp_path: Path, *, maximise: bool = False) -> float:
    output = tmp_path / "stdout"
    output.write_text(printed)
    place = Place(tmp_path, {"PATH": "/usr/bin:/bin"})
    return value_of(parse_objective(text, maximise=maximise), 3.0, 4, output, place)


def test_wall_time_is_the_objective_itself(tmp_path: Path) -> None:
    assert value("wall", "", tmp_path) == 3.0


def test_core_hours_count_every_core_that_was_kept(tmp_path: Path) -> None:
    assert value("core-hours", "", tmp_path) == pytest.approx(3.0 * 4 / 3600)


def test_the_last_match_in_the_output_counts(tmp_path: Path) -> None:
    assert value("output:time = (.*) s", "time = 9 s\ntime = 2.5 s\n", tmp_path) == 2.5


def test_numbers_may_be_written_the_way_fortran_does(tmp_path: Path) -> None:
    assert value("output:t=(.*)", "t= 1.5D+01", tmp_path) == 15.0


def test_a_number_to_be_made_large_is_searched_by_its_reciprocal(tmp_path: Path) -> None:
    objective = parse_objective("output:rate (.*)", maximise=True)
    assert value("output:rate (.*)", "rate 4", tmp_path, maximise=True) == 0.25
    assert shown(objective, 0.25) == 4.0


def test_a_command_answers_in_the_directory_of_the_trial(tmp_path: Path) -> None:
    (tmp_path / "score").write_text("7.5\n")
    assert value("command:cat score", "", tmp_path) == 7.5


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("output:never (.*)", "nothing"),
        ("command:exit 3", ""),
        ("command:echo none", ""),
        ("output:x=(.*)", "x=0"),
    ],
)
def test_a_run_that_shows_no_number_is_an_error(text: str, printed: str, tmp_path: Path) -> None:
    with pytest.raises(MpiricError):
        value(text, printed, tmp_path)


@pytest.mark.parametrize("text", ["speed", "output:(", "command:", ""])
def test_an_invalid_objective_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(MpiricError):
        parse_objective(text)
