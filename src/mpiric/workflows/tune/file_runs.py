"""Runs of a tune that tries knobs of files: they last until their bytes are safe, and bytes are bounded.

A program's data may still be in the page caches of its nodes when it exits: what a layout or a hint does
shows at the servers only.
"""

import re

from mpiric import knobs
from mpiric.lab.render import render
from mpiric.model.amount import size
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.situation import Situation
from mpiric.model.trial import Trial
from mpiric.tuning.objective import TIMES
from mpiric.workflows.trials.seeing_mounts import inputs_seen
from mpiric.workflows.tune.state import TuneState

DEFAULT_SHARE = "5%"  # of what quota or disk leave
_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(%|B|KiB|MiB|GiB|TiB)?")


def check_io_budget(text: str) -> str:
    """The text when it is a size or a share, or empty. Raises MpiricError for anything else."""
    found = _SIZE.fullmatch(text)
    if text and (not found or float(found[1]) <= 0 or (found[2] == "%" and float(found[1]) > 100)):
        raise MpiricError(
            f"--io-budget: {text!r} is no size", hint="for example 20GiB, or 5% of what is left"
        )
    return text


def begin_file_runs(state: TuneState) -> None:
    """Have runs last until what they wrote is safe, where the space holds knobs of files.

    Inputs are then cold, unless the user wants them warm; no more is run than the allowed bytes.
    """
    lab, request = state.lab, state.request
    acts = any(knobs.all_knobs()[dimension.knob].acts_on_files for dimension in state.space.dimensions)
    acts = acts or request.objective.text == "io"
    if not acts or state.is_planned or state.marks is not None:
        return
    lab.runs.cold = () if request.warm else inputs_seen(state.situation.job, state.recorded)
    _bound_bytes(state)
    if request.objective.text in TIMES and not lab.judge.until_safe:
        lab.judge.until_safe = True
        launch = render(Configuration(), state.situation)
        state.originals = tuple(
            lab.judge.valued(trial, launch, state.situation) if trial.objective is not None else trial
            for trial in state.originals
        )


def _bound_bytes(state: TuneState) -> None:
    each = bytes_of_a_run(state.originals, state.situation)
    allowed = allowed_bytes(state.request.io_budget, state.situation)
    if not each or allowed is None:
        return
    budget, runs = state.budget, int(allowed // each)
    words = f"--io-budget {state.request.io_budget or DEFAULT_SHARE}"
    if runs <= budget.runs_done:
        raise MpiricError(
            f"{words} allows {size(allowed)}, and {budget.runs_done} runs have written {size(each)} each",
            hint="allow more, make room, or take a smaller input",
        )
    budget.runs = runs if budget.runs is None else min(budget.runs, runs)
    most = budget.runs_that_fit(state.run_s) + budget.runs_done
    sentence = (
        f"a run writes {size(each)}, all together at most {size(most * each)} of {size(allowed)} ({words})"
    )
    state.note(sentence)
    state.narrator.say(sentence)


def bytes_of_a_run(originals: tuple[Trial, ...], situation: Situation) -> float:
    """Bytes that a run writes: by calls, as recorded, or in the files that it leaves."""
    behaviour = situation.observation.behaviour
    recorded = behaviour.numbers.get("io_bytes_written", 0.0) if behaviour else 0.0
    return max(recorded, *(float(trial.written_bytes) for trial in originals), 0.0)


def allowed_bytes(io_budget: str, situation: Situation) -> float | None:
    """Bytes that all runs may write; None where nothing is known of the file system."""
    found = _SIZE.fullmatch(io_budget or DEFAULT_SHARE)
    assert found is not None
    if found[2] != "%":
        return float(found[1]) * _UNITS[found[2] or ""]
    system = knobs.output_system(situation)
    if system is None:
        return None
    quota_free = system.free_bytes if system.quota_free_bytes is None else system.quota_free_bytes
    left = min(system.free_bytes, quota_free)
    return float(found[1]) / 100 * left
