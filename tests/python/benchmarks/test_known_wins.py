"""Table of known wins, for invented times."""

import pytest
from benchmarks.known_wins import CASES, arrived_after, is_found, summary_of

from mpiric.knobs import all_knobs
from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial

CORE = Configuration.of({"binding": "core"})


def trial(wall_s: float, configuration: Configuration = CORE, outcome: Outcome = Outcome.OK) -> Trial:
    return Trial(configuration, Phase.SEARCH, outcome, wall_s, wall_s)


@pytest.mark.parametrize(("behind", "expected"), [(1.04, True), (0.9, True), (1.06, False)])
def test_found_is_as_good_as_the_expert_within_five_percent(behind: float, expected: bool) -> None:
    assert is_found(2.0, behind, "faster") is expected


def test_without_a_gain_of_the_expert_nothing_can_be_found() -> None:
    assert is_found(1.01, 1.0, "no difference shown") is None


def test_a_gain_without_proof_is_not_found() -> None:
    assert is_found(2.0, 1.0, "no difference shown") is False


def test_arrival_is_the_first_run_of_the_search_near_the_proved_time() -> None:
    runs = [
        trial(1.0, Configuration()),
        trial(0.5, outcome=Outcome.FAILED),
        trial(0.9),
        trial(0.52),
        trial(0.5),
    ]
    assert arrived_after(runs, 0.5) == 4


def test_without_a_proof_nothing_has_arrived() -> None:
    assert arrived_after([trial(0.5)], None) is None


def test_the_summary_counts_only_wins_of_this_machine() -> None:
    summary = summary_of([{"found": True}, {"found": False}, {"found": None}])
    assert summary.startswith("1 of 2 known wins found")
    assert "in 1 the expert's command gains less" in summary


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name} {case.mpi}")
def test_an_expert_speaks_the_words_of_the_library(case) -> None:
    words_of_case = [*case.best, *case.best_environment, *case.original, *case.original_environment]
    assert words_of_case
    assert not set(words_of_case) & set(all_knobs())
