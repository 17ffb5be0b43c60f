"""The recipe of a tune, its learned collective algorithms as files, and the settings of the answer."""

from collections.abc import Iterable
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any

from mpiric import __version__, knobs
from mpiric.host.files import is_file
from mpiric.host.host import Host
from mpiric.lab.mark_judge import kept_files
from mpiric.lab.render import completed, spellings, with_arguments
from mpiric.model.amount import share
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Evidence, ProvedMarks, Recipe
from mpiric.model.job import Job, Launch
from mpiric.model.knob import Try
from mpiric.model.run import Outcome, Trial
from mpiric.model.situation import Situation
from mpiric.model.tuned import FORECAST, STEPS, WHOLE_RUN, KnobChange, SplitGain, Timing, TunedMarks
from mpiric.outputs.digest import first_nan
from mpiric.outputs.files import files_in
from mpiric.report.tuned_parts import chain
from mpiric.schedulers import job_around
from mpiric.tuning.objective import TIMES
from mpiric.tuning.recipe import MOST_INPUTS, file_name, save_copy, write_recipe
from mpiric.workflows.launch.fingerprints import fingerprint, program_name
from mpiric.workflows.launch.parse_job import program_path
from mpiric.workflows.policies import all_learned, export_policy, of_library, origins
from mpiric.workflows.run.collectives import RunRequest
from mpiric.workflows.run.run import prepare
from mpiric.workflows.trials.step_markers import WHOLE_RUNS
from mpiric.workflows.tune.check_answer import afterwards_of, leads_outside
from mpiric.workflows.tune.space import proved_order
from mpiric.workflows.tune.start import why_whole
from mpiric.workflows.tune.state import TuneState

_TRACE = ("env", "LD_TRACE_LOADED_OBJECTS=1")  # ld.so(8): list the libraries and end
_LIMIT_S = 20.0
_MISSING = " => not found"


def save_recipe(state: TuneState, evidence: Evidence, split: SplitGain | None, host: Host) -> str:
    """Write the recipe of the proved configuration; return its path, "" if `mpiric run` cannot apply it."""
    request, situation, configuration = state.request, state.situation, evidence.configuration
    tuner, collectives = situation.tuner, configuration.as_dict().get("collectives", "")
    policy = {"policy": tuner.policy, "exported": tuner.exported_policy}.get(collectives)
    recipe = Recipe(
        name=program_name(situation.job),
        configuration=configuration,
        fingerprint=fingerprint(situation.job, situation.machine, situation.mpi, host),
        evidence=evidence,
        command=request.argv,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        reasons={name: _reason(name, value, state) for name, value in configuration.items},
        checked_output=request.checked_output,
        mpiric_version=__version__,
        scope=scope_of(state) if state.marks else "",
        whole=state.whole_check if state.marks else None,
        marks=proved_marks(state, split),
        policy=tuple(Path(policy).read_text(encoding="ascii").splitlines()) if policy else (),
        measured_in=job_around(host),
        rank_order=proved_order(configuration, situation),
        parameters=request.baseline_parameters,
    )
    path = state.log.path / file_name(recipe.name)
    write_recipe(path, recipe)
    run = RunRequest(
        request.argv,
        request.working_directory,
        request.environment,
        recipe=path,
        file_templates=request.file_templates,
    )
    try:
        prepared = prepare(run, host)
        if lost := [item for item in configuration.items if item not in prepared.configuration.items]:
            reason = "; ".join(prepared.sentences)
            raise MpiricError(reason or f"it would leave out {Configuration(tuple(lost))}")
        job = with_arguments(configuration, situation).job
        missing = missing_libraries(prepared.launch, job, host) if situation.nodes == 1 else ()
        if missing:
            raise MpiricError(f"its ranks would not find {', '.join(missing)}")
    except MpiricError as error:
        path.unlink()
        state.note(f"no recipe was saved, since `mpiric run` could not apply it: {error.message}")
        return ""
    if request.output is not None:
        path = save_copy(request.output, recipe)
    return str(path)


def export_learned(
    configuration: Configuration, trials: Iterable[Trial], directory: Path, host: Host
) -> list[str]:
    """Export the learned choices of collectives as a policy and in the library's form; return sentences.

    The library's own form is written only where runs without mpiric's runtime have used it.
    """
    chosen = configuration.as_dict().get("collectives")
    if chosen not in ("policy", "exported") or (learned := all_learned(directory)) is None:
        return []
    ran = any(
        trial.outcome is Outcome.OK and trial.configuration.as_dict().get("collectives") == "exported"
        for trial in trials
    )
    sentences = export_policy(learned, directory / "collectives", host, of_library(learned) if ran else None)
    if not ran:
        sentences.append("not written as the library's own settings, which no run has used")
    return [*origins(directory), *sentences]


def reason_for(name: str, situation: Situation) -> str:
    """Return the reason why a knob may help here, or helps in general."""
    knob = knobs.knob_named(name)
    answer = knobs.consider(knob, situation)
    return answer.because if isinstance(answer, Try) and answer.prior >= 0.5 else knob.why


def _reason(name: str, value: str, state: TuneState) -> str:
    """Return the reason, with evidence from the recorded run of the answer if it has any."""
    reason = reason_for(name, state.situation)
    evidence = chain(KnobChange(name, value, reason, afterwards=afterwards_of(name, state)))
    return evidence or reason


def changes_of(evidence: Evidence, situation: Situation, *, of_site: bool) -> tuple[KnobChange, ...]:
    """Return the settings of the answer and their implied settings, each with its share of the gain.

    Settings that suit every program are marked, except in a tune for the site (``of_site``).
    """
    answer = evidence.configuration
    written = spellings(answer, situation)

    def suits_site(name: str, value: str) -> bool:
        suits = knobs.knob_named(name).site_default
        return suits is not None and suits(value, situation)

    return tuple(
        KnobChange(
            name,
            value,
            reason_for(name, situation),
            written[name].note,
            evidence.share_of(name) or evidence.share_of(_brought_by(name, evidence, situation)),
            site=not of_site and suits_site(name, value),
        )
        for name, value in completed(answer, situation).items
    )


def _brought_by(name: str, evidence: Evidence, situation: Situation) -> str:
    """Return the knob of the answer that implies a setting of another knob, "" for none."""
    for other, value in evidence.configuration.items:
        brings = knobs.knob_named(other).brings
        if brings is not None and name in brings(value, situation):
            return other
    return ""


def missing_libraries(launch: Launch, job: Job, host: Host) -> tuple[str, ...]:
    """Return the libraries that the dynamic linker does not find in the ranks of a launch on this node.

    Nothing is checked where a launch starts several programs or an image, or may have to wait for a job.
    """
    is_here = bool(job.launcher_words) and not job.launcher.serves_every_library  # srun may ask for nodes
    if len(job.segments) != 1 or job.container is not None or not is_here or launch.prepare:
        return ()
    program = job.segments[0].program
    at = len(launch.argv) - len(program)
    if launch.argv[at:] != tuple(program) or host.elf(program_path(job, host)) is None:
        return ()
    done = host.run(
        (*launch.argv[:at], *_TRACE, program[0]),
        environment={**launch.environment, **dict.fromkeys(launch.unset)},
        timeout_s=_LIMIT_S,
        working_directory=job.working_directory,
    )
    lines = f"{done.stdout}\n{done.stderr}".splitlines()
    return tuple(sorted({line.strip().removesuffix(_MISSING) for line in lines if line.endswith(_MISSING)}))


_LIMITS = {  # flag of an original at its marker → consequence for the comparison
    "thread_multiple": "the program asked for MPI_THREAD_MULTIPLE: where several of its threads call MPI at "
    "once, which of their calls come before the mark may differ from run to run",
    "flush_failed": "at the mark not all that ranks had buffered could be written (a full disk, a pipe that "
    "nobody reads): that part of the output was not compared",
    "device_memory": "some results are in the memory of a GPU and were not compared",
}


def scope_of(state: TuneState) -> str:
    """Return the scope of verdict and ratio: complete runs, steps, or a forecast."""
    if state.marks is None:
        return WHOLE_RUN
    is_forecast = state.lab.judge.marks_of_length is not None and state.request.objective.text in TIMES
    return FORECAST if is_forecast else STEPS


def marks_fields(
    state: TuneState, trials: Iterable[Trial], original: Timing, tuned: Timing | None
) -> dict[str, Any]:
    """Return the fields of `Tuned` on step markers, by name."""
    stopped = sum(trial.came_early or trial.at_least is not None for trial in trials)
    marks = state.marks
    if marks is None:
        reason = why_whole(state.request)
        if reason and state.run_s > state.request.budget_s / WHOLE_RUNS:
            state.note(f"{reason}; else a run of {state.run_s:.3g} s would be ended at a mark, if it has one")
        return {"scope": WHOLE_RUN, "marks_why": state.marks_why, "stopped_trials": stopped}
    if growth := marks.window.growth:
        state.note(
            f"its steps take {share(abs(growth))} {'longer' if growth > 0 else 'less'} at the end of the "
            "observed time than at its beginning: later steps may gain differently; --after TIME looks there"
        )
    ranks = [rank for trial in marks.originals if trial.marks for rank in trial.marks.ranks]
    for flag in sorted({flag for rank in ranks for flag in rank.flags} & _LIMITS.keys()):
        state.note(_LIMITS[flag])
    is_forecast = scope_of(state) == FORECAST and state.request.objective.text == "wall"
    return {
        "scope": scope_of(state),
        "marks": TunedMarks(
            marks.pair, marks.why, marks.window.growth, marks.window.first_s, marks.window.last_s
        ),
        "forecast_s": (original.median_s, (tuned or original).median_s) if is_forecast else None,
        "whole": state.whole_check,
        "stopped_trials": stopped,
    }


def proved_marks(state: TuneState, split: SplitGain | None) -> ProvedMarks | None:
    """Return the step markers for a recipe, where its proof ended."""
    marks = state.marks
    if marks is None or split is None or None in (split.original.per_mark_s, split.tuned.per_mark_s):
        return None
    printed = (
        path
        for original in marks.originals
        for path in (Path(original.stdout), *files_in(kept_files(original)).values())
    )
    return ProvedMarks(
        marks.pair,
        (split.original.start_s, split.tuned.start_s),
        (split.original.per_mark_s or 0.0, split.tuned.per_mark_s or 0.0),
        prints_nan=any(map(first_nan, printed)),
        inputs=_inputs(state),
    )


def _inputs(state: TuneState) -> tuple[str, ...]:
    """Return the files below the working directory that ranks only read, up to a limit."""
    behaviour = state.situation.observation.behaviour
    files = behaviour.files if behaviour else ()
    written = {file.path for file in files if file.writes}
    read = {file.path for file in files if file.reads} - written
    directory = Path(state.request.working_directory)
    below = (path for path in sorted(read) if path.isprintable() and not leads_outside(path))
    return tuple(islice((path for path in below if is_file(directory / path)), MOST_INPUTS))
