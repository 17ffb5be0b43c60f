"""The advice on a record orders the search."""

from tests.support.situations import situation

from mpiric.workflows.tune.space import space_of


def test_a_knob_that_advice_names_is_turned_first():
    plain = {d.knob: d.score for d in space_of(situation()).dimensions}
    least_likely = min(plain, key=lambda knob: plain[knob])
    advised = {d.knob: d.score for d in space_of(situation(), advised=(least_likely,)).dimensions}
    assert advised[least_likely] >= 0.9 > plain[least_likely]
    assert {knob for knob in plain if advised[knob] != plain[knob]} == {least_likely}
