"""The advice on a record orders the search."""

from dataclasses import replace

from tests.support.situations import situation

from mpiric.workflows.tune.space import requested_space
from mpiric.workflows.tune.state import TuneRequest


def test_a_knob_that_advice_names_is_turned_first():
    request = TuneRequest((), "", {}, try_all=True)
    plain = {d.knob: d.score for d in requested_space(request, situation()).dimensions}
    least_likely = min(plain, key=lambda knob: plain[knob])
    request = replace(request, advised=(least_likely,))
    advised = {d.knob: d.score for d in requested_space(request, situation()).dimensions}
    assert advised[least_likely] >= 0.9 > plain[least_likely]
    assert {knob for knob in plain if advised[knob] != plain[knob]} == {least_likely}
