"""The result of a tune on its three surfaces: terminal, JSON, page."""

import io
import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console
from tests.support.situations import MPIS, situation

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence, Verdict
from mpiric.model.launch import Launch, Setting
from mpiric.model.split_gain import PartRatio, SplitGain
from mpiric.model.trial import Outcome, Phase, Split, Trial
from mpiric.model.tuned import KnobChange, Rejected, Timing, Tuned
from mpiric.report.tuned_html import tuned_html
from mpiric.report.tuned_json import tuned_json
from mpiric.report.tuned_text import print_tuned

WINNER = Configuration((("binding", "core"),))
EVIDENCE = Evidence(
    WINNER, Verdict.FASTER, 1.5, 1.4, 1.6, ((1.5, 1.0),) * 9, 0.99, 0.01, "the interval is above 1.01"
)
FASTER = Tuned(
    job=situation().job,
    mpi=MPIS[1],
    machine="n1: 2 CPUs",
    evidence=EVIDENCE,
    original=Timing(1.5, 9),
    tuned=Timing(1.0, 9),
    changes=(KnobChange("binding", "core", "no rank is bound"),),
    launch=Launch(
        ("mpiexec", "-bind-to", "core", "./app"),
        "/home/u",
        {"A": "1 2"},
        settings=(Setting("binding", "-bind-to", "core", "command line", "-bind-to none (command line)"),),
    ),
    rejected=(Rejected(Configuration((("malloc", "x"),)), "ended by signal SIGSEGV <&>"),),
    runs=30,
    elapsed_s=75.0,
    recipe="/s/recipe.toml",
    store="/s",
)
SPLIT = SplitGain(
    Split(0.34, 0.5, 0.01),
    Split(0.12, 0.515, 0.01),
    PartRatio(2.84, 2.5, 3.1),
    PartRatio(0.97, 0.93, 1.02),
    ((10, 1.02), (100, 0.99)),
)
NOTHING = replace(FASTER, evidence=None, tuned=None, changes=(), recipe="")
CONTRACT = {
    *("verdict", "ratio", "ratio_ci95", "original", "tuned", "changes", "rejected", "runs", "elapsed_s"),
    *("recipe", "command"),
}


def text(tuned: Tuned) -> str:
    out = io.StringIO()
    print_tuned(tuned, Console(file=out, width=80))
    return out.getvalue()


def test_the_headline_says_times_ratio_interval_and_verdict() -> None:
    line = text(FASTER).strip().splitlines()[0]
    assert all(
        part in line for part in ("1.5 s → 1 s", "1.50×", "[1.40, 1.60]", "faster, proved", "9 fresh pairs")
    )


def test_the_command_without_mpiric_stays_one_line() -> None:
    assert "  A='1 2' mpiexec -bind-to core ./app\n" in text(FASTER)


def test_what_is_overridden_is_said() -> None:
    assert "-bind-to overrides -bind-to none (command line)" in text(FASTER)


def test_an_interrupted_tune_says_how_to_go_on() -> None:
    assert "mpiric tune --resume -- mpiexec -n 2 ./app" in text(replace(NOTHING, interrupted=True))


@pytest.mark.parametrize("tuned", [FASTER, NOTHING], ids=["faster", "nothing"])
def test_the_object_for_scripts_has_every_key_of_the_contract(tuned: Tuned) -> None:
    assert set(tuned_json(tuned)) >= CONTRACT


def test_an_open_interval_is_still_json() -> None:
    open_ended = replace(FASTER, evidence=replace(EVIDENCE, low=0.0, high=float("inf")))
    found = json.loads(json.dumps(tuned_json(open_ended), allow_nan=False))
    assert found["ratio_ci95"] == [0.0, None]


def test_a_number_to_be_made_large_is_shown_as_the_user_means_it() -> None:
    assert replace(FASTER, maximise=True).shown(0.25) == 4.0


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "section":
            self.sections.append(str(given.get("id")))
        self.outside += [str(given[name]) for name in ("src", "href") if name in given]


def test_the_page_has_its_sections_and_asks_nothing_of_the_network() -> None:
    trials = (
        Trial(Configuration(), Phase.OBSERVE, Outcome.OK, 1.5, 1.5),
        Trial(WINNER, Phase.SEARCH, Outcome.OK, 1.0, 1.0),
        Trial(Configuration((("malloc", "x"),)), Phase.SEARCH, Outcome.FAILED, 0.1, reason="crashed"),
    )
    page = _Page()
    html = tuned_html(FASTER, trials, "0.1")
    page.feed(html)
    assert page.sections == ["result", "changes", "command", "proof", "search", "rejected"]
    assert page.outside == []
    assert "SIGSEGV &lt;&amp;&gt;" in html


def test_the_page_of_a_tune_without_a_proof_still_stands() -> None:
    assert "nothing was proved" in tuned_html(NOTHING, (), "0.1")


def test_the_parts_of_a_gain_are_told_apart() -> None:
    page = text(replace(FASTER, split=SPLIT))
    assert "start-up   0.34 → 0.12 s          2.84× [2.50, 3.10]\n" in page
    assert "main part  0.5 → 0.515 s          0.97× [0.93, 1.02]  no difference shown\n" in page
    assert "A run 10 times as long would gain 1.02× and one 100 times as long would gain 0.99×." in " ".join(
        page.split()
    )
    assert "2.84× [2.50, 3.10]" in tuned_html(replace(FASTER, split=SPLIT), (), "1")


def test_scripts_read_the_split_side_by_side_and_part_by_part() -> None:
    split = tuned_json(replace(FASTER, split=SPLIT))["split"]
    assert split["original"] == {"start_s": 0.34, "main_s": 0.5, "end_s": 0.01}
    assert split["start_s"] == [0.34, 0.12]
    assert (split["ratio_main"], split["ratio_main_interval"]) == (0.97, [0.93, 1.02])
    steps = replace(SPLIT, original=Split(0.3, per_mark_s=0.02), tuned=Split(0.2, per_mark_s=0.01), longer=())
    split = tuned_json(replace(FASTER, split=steps))["split"]
    assert (split["per_mark_s"], split["end_s"]) == ([0.02, 0.01], None)
    assert split["steps"] == {"ratio": 0.97, "ci95": [0.93, 1.02]}
    assert tuned_json(FASTER)["split"] is None
