"""The result of a tune on its three surfaces: terminal, JSON, page."""

import io
import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console
from tests.support.situations import MPIS, situation

from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Evidence, Share, Verdict, WholeCheck, WholeVerdict
from mpiric.model.job import Launch, Setting
from mpiric.model.pace import MarkKey, MarkPair
from mpiric.model.run import Outcome, Phase, Split, Trial
from mpiric.model.tuned import (
    BestSoFar,
    KnobChange,
    PartRatio,
    Rejected,
    RunTimes,
    SplitGain,
    SymptomChange,
    Timing,
    Tuned,
    TunedMarks,
)
from mpiric.report.json_objects import tuned_json
from mpiric.report.tuned_html import tuned_html
from mpiric.report.tuned_text import print_tuned

WINNER = Configuration((("binding", "core"),))
EVIDENCE = Evidence(WINNER, Verdict.FASTER, 1.5, 1.4, 1.6, ((1.5, 1.0),) * 9, 0.99, 0.01, "above 1.01")
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
    *("recipe", "command", "ratio_interval", "configuration"),
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


def test_words_that_wrap_stay_within_their_indent() -> None:
    lines = text(replace(FASTER, notes=("many words of a note " * 12,))).splitlines()
    (first,) = [at for at, line in enumerate(lines) if line.startswith("  many")]
    assert all(line.startswith("  ") and len(line) <= 80 for line in lines[first : first + 4])


def test_overridden_settings_are_reported() -> None:
    assert "-bind-to overrides -bind-to none (command line)" in text(FASTER)


def test_an_interrupted_tune_says_how_to_go_on() -> None:
    assert "mpiric tune --resume -- mpiexec -n 2 ./app" in text(replace(NOTHING, interrupted=True))


LIKELY = replace(
    FASTER,
    evidence=replace(FASTER.evidence, verdict=Verdict.LIKELY, missing_pairs=2),
    changes=(),
    recipe="",
    best_so_far=BestSoFar(FASTER.evidence.configuration, 2.2, FASTER.launch, 8, 8, 2, 1.1),
)


def test_a_gain_that_is_two_pairs_short_of_a_proof_is_likely_and_says_how_to_get_them() -> None:
    page = text(LIKELY)
    assert "likely, not proved for binding=core" in page.splitlines()[1]
    assert "faster in 8 of 8 pairs; a proof needs at least 2 more, about 1.1 s" in page
    assert "  A='1 2' mpiexec -bind-to core ./app\n" in page
    assert "mpiric tune --resume -- mpiexec -n 2 ./app" in page
    html = tuned_html(LIKELY, (), "1")
    assert "faster in 8 of 8 pairs" in html
    assert "mpiexec -bind-to core" in html
    best = tuned_json(LIKELY)["best_so_far"]
    assert (best["pairs"], best["wins"], best["missing_pairs"]) == (8, 8, 2)
    assert tuned_json(LIKELY)["verdict"] == "likely, not proved"


def test_the_headline_of_a_page_is_not_an_unproved_ratio() -> None:
    shown = replace(FASTER, evidence=replace(FASTER.evidence, verdict=Verdict.NO_DIFFERENCE), changes=())
    assert "<b>no difference shown</b>" in tuned_html(shown, (), "1")
    assert '<b class="faster">' in tuned_html(FASTER, (), "1")


def test_a_tune_without_trials_reports_the_reason_and_untried_knobs() -> None:
    nothing = replace(NOTHING, not_reached=("malloc",), nothing_tried="a run takes 56 s")
    assert "nothing was tried: a run takes 56 s" in text(nothing)
    assert "not reached: malloc" in text(nothing)
    assert tuned_json(nothing)["verdict"] == "no candidate found"
    assert tuned_json(nothing)["not_reached"] == ["malloc"]


@pytest.mark.parametrize("tuned", [FASTER, NOTHING], ids=["faster", "nothing"])
def test_the_object_for_scripts_has_every_key_of_the_contract(tuned: Tuned) -> None:
    assert set(tuned_json(tuned)) >= CONTRACT


FAULTS = SymptomChange(
    "page faults a second and rank",
    232e3,
    900.0,
    "232,000 page faults a second and rank",
    "900 page faults",
    True,
)
STILL = replace(FAULTS, after=230e3, afterwards="230,000 page faults", moved=False)
TIMES = (
    RunTimes(0.1, 0.5, 0.2, 0.1, 0.6, 0.0, 0.01),
    RunTimes(0.1, 0.3, 0.05, 0.1, 0.0, 0.0, 0.01),
)


def with_symptom(*changes: SymptomChange) -> Tuned:
    return replace(FASTER, changes=(replace(FASTER.changes[0], afterwards=changes),), times=TIMES)


def test_a_setting_reports_symptoms_before_and_after() -> None:
    for shown in (
        " ".join(text(with_symptom(FAULTS, STILL)).split()),
        tuned_html(with_symptom(FAULTS), (), "1"),
    ):
        assert "noticed: 232,000 page faults a second and rank → afterwards: 900 page faults" in shown
        assert "why is not known" not in shown


def test_numbers_independent_of_settings_are_reported_once() -> None:
    blocks = replace(STILL, noticed="20 large allocations", afterwards="31 large allocations", is_cause=True)
    shown = " ".join(text(with_symptom(blocks, FAULTS)).split())
    assert "noticed: 20 large allocations; 232,000 page faults" in shown
    assert "→ afterwards: 900 page faults" in shown
    assert "31" not in shown.partition("afterwards:")[2][:40]


def test_a_setting_whose_symptom_stays_helps_and_says_so() -> None:
    for shown in (" ".join(text(with_symptom(STILL)).split()), tuned_html(with_symptom(STILL), (), "1")):
        assert (
            "it helps, but no quantity that it should change has changed (noticed: 232,000 page faults"
            in shown
        )
        assert "no rank is bound" not in shown


def test_without_a_record_a_setting_has_the_reason_of_its_knob() -> None:
    assert "no rank is bound" in text(FASTER)
    (change,) = tuned_json(FASTER)["changes"]
    assert (change["noticed"], change["afterwards"]) == ("", [])


def test_scripts_get_the_numbers_before_and_after() -> None:
    (change,) = json.loads(json.dumps(tuned_json(with_symptom(FAULTS))))["changes"]
    assert change["noticed"] == "232,000 page faults a second and rank"
    assert change["afterwards"] == [
        {"what": "page faults a second and rank", "before": 232e3, "after": 900.0}
    ]


def test_times_of_both_runs_are_side_by_side() -> None:
    lines = text(with_symptom(FAULTS)).splitlines()
    bars = {line.split()[0]: line.count("█") for line in lines if line.startswith(("  original", "  tuned "))}
    assert bars["original"] > 2 * bars["tuned"] > 0
    assert any("kernel" in line and "0.6 → 0 s" in line for line in lines)
    assert not any("files" in line for line in lines)
    page = tuned_html(with_symptom(FAULTS), (), "1")
    assert '<i class="kernel_s"' in page
    assert tuned_json(with_symptom(FAULTS))["times"]["original"]["kernel_s"] == 0.6


def test_an_end_that_is_not_known_apart_counts_as_start_up() -> None:
    times = tuple(replace(parts, end_s=None) for parts in TIMES)
    assert "start-up, end" in text(replace(FASTER, times=times))
    assert tuned_json(replace(FASTER, times=times))["times"]["tuned"]["end_s"] is None


def test_an_open_interval_is_still_json() -> None:
    open_ended = replace(FASTER, evidence=replace(EVIDENCE, low=0.0, high=float("inf")))
    result = json.loads(json.dumps(tuned_json(open_ended), allow_nan=False))
    assert result["ratio_interval"] == [0.0, None]


def test_the_interval_is_that_of_the_verdict_and_the_one_of_95_percent_stays_for_scripts() -> None:
    result = tuned_json(replace(FASTER, evidence=replace(EVIDENCE, ci95=(1.45, 1.55))))
    assert (result["ratio_interval"], result["confidence"]) == ([1.4, 1.6], 0.99)
    assert result["ratio_ci95"] == [1.45, 1.55]


def shared(*shares: Share) -> Tuned:
    """Return a result with two settings and their shares."""
    evidence = replace(EVIDENCE, configuration=TWO, shares=shares)
    changes = tuple(
        KnobChange(knob, value, "why", share=evidence.share_of(knob), site=knob == "binding")
        for knob, value in TWO.items
    )
    return replace(FASTER, evidence=evidence, changes=changes)


TWO = Configuration.of({"binding": "core", "malloc": "keep-memory"})
MALLOC = Share(("malloc",), 1.71, 1.6, 1.84, 6, shown=True)
BINDING = Share(("binding",), 1.052, 1.03, 1.07, 6, shown=True)


def test_each_setting_has_its_share() -> None:
    lines = text(shared(MALLOC, BINDING))
    assert "malloc = keep-memory   +71 % [60, 84] without it" in lines
    assert "binding = core   +5.2 % [3.0, 7.0] without it" in lines


def test_settings_that_move_together_are_worth_something_together() -> None:
    lines = text(shared(replace(MALLOC, knobs=("binding", "malloc"))))
    assert "malloc = keep-memory   +71 % [60, 84] without it and binding" in lines


def test_settings_without_a_shown_contribution_are_reported_with_the_reason() -> None:
    why = "the budget ended after 2 runs without it"
    unsure = replace(BINDING, low=0.0, high=float("inf"), shown=False, why=why)
    sentences = " ".join(text(shared(MALLOC, unsure)).split())
    assert f"binding = core +5.2 % without it, not shown to contribute: {why}" in sentences


def test_likely_contributions_are_reported_with_their_size() -> None:
    likely = replace(BINDING, shown=False, is_likely=True)
    sentences = " ".join(text(shared(MALLOC, likely)).split())
    assert f"likely +5.2 % [3.0, 7.0] without it, not significant in {BINDING.runs} runs" in sentences


def test_a_setting_without_which_nothing_runs_says_so() -> None:
    needed = replace(BINDING, shown=False, is_needed=True, why="without it: ended by signal 11")
    assert "binding = core   does not run without it: ended by signal 11" in text(shared(MALLOC, needed))


def test_a_share_whose_runs_were_stopped_is_open_above() -> None:
    assert "+71 % [60, ∞) without it" in text(shared(replace(MALLOC, high=float("inf")), BINDING))


def test_shares_far_from_the_whole_gain_are_reported_as_interacting() -> None:
    pair = (MALLOC, replace(BINDING, ratio=1.7, low=1.6, high=1.8))
    sentences = "binding, malloc interact: their shares multiply to 2.91×, the total gain is 1.50×"
    assert sentences in " ".join(text(shared(*reversed(pair))).split())
    assert "interact: their" not in text(shared(replace(MALLOC, ratio=1.4, low=1.3, high=1.5), BINDING))


def test_settings_for_every_program_are_marked_with_a_command() -> None:
    lines = text(shared(MALLOC, BINDING))
    assert "binding can become site defaults" in lines
    assert "  mpiric tune --site -- mpiexec -n 2 ./app\n" in lines


def test_scripts_get_the_share_of_each_setting() -> None:
    changes = {change["knob"]: change for change in tuned_json(shared(MALLOC, BINDING))["changes"]}
    share = changes["malloc"]["share"]
    assert (share["ratio"], share["interval"], share["pairs"]) == (1.71, [1.6, 1.84], 6)
    assert (changes["binding"]["site"], changes["malloc"]["site"]) == (True, False)
    json.dumps(changes, allow_nan=False)


def test_the_single_setting_of_an_answer_is_worth_all_of_the_gain() -> None:
    share = EVIDENCE.share_of("binding")
    assert share is not None
    assert (share.ratio, share.low, share.high, share.runs) == (1.5, 1.4, 1.6, 9)
    assert EVIDENCE.share_of("malloc") is None


def test_the_page_shows_shares_and_the_interval_of_the_verdict() -> None:
    html = tuned_html(shared(MALLOC, BINDING), (), "0.1")
    assert "+71 % [60, 84] without it" in html
    assert "[1.40, 1.60] at 99 %" in html
    assert "95 %" not in html


def test_a_number_to_be_made_large_is_shown_as_the_user_means_it() -> None:
    assert replace(FASTER, maximise=True).shown(0.25) == 4.0


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "section":
            self.sections.append(str(attributes.get("id")))
        self.outside += [str(attributes[name]) for name in ("src", "href") if name in attributes]


def test_the_page_has_its_sections_and_asks_nothing_of_the_network() -> None:
    trials = (
        Trial(Configuration(), Phase.OBSERVE, Outcome.OK, 1.5, 1.5),
        Trial(WINNER, Phase.SEARCH, Outcome.OK, 1.0, 1.0),
        Trial(Configuration((("malloc", "x"),)), Phase.SEARCH, Outcome.FAILED, 0.1, reason="crashed"),
    )
    page = _Page()
    html = tuned_html(FASTER, trials, "0.1")
    page.feed(html)
    assert page.sections == ["result", "command", "changes", "proof", "search", "rejected"]
    assert page.outside == []
    assert "SIGSEGV &lt;&amp;&gt;" in html


def test_the_page_of_a_tune_without_a_proof_is_complete() -> None:
    assert "no faster configuration was found" in tuned_html(NOTHING, (), "0.1")


def test_where_no_gain_is_shown_none_is_divided() -> None:
    undecided = replace(NOTHING, split=replace(SPLIT, start=PartRatio(0.9, 0.0, float("inf"))))
    assert "Where the gain is" not in text(undecided)
    only_start = text(replace(NOTHING, split=SPLIT))
    assert "start-up   0.34 → 0.12 s          2.84× [2.50, 3.10]\n" in only_start
    assert "times as long would gain" not in only_start


def test_the_parts_of_a_gain_are_distinguished() -> None:
    page = text(replace(FASTER, split=SPLIT))
    assert "start-up   0.34 → 0.12 s          2.84× [2.50, 3.10]\n" in page
    assert "main part  0.5 → 0.515 s          0.97× [0.93, 1.02]  no difference shown\n" in page
    assert "times as long would gain" not in page  # nothing is shown of the part that would be longer


def test_the_gain_of_a_longer_run_is_reported_with_its_interval() -> None:
    split = replace(SPLIT, main=PartRatio(1.25, 1.2, 1.3), longer=((10, 1.3),))
    assert "A run 10 times as long would gain 1.30× [1." in " ".join(
        text(replace(FASTER, split=split)).split()
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


def test_a_comparison_by_steps_lists_parts_that_were_not_compared() -> None:
    split = replace(SPLIT, original=Split(0.3, per_mark_s=0.02), tuned=Split(0.2, per_mark_s=0.01), longer=())
    pair = MarkPair(MarkKey("MPI_Allreduce", "lmp+0x48f2", 4, 0), 400, 1300)
    tuned = replace(FASTER, scope="steps", marks=TunedMarks(pair, "even"), split=split)
    first, second = text(tuned).strip().splitlines()[:2]
    looked_at = "steps 400–1,300; start-up 2.84× [2.50, 3.10]; the rest was not compared."
    assert f"1.50× per step [1.40, 1.60], proved on {looked_at}" in first
    assert second == "Steps are counted by MPI_Allreduce at lmp+0x48f2 (even)."
    unchanged = replace(split, start=PartRatio(1.01, 0.97, 1.04))
    assert "; start-up unchanged; the rest" in text(replace(tuned, split=unchanged))
    assert f"On {looked_at} {second}" in tuned_html(tuned, (), "1")
    agrees = replace(tuned, whole=WholeCheck(WholeVerdict.AGREES))
    assert "; a complete run agrees with the original." in text(agrees)
    assert tuned_json(agrees)["whole_check"] == "agrees"
    result = tuned_json(tuned)
    assert (result["scope"], result["marks"]["first"], result["marks"]["last"]) == ("steps", 400, 1300)
