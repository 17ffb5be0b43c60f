"""Every page of every report in Chromium: nothing is wider than its place, clipped, or hard to read."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.python.report.test_policy_report import POLICY
from tests.python.report.test_profile import profile_of
from tests.python.report.test_tuned import FAULTS, LIKELY, NOTHING, SPLIT, with_symptom
from tests.support.browser import DARK, faults

from mpiric.model.configuration import Configuration
from mpiric.model.errors import Finding
from mpiric.model.run import Outcome, Phase, Trial
from mpiric.model.tuned import CannotMatter, Tuned
from mpiric.profile.analyse import compare
from mpiric.report.comparison_text import comparison_html
from mpiric.report.policy_text import policy_html
from mpiric.report.profile_html import profile_html
from mpiric.report.tuned_html import round_ticks, tuned_html

COLLECTIVES = (
    "allgather allgatherv alltoall alltoallv barrier bcast exscan gather gatherv reduce scan scatter"
)
TRIALS = tuple(
    Trial(
        Configuration((("malloc", "keep-memory"),)), Phase.SEARCH, Outcome.OK, 1.0, objective=0.3 + 0.05 * at
    )
    for at in range(10)
)


def tuned(answer: Tuned) -> str:
    """Render the page of a tune with long texts in every table."""
    knobs = (
        CannotMatter(f"{name}-algorithm", "the collective is not called") for name in COLLECTIVES.split()
    )
    says, evidence = "Memory that is freed goes back to the system. " * 3, "99,999 page faults " * 6
    finding = Finding("page-faults", says, evidence, "x " * 60)
    return tuned_html(replace(answer, cannot_matter=tuple(knobs), findings=(finding,)), TRIALS, "1")


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    return {
        "profile": profile_html(profile_of(), "1"),
        "comparison": comparison_html(compare(("a", profile_of()), ("b", profile_of(8))), "1"),
        "policy": policy_html(POLICY, "1"),
        "tuned": tuned(replace(with_symptom(FAULTS), split=SPLIT)),
        "likely": tuned(LIKELY),
        "nothing": tuned(NOTHING),
    }


@pytest.mark.requires("chromium")
@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), (DARK,)], ids=["light", "dark"])
def test_pages_have_no_faults_on_a_screen_and_on_a_phone(pages, flags, tmp_path: Path):
    shown = faults(pages, (1280, 390), tmp_path, *flags)
    assert {name: problems for name, problems in shown.items() if problems} == {}


@pytest.mark.requires("chromium")
@pytest.mark.slow
def test_the_page_of_an_order_has_no_faults(run_mpiric, tmp_path: Path):
    page = tmp_path / "order.html"
    options = ("--grid", "8x8", "--stencil", 5, "--network", "torus:2x4", "--show", "--html", page)
    assert run_mpiric("map", *options).returncode == 0
    shown = faults({"order": page.read_text()}, (1280, 390), tmp_path)
    assert {name: problems for name, problems in shown.items() if problems} == {}


@pytest.mark.requires("chromium")
@pytest.mark.slow
def test_faults_are_found(tmp_path: Path):
    """The checks themselves: a wide element, clipped text, pale text."""
    clips = "width: 3em; overflow: hidden; white-space: nowrap"
    page = (
        f'<p style="width: 2000px">wide</p><p style="{clips}">clipped text</p><p style="color: #999">pale</p>'
    )
    shown = " ".join(faults({"page": page}, (390,), tmp_path)["page at 390"])
    for fault in ("the page scrolls", "wider than its container", "clipped", "contrast"):
        assert fault in shown


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.28, 0.83, (0.4, 0.6, 0.8)),
        (0.9, 1.1, (0.9, 1.0, 1.1)),
        (95.0, 105.0, (95, 100, 105)),
        (0.02, 40.0, (0.1, 1, 10)),
        (0.5, 12.0, (0.5, 1, 2, 5, 10)),
    ],
)
def test_ticks_are_round_numbers_within_the_axis(low, high, ticks):
    assert round_ticks(low, high) == pytest.approx(ticks)
