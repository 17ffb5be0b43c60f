"""Knobs that act on files: required permissions of the user, and class of the answer."""

from dataclasses import replace

import pytest
from tests.support.situations import MPIS, situation

from mpiric import knobs
from mpiric.model.knob import Choice, FilesEffect, Knob, Skip, Try, worst_effect
from mpiric.model.situation import Allowed


def knob(effect):
    return Knob(
        name="buffers", sentence="", why="", source="", evidence="", domain=Choice(("on",)), files=effect,
        consider=lambda _: Try(("on",), 0.1, ""),
    )  # fmt: skip


@pytest.mark.parametrize("effect", [FilesEffect.LATE, FilesEffect.RELAYOUT])
def test_a_class_is_tried_only_where_it_is_allowed(effect):
    plain = situation(MPIS[0], ranks=4)
    assert knobs.consider(knob(effect), plain) == Skip(f"only tried with --allow-{effect.value}")
    allowed = replace(plain, allowed=Allowed(**{effect.value: True}))
    assert isinstance(knobs.consider(knob(effect), allowed), Try)


def test_the_first_class_needs_no_permission():
    answer = knobs.consider(knob(FilesEffect.SAME), situation(MPIS[0], ranks=4))
    assert isinstance(answer, Try)


def test_the_class_of_an_answer_is_the_worst_of_its_knobs():
    assert worst_effect([]) is FilesEffect.SAME
    assert worst_effect([FilesEffect.LATE, FilesEffect.SAME]) is FilesEffect.LATE
    assert worst_effect([FilesEffect.RELAYOUT, FilesEffect.LATE]) is FilesEffect.RELAYOUT


def test_all_knobs_that_act_on_files_are_in_one_group():
    assert "io" in knob(FilesEffect.LATE).chosen_by
    assert "io" not in knob(FilesEffect.SAME).chosen_by
    assert all(
        "io" in candidate.chosen_by
        for candidate in knobs.all_knobs().values()
        if candidate.family in ("io", "late")
    )
