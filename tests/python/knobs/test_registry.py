"""Every knob of the registry, in every situation."""

import re
from pathlib import Path

import pytest
from tests.support.answers import values
from tests.support.situations import MPIS, all_situations, situation

from mpiric.knobs import all_knobs, check_configuration, consider, to_try
from mpiric.model.knob import REMOVED, Knob, ResultsEffect, Skip, Try

ROOT = Path(__file__).parents[3]
SITUATIONS = tuple(all_situations())
KNOBS = list(all_knobs().values())


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_every_value_worth_trying_is_accepted_by_its_own_domain(knob: Knob) -> None:
    for case in SITUATIONS:
        assert all(map(knob.domain.accepts, values(knob.name, case)))


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_a_knob_is_worth_trying_somewhere_and_with_few_values(knob: Knob) -> None:
    counts = [len(a.values) for case in SITUATIONS if isinstance(a := consider(knob, case), Try)]
    assert counts
    assert max(counts) <= 6


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_values_do_not_repeat(knob: Knob) -> None:
    for case in SITUATIONS:
        tried = values(knob.name, case)
        assert len(set(tried)) == len(tried)


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_the_first_values_of_a_knob_are_in_its_domain(knob: Knob) -> None:
    for case in SITUATIONS:
        answer = knob.consider(case)
        if isinstance(answer, Try):
            assert 0.0 <= answer.prior <= 1.0
            assert answer.because
            assert all(map(knob.domain.accepts, answer.first))


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_a_knob_has_a_title_a_reason_and_a_source(knob: Knob) -> None:
    assert knob.sentence
    assert knob.why
    assert knob.source


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_a_knob_is_shown_to_help_by_a_benchmark_or_a_public_measurement(knob: Knob) -> None:
    place, _, text = knob.evidence.partition(": ")
    assert text
    assert re.match(r"https?://", place) or (ROOT / place).is_file()
    assert not place.startswith("benchmarks") or place.startswith("benchmarks/results/")


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_a_knob_that_is_skipped_gives_a_reason_as_users_read_it(knob: Knob) -> None:
    reasons = {a.reason for case in SITUATIONS if isinstance(a := consider(knob, case), Skip)}
    assert all(reason and not reason.endswith(".") for reason in reasons)


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_values_require_registered_knobs_with_values_of_their_domains(knob: Knob) -> None:
    if knob.brings is None:
        return
    for case in SITUATIONS:
        for value in values(knob.name, case):
            assert check_configuration(knob.brings(value, case)) == ()


def test_the_most_promising_knob_comes_first() -> None:
    case = situation(MPIS[1], ranks=8)
    scores = [answer.prior for answer in to_try(case).values()]
    assert scores == sorted(scores, reverse=True)


def test_a_knob_that_may_change_rounding_waits_for_permission() -> None:
    case = situation(MPIS[1], ranks=2)
    rounding = [knob for knob in KNOBS if knob.results is ResultsEffect.ROUNDING]
    assert all(isinstance(consider(knob, case), Skip) for knob in rounding)


def test_an_unknown_knob_is_a_problem() -> None:
    assert check_configuration({"frobnicate": "1"}) == ("no knob is called 'frobnicate'",)


def test_no_removed_knob_is_offered_and_naming_one_says_that_it_was_removed() -> None:
    assert not REMOVED & all_knobs().keys()
    for name in REMOVED:
        (sentence,) = check_configuration({name: "1"})
        assert sentence.startswith(f"the knob {name} has been removed")


def test_a_sound_configuration_has_no_problems() -> None:
    assert check_configuration({"binding": "core", "malloc": "keep-memory"}) == ()


HOSTILE = (
    "/tmp/evil.so",
    "../evil.so",
    "core; rm -rf /",
    "$(id)",
    "`id`",
    "core\nLD_PRELOAD=/tmp/evil.so",
    "",
    "-x LD_PRELOAD=/tmp/evil.so",
    "a=b",
    "a:b",
    "١٢",
)


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
@pytest.mark.parametrize("value", HOSTILE)
def test_no_knob_accepts_a_path_a_command_or_a_variable(knob: Knob, value: str) -> None:
    assert check_configuration({knob.name: value})


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_a_value_that_is_not_text_is_a_problem(knob: Knob) -> None:
    assert check_configuration({knob.name: 2})  # type: ignore[dict-item]


def test_a_value_that_is_too_long_is_refused_in_a_short_sentence() -> None:
    hints = ";".join(f"f{number}:cb_nodes=2" for number in range(300))
    (sentence,) = check_configuration({"mpi-io": hints})
    assert sentence.startswith("'f0:cb_nodes=2;f1:")
    assert f"…, of {len(hints) + 2} characters" in sentence
    assert len(sentence) < 300


def test_a_hint_with_a_blank_is_refused_with_the_accepted_form() -> None:
    (sentence,) = check_configuration({"mpi-io": "cb_nodes=2 3"})
    assert sentence.startswith("'cb_nodes=2 3'")
    assert "which takes hints without blanks" in sentence
