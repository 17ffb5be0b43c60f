"""Every knob of the registry, in every situation."""

import pytest
from tests.support.situations import MPIS, all_situations, situation

from mpiric.knobs import all_knobs, applicable, check_configuration, judge
from mpiric.model.knob import Knob, ResultsEffect

SITUATIONS = tuple(all_situations())
KNOBS = list(all_knobs().values())


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_every_value_worth_trying_is_accepted_by_its_own_domain(knob: Knob) -> None:
    for case in SITUATIONS:
        assert all(knob.domain.accepts(value) for value in knob.values(case))


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_a_knob_is_worth_trying_somewhere_and_with_few_values(knob: Knob) -> None:
    counts = [len(knob.values(case)) for case in SITUATIONS if judge(knob, case).applies]
    assert counts
    assert max(counts) <= 6


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_values_do_not_repeat(knob: Knob) -> None:
    for case in SITUATIONS:
        assert len(set(knob.values(case))) == len(knob.values(case))


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_what_is_promised_first_is_a_value_the_domain_accepts(knob: Knob) -> None:
    for case in SITUATIONS:
        promise = knob.promise(case)
        assert 0.0 <= promise.score <= 1.0
        assert promise.because
        assert all(knob.domain.accepts(value) for value in promise.try_first)


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_a_knob_says_what_why_and_from_where(knob: Knob) -> None:
    assert knob.sentence
    assert knob.why
    assert knob.source


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_a_knob_always_gives_the_reason_for_its_verdict(knob: Knob) -> None:
    assert all(judge(knob, case).reason for case in SITUATIONS)


@pytest.mark.parametrize("knob", KNOBS, ids=lambda knob: knob.name)
def test_what_a_value_needs_are_knobs_of_the_registry_with_values_of_their_domains(knob: Knob) -> None:
    if knob.brings is None:
        return
    for case in SITUATIONS:
        for value in knob.values(case):
            assert check_configuration(knob.brings(value, case)) == ()


def test_the_most_promising_knob_comes_first() -> None:
    case = situation(MPIS[1], ranks=8)
    scores = [knob.promise(case).score for knob in applicable(case).values()]
    assert scores == sorted(scores, reverse=True)


def test_every_knob_is_either_applicable_or_left_alone_for_a_reason() -> None:
    for case in SITUATIONS:
        verdicts = {name: judge(knob, case) for name, knob in all_knobs().items()}
        taken = set(applicable(case))
        left = {name for name, verdict in verdicts.items() if not verdict.applies and verdict.reason}
        assert taken | left == set(all_knobs())
        assert not taken & left


def test_a_knob_that_may_change_rounding_waits_for_permission() -> None:
    case = situation(MPIS[1], ranks=2)
    rounding = [knob for knob in KNOBS if knob.results is ResultsEffect.ROUNDING]
    assert not any(judge(knob, case).applies for knob in rounding)


def test_an_unknown_knob_is_a_problem() -> None:
    assert check_configuration({"frobnicate": "1"}) == ("no knob is called 'frobnicate'",)


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
def test_a_value_that_is_no_text_is_a_problem(knob: Knob) -> None:
    assert check_configuration({knob.name: 2})  # type: ignore[dict-item]


def test_a_value_that_is_too_long_is_refused_in_a_short_sentence() -> None:
    hints = ";".join(f"f{number}:cb_nodes=2" for number in range(300))
    (sentence,) = check_configuration({"mpi-io": hints})
    assert sentence.startswith("'f0:cb_nodes=2;f1:")
    assert f"…, of {len(hints) + 2} characters, is no value of the knob mpi-io" in sentence
    assert len(sentence) < 300


def test_of_a_hint_with_a_blank_it_is_said_what_the_knob_takes() -> None:
    (sentence,) = check_configuration({"mpi-io": "cb_nodes=2 3"})
    assert sentence.startswith(
        "'cb_nodes=2 3' is no value of the knob mpi-io, which takes hints without blanks"
    )
