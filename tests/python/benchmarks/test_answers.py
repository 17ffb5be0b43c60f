"""The table of the benchmark `answers` for invented answers and times, and its table of causes."""

import re
from pathlib import Path

import benchmarks
import pytest
from benchmarks._answers_cases import PROGRAMS, QUICK, Case, cases
from benchmarks._answers_causes import MPIS, causes, command
from benchmarks._answers_score import Remedy, judged, parse_cure, score
from benchmarks.answers import counted, row_of, summary_of, tuned_side, worth_of

from mpiric.knobs import all_knobs
from mpiric.launchers import parse_command
from mpiric.model.configuration import Configuration
from mpiric.model.run import Outcome, Phase, Trial

DIALECTS = {"mpich-5": "hydra", "openmpi-5": "openmpi5", "openmpi-4": "openmpi4"}
MEMORY = Remedy("memory", ("malloc=keep-memory|keep-memory-padded", "allocator=jemalloc"))
EAGER = Remedy("eager", ("eager-node=64KiB|256KiB + network-library=own",), along=("node-buffers",))
KEEP = {"malloc": "keep-memory"}


def labels(case: Case) -> str:
    return f"{case.name} {case.mpi}"


def test_a_cause_is_found_by_any_of_its_cures() -> None:
    assert score({"allocator": "jemalloc"}, [MEMORY]).cured == ("memory",)
    assert score({"malloc": "one-arena"}, [MEMORY]).missed == ("memory",)


def test_a_cure_of_two_settings_needs_both() -> None:
    assert score({"eager-node": "64KiB"}, [EAGER]).missed == ("eager",)
    assert score({"eager-node": "64KiB", "network-library": "own"}, [EAGER]).superfluous == ()


def test_settings_that_no_cause_needs_are_superfluous() -> None:
    assert score({**KEEP, "memory-copy": "4KiB"}, [MEMORY]).superfluous == ("memory-copy=4KiB",)


def test_a_second_cure_of_the_same_cause_is_superfluous() -> None:
    assert score({**KEEP, "allocator": "jemalloc"}, [MEMORY]).superfluous == ("allocator=jemalloc",)


def test_accompanying_settings_of_a_cure_are_not_superfluous() -> None:
    answer = {"eager-node": "64KiB", "network-library": "own", "node-buffers": "16"}
    assert score(answer, [EAGER]).superfluous == ()
    assert score({"node-buffers": "16"}, [EAGER]).superfluous == ("node-buffers=16",)


def test_a_cause_without_cost_is_neither_missed_nor_superfluous() -> None:
    assert score({}, [], [MEMORY]).missed == ()
    assert score(KEEP, [], [MEMORY]) == score({}, [])


def test_an_invalid_setting_is_refused() -> None:
    with pytest.raises(ValueError, match="'malloc' must have the form knob=value"):
        parse_cure("malloc")


def times(original: float = 2.0, without_memory: float = 1.5, without_eager: float = 1.01) -> dict:
    return {
        "original": [original] * 9,
        "known": [1.0] * 9,
        "without memory": [without_memory] * 9,
        "without eager": [without_eager] * 9,
        "this": [1.1] * 9,
    }


def test_the_worth_of_a_cause_is_the_loss_of_the_expert_without_its_cure() -> None:
    assert worth_of(times()) == {"memory": 1.5, "eager": 1.01}
    assert worth_of({"original": [2.0], "known": [1.0]}) == {"known": 2.0}


def test_only_causes_that_are_worth_something_count() -> None:
    assert counted([MEMORY, EAGER], worth_of(times())) == ([MEMORY], [EAGER])
    assert counted([MEMORY], {"known": 2.0}) == ([MEMORY], [])


def tuned(settings: dict[str, str], **more: object) -> dict:
    changes = [{"knob": knob, "value": value} for knob, value in settings.items()]
    result = {"changes": changes, "runs": 40, "verdict": "faster", "ratio": 1.8, "elapsed_s": 9.0}
    return {**result, "command": None, **more}


def made_row(**more: object) -> dict:
    pair = next(case for case in cases() if case.name == "broadcast and late receiver")
    causes_of_pair = {"without bcast": [1.5] * 9, "without eager": [1.4] * 9}
    runs = {"original": [2.0] * 9, "known": [1.0] * 9, "this": [1.1] * 9, **causes_of_pair}
    trials = [
        Trial(Configuration(), Phase.OBSERVE, Outcome.OK, 2.0, 2.0),
        Trial(Configuration.of({"memory-copy": "4KiB"}), Phase.SEARCH, Outcome.OK, 2.1, 2.1),
    ]
    answer = {"bcast-algorithm": "binomial", "memory-copy": "4KiB"}
    return row_of(pair, "mpich-5.0.2", "this", tuned(answer, **more), trials, runs)


def test_a_row_compares_the_answer_with_the_causes() -> None:
    row = made_row()
    assert (row["found"], row["missed"], row["superfluous"]) == ("bcast", "eager", 1)
    assert (row["right_after"], row["knobs_run"]) == (None, ("memory-copy",))
    assert row["loss"] == pytest.approx(0.1)


def test_keys_of_later_answers_are_kept() -> None:
    row = made_row(cannot_matter=[{"knob": "mapping", "why": "one node"}])
    assert row["cannot_matter"] == ["mapping"]
    assert made_row()["cannot_matter"] == []


def test_proved_settings_are_not_superfluous_and_a_fast_answer_misses_nothing() -> None:
    shown = {"memory-copy": {"shown": True}}
    this_row, baseline_row = (
        {**made_row(), "shares": shown},
        {**made_row(), "tree": "baseline", "loss": 0.005},
    )
    assert [(row["superfluous"], row["missed"]) for row in judged([this_row, baseline_row])] == [
        (0, "eager"),
        (0, None),
    ]
    assert judged([baseline_row])[0]["superfluous"] == 1


def test_the_summary_goes_by_tree() -> None:
    summary = summary_of([made_row(), {**made_row(), "tree": "baseline", "missed": None}])
    assert "this: 1 of 2 causes missed, 1.00 superfluous settings an answer" in summary
    assert "baseline: 0 of 2 causes missed" in summary


def test_the_printed_command_runs_in_the_environment_that_was_given() -> None:
    printed = {"argv": ["mpiexec", "x"], "env": {"A": "2"}, "unset": ["B"]}
    side = tuned_side(printed, {"A": "1", "B": "1", "C": "1"})
    assert side is not None
    assert (side.environment, side.unset) == ({"A": "2", "C": "1"}, ("B",))
    assert tuned_side(None, {}) is None


def test_every_cause_is_in_one_of_24_programs() -> None:
    assert len({program.name for program in PROGRAMS}) == 24
    assert {cause for program in PROGRAMS for cause in program.causes} == set(causes())
    assert set(QUICK) <= {program.name for program in PROGRAMS}


@pytest.mark.parametrize("library", MPIS)
def test_under_every_library_some_programs_have_causes_and_some_have_none(library: str) -> None:
    counts = [len(case.causes) for case in cases() if case.mpi == library]
    assert {0, 1, 2} <= set(counts)


@pytest.mark.parametrize("case", cases(), ids=labels)
def test_commands_are_in_the_librarys_words(case: Case) -> None:
    for cured in (False, True):
        settings = command(case.mpi, [(cause, cured) for cause in case.causes])
        line = ["mpiexec", *settings.options, "-n", "2", "./phases"]
        job = parse_command(line, "/", settings.environment, dialect=DIALECTS[case.mpi])
        assert job.program == ("./phases",)
        assert not set(all_knobs()) & {*settings.options, *settings.environment}


@pytest.mark.parametrize("case", cases(), ids=labels)
def test_cures_are_knobs_and_values_that_exist(case: Case) -> None:
    for cause in case.causes:
        for cure in map(parse_cure, cause.remedy.cures):
            for knob, values in cure.items():
                assert all(all_knobs()[knob].domain.accepts(value) for value in values)
        assert set(cause.remedy.along) <= set(all_knobs())


def test_every_phase_of_a_program_is_in_the_source() -> None:
    source = (Path(next(iter(benchmarks.__path__))) / "phases.c").read_text()
    kinds = set(re.findall(r'\{"(\w+)", \w+\}', source))
    assert {phase.split(":")[0] for program in PROGRAMS for phase in program.phases.split()} <= kinds
