"""The advice on a record orders the search."""

from tests.support.situations import situation

from mpiric.workflows.tune.space import space_of


def test_a_knob_that_advice_names_is_turned_first():
    plain = {d.knob: d.score for d in space_of(situation()).dimensions}
    least = min(plain, key=lambda knob: plain[knob])
    advised = {d.knob: d.score for d in space_of(situation(), advised=(least,)).dimensions}
    assert advised[least] >= 0.9 > plain[least]
    assert {knob for knob in plain if advised[knob] != plain[knob]} == {least}
