"""Runs of a tune with knobs of files: each run ends when its bytes are safe, and the bytes are limited.

The data of a program may still be in the page caches of its nodes when it exits. The effect of a layout or a
hint is visible at the servers only.
"""

import re
import tempfile
from pathlib import Path

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.host.isolation.trial_area import PREFIX
from mpiric.host.owned_files import remove_tree
from mpiric.host.processes.captured import make_ready
from mpiric.lab.render import render
from mpiric.model.amount import size
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.job import Launch
from mpiric.model.run import Trial
from mpiric.model.situation import Situation
from mpiric.model.storage import FileLayout, Stripes
from mpiric.storage import read_mounts, read_storage, storages
from mpiric.tuning.objective import TIMES
from mpiric.workflows.trials.users_lab import inputs_seen
from mpiric.workflows.tune.state import TuneState

DEFAULT_SHARE = "5%"  # share of the free space
_UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_MIB = 1 << 20
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(%|B|KiB|MiB|GiB|TiB)?")


def check_io_budget(text: str) -> str:
    """Return the text if it is a size, a share, or empty. Raises MpiricError for any other text."""
    match = _SIZE.fullmatch(text)
    if text and (not match or float(match[1]) <= 0 or (match[2] == "%" and float(match[1]) > 100)):
        raise MpiricError(
            f"--io-budget must be a size or a share of the free space, not {text!r}",
            hint="for example --io-budget 20GiB, or --io-budget 5%",
        )
    return text


def begin_file_runs(state: TuneState) -> None:
    """Extend runs until their files are safe if the search space has knobs of files.

    Inputs are then cold, unless the user wants them warm; the allowed bytes limit the number of runs.
    """
    lab, request = state.lab, state.request
    acts = any(knobs.knob_named(dimension.knob).acts_on_files for dimension in state.space.dimensions)
    acts = acts or request.objective.text == "io"
    if not acts or state.is_planned or state.marks is not None:
        return
    lab.runs.cold = () if request.warm else inputs_seen(state.situation.job, state.recorded)
    run_bytes = bytes_of_a_run(state.originals, state.situation)
    allowed = allowed_bytes(request.io_budget, state.situation)
    if run_bytes and allowed is not None:
        budget, runs = state.budget, int(allowed // run_bytes)
        option = f"--io-budget {request.io_budget or DEFAULT_SHARE}"
        if runs <= budget.runs_done:
            raise MpiricError(
                f"{option} allows {size(allowed)}, and {budget.runs_done} runs have written "
                f"{size(run_bytes)} each",
                hint="allow more, free space, or use a smaller input",
            )
        budget.runs = runs if budget.runs is None else min(budget.runs, runs)
        total = size((budget.runs_that_fit(state.run_s) + budget.runs_done) * run_bytes)
        sentence = (
            f"a run writes {size(run_bytes)}, all together at most {total} of {size(allowed)} ({option})"
        )
        state.note(sentence)
        state.narrator.say(sentence)
    if request.objective.text in TIMES and not lab.judge.until_safe:
        lab.judge.until_safe = True
        launch = render(Configuration(), state.situation)
        state.originals = tuple(
            lab.judge.valued(trial, launch, state.situation) if trial.objective is not None else trial
            for trial in state.originals
        )


def bytes_of_a_run(originals: tuple[Trial, ...], situation: Situation) -> float:
    """Return the bytes that a run writes: by recorded calls, or in the files after the run."""
    behaviour = situation.observation.behaviour
    recorded = behaviour.numbers.get("io_bytes_written", 0.0) if behaviour else 0.0
    return max(recorded, *(float(trial.written_bytes) for trial in originals), 0.0)


def allowed_bytes(io_budget: str, situation: Situation) -> float | None:
    """Return the bytes that all runs may write; None if the file system is unknown."""
    match = _SIZE.fullmatch(io_budget or DEFAULT_SHARE)
    assert match is not None
    if match[2] != "%":
        return float(match[1]) * _UNITS[match[2] or ""]
    system = knobs.output_system(situation)
    if system is None:
        return None
    quota_free = system.free_bytes if system.quota_free_bytes is None else system.quota_free_bytes
    return float(match[1]) / 100 * min(system.free_bytes, quota_free)


def layout_refusal(situation: Situation, host: Host, *, in_place: bool) -> str:
    """Return the reason why no layout can be set in the job's directory, "" if one can."""
    system = knobs.output_system(situation)
    storage = storages().get(system.kind) if system else None
    if storage is None or storage.render is None:
        return ""
    if in_place:
        return "with --in-place the directory itself would keep the layout"
    try:
        directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=situation.job.working_directory))
    except OSError as error:
        return f"a directory for trying a layout cannot be made: {error.strerror}"
    try:
        before = _default(directory, host)
        count = 1 if before is not None and before.count != 1 else 2
        layout = FileLayout((Stripes(count, _MIB),))
        launch = Launch((), str(directory), prepare=storage.render(layout, str(directory)))
        if complaint := make_ready(launch, situation.job.environment, directory):
            return complaint
        after = _default(directory, host)
        stripes = [(part.count, part.size_bytes) for part in after.stripes] if after else []
        if stripes != [(count, _MIB)]:
            return "a layout that was set on a directory was not in force when it was read back"
    finally:
        remove_tree(directory)
    return ""


def _default(directory: Path, host: Host) -> FileLayout | None:
    system = read_storage(host, str(directory), read_mounts(host))
    return system.default_layout if system else None
