"""Answer of a scaling study: times of all sizes, the bend and its causes, predictions, recommended sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

from mpiric.host.command_log import masked, masked_launch
from mpiric.host.host import Host
from mpiric.lab.directory_runs import Recorded
from mpiric.lab.render import render
from mpiric.model.amount import counted, share, show_duration
from mpiric.model.errors import MpiricError, ProgramFailedError
from mpiric.model.scaling import Choice, Interval, Prediction, Scaling, Size, SizeResult
from mpiric.plans.scaling import SizeRuns
from mpiric.schedulers import JobRequest, batch_schedulers, find_allocation
from mpiric.statistics.scaling_estimates import (
    bend_of,
    fastest_of,
    gain_of,
    reference_size,
    scaled,
    standard_error,
    time_of,
)
from mpiric.statistics.scaling_model import NotPredictableError, Point, ScalingModel, fit_model
from mpiric.tuning.mark_split import forecast_s
from mpiric.workflows.scale.causes import RecordedSize, causes_of, factors_of
from mpiric.workflows.scale.request import ScaleRequest
from mpiric.workflows.scale.sizes import Launches
from mpiric.workflows.trials.observe import Observed

_TIME_LIMIT = 1.2  # time limit of a job relative to the forecast of the whole run


def answer_of(
    request: ScaleRequest,
    launches: Launches,
    runs: SizeRuns,
    observed: Observed,
    recorded: Mapping[Size, Recorded],
    failures: Mapping[Size, str],
    notes: Sequence[str],
) -> Scaling:
    """Evaluate the runs. Raises ProgramFailedError if no size has a time."""
    failed = tuple(sorted({**runs.left_out, **failures}.items(), key=lambda item: item[0].cores))
    if not runs.times:
        reasons = "; ".join(f"{size}: {why}" for size, why in failed) or "it was interrupted"
        hint = "a larger --budget, or fewer sizes with --ranks" if runs.left_out else ""
        raise ProgramFailedError(f"no size could be measured: {reasons}", hint=hint)
    results = _results(request, launches, runs, observed)
    marks = observed.marks
    own_core_s = sum(trial.wall_s for trial in observed.originals) * launches.own_size.cores
    scaling = Scaling(
        argv=masked(request.argv),
        unit="step" if marks else "run",
        is_weak=request.weak,
        results=results,
        failed=failed,
        notes=(*([f"a step: {marks.why}"] if marks else []), *observed.notes, *notes),
        interrupted=runs.interrupted,
        core_hours=(own_core_s + runs.core_s) / 3600,
    )
    if observed.marks_why:
        scaling = replace(scaling, notes=(*scaling.notes, f"whole runs: {observed.marks_why}"))
    if number := sum(map(len, runs.disturbed.values())):
        disturbed = f"other processes disturbed {counted(number, 'run')}, which count only where others lack"
        scaling = replace(scaling, notes=(*scaling.notes, disturbed))
    scaling = _with_bend(scaling, launches, recorded)
    scaling = _with_predictions(scaling, request, launches, runs)
    return replace(scaling, choices=_choices(scaling, request))


def _results(
    request: ScaleRequest, launches: Launches, runs: SizeRuns, observed: Observed
) -> tuple[SizeResult, ...]:
    reference = reference_size(runs.times)
    whole_marks = observed.marks and observed.marks.whole_marks
    if observed.marks and request.length_s is not None:
        whole_marks = round(observed.marks.marks_of_length(request.length_s))
    results = []
    for size in sorted(runs.times, key=lambda size: (size.cores, size)):
        times = runs.times[size]
        one = Interval(1.0, 1.0, 1.0)
        gain = one if size == reference else gain_of(runs.times[reference], times)
        cores = size.cores / reference.cores
        time_s = time_of(times)
        split = runs.splits[size].split
        whole_s = time_s.value if observed.marks is None else None
        if whole_marks and split is not None and split.per_mark_s is not None:
            whole_s = forecast_s(replace(split, per_mark_s=time_s.value), whole_marks)
        launch = render(launches.configuration(size), launches.situation_at(size))
        results.append(
            SizeResult(
                size,
                time_s,
                len(times),
                scaled(gain, cores) if request.weak else gain,
                gain if request.weak else scaled(gain, 1 / cores),
                whole_s,
                launches.is_oversubscribed(size),
                masked_launch(launch).shell_line(),
            )
        )
    return tuple(results)


def _with_bend(scaling: Scaling, launches: Launches, recorded: Mapping[Size, Recorded]) -> Scaling:
    """Add where the curve bends, and the causes if two sizes were recorded."""
    results = {result.size: result for result in scaling.results}
    curve = [results[size] for size in launches.curve(results)]
    factors = {size: factors_of(size, run) for size, run in recorded.items()}
    bend = bend_of([(r.size.cores, r.time_s.value) for r in curve], is_weak=scaling.is_weak)
    sentence = ""
    if bend is not None:
        small, large = curve[bend[0]], curve[bend[1]]
        efficiency = large.efficiency.value / small.efficiency.value
        sentence = (
            f"the curve bends between {small.size} and {large.size}: the larger size has "
            f"{share(efficiency)} of the efficiency of the smaller"
        )
    recorded_sizes = [result for result in curve if result.size in factors]
    if len(recorded_sizes) < 2:
        return replace(scaling, bend=sentence)
    small, large = recorded_sizes[0], recorded_sizes[-1]
    if bend is not None:
        large = min(recorded_sizes[1:], key=lambda result: abs(result.size.cores - curve[bend[1]].size.cores))
    records = {result.size: RecordedSize(result, factors[result.size]) for result in recorded_sizes}
    first, last = records.pop(small.size), records.pop(large.size)
    causes = causes_of(first, last, records.values(), is_weak=scaling.is_weak)
    return replace(scaling, bend=sentence, factors=(first.factors, last.factors), causes=tuple(causes))


def _with_predictions(scaling: Scaling, request: ScaleRequest, launches: Launches, runs: SizeRuns) -> Scaling:
    """Add the model, and the predicted times or the reasons why there are none."""
    results = {result.size: result for result in scaling.results}
    curve = [results[size] for size in launches.curve(results)]
    usable = [result for result in curve if not result.oversubscribed]
    across = [result for result in usable if result.size.nodes > 1]
    usable = across if len(across) >= 3 else usable
    points = [
        Point(result.size.cores, result.time_s.value, standard_error(runs.times[result.size]))
        for result in usable
    ]
    try:
        model = fit_model(points, is_weak=scaling.is_weak)
    except NotPredictableError as error:
        return replace(scaling, refusals=(error.message,))
    most_nodes = max(result.size.nodes for result in usable)
    predictions: list[Prediction] = []
    refusals: list[str] = []
    for ranks in request.predict:
        size = _size_to_predict(ranks, usable[0].size.threads, launches, most_nodes)
        try:
            predictions.append(_predicted(model, size, most_nodes))
        except NotPredictableError as error:
            refusals.append(f"{size}: {error.message}")
    return replace(scaling, model=model.formula, predictions=tuple(predictions), refusals=tuple(refusals))


def _size_to_predict(ranks: int, threads: int, launches: Launches, most_nodes: int) -> Size:
    """Return the size with as many ranks on each node as measured sizes have, or as fit."""
    per_node = ceil(launches.own_size.ranks / launches.own_size.nodes)
    if most_nodes == 1:
        per_node = max(1, launches.cpus // threads)
    return Size(ranks, ceil(ranks / per_node), threads)


def _predicted(model: ScalingModel, size: Size, most_nodes: int) -> Prediction:
    """Return the prediction of a size. Raises NotPredictableError."""
    if size.nodes > 1 and most_nodes == 1:
        raise NotPredictableError(
            f"it needs {size.nodes} nodes, and all measured sizes use one: transfer between nodes was not "
            "measured"
        )
    return Prediction(size, model.predict(size.cores))


def _choices(scaling: Scaling, request: ScaleRequest) -> tuple[Choice, ...]:
    """Return the recommended sizes for each purpose."""
    results = {result.size: result for result in scaling.results}
    fastest = results[fastest_of([(size, result.time_s) for size, result in results.items()])]
    choices = [Choice("fastest", fastest.size, f"speedup {fastest.speedup.value:.3g}")]
    efficient = [r for r in scaling.results if r.efficiency.value >= request.efficiency]
    best = min(efficient, key=lambda result: result.time_s.value)
    if scaling.is_weak:
        best = max(efficient, key=lambda result: result.size.cores)
    limit = f"efficiency of at least {share(request.efficiency)}"
    choices.append(Choice(limit, best.size, f"efficiency {share(best.efficiency.value)}"))
    if request.within_s is not None:
        choices.append(_within(scaling, request.within_s))
    return tuple(choices)


def with_starts(scaling: Scaling, host: Host) -> Scaling:
    """Add to each recommended size when the scheduler would start a job of it, inside a batch job."""
    try:
        scheduler = batch_schedulers().get(find_allocation(host).scheduler)
    except MpiricError:
        scheduler = None
    if scheduler is None:
        return scaling
    whole_s = {result.size: result.whole_s for result in scaling.results}
    choices = []
    for choice in scaling.choices:
        if size := choice.size:
            minutes = ceil(_TIME_LIMIT * (whole_s[size] or 0.0) / 60)
            time = scheduler.time_text(minutes) if minutes else ""
            job = JobRequest(time=time, nodes=size.nodes, ranks=size.ranks, cores_per_rank=size.threads)
            if start := scheduler.expected_start(host, job):
                sentence = f"{choice.sentence}; a job would start at {start}"
                choice = replace(choice, sentence=sentence)
        choices.append(choice)
    return replace(scaling, choices=tuple(choices))


def _within(scaling: Scaling, within_s: float) -> Choice:
    """Return the cheapest size whose whole run ends within the deadline."""
    purpose = f"cheapest within {show_duration(within_s)}"
    forecasts = [(result, result.whole_s) for result in scaling.results if result.whole_s is not None]
    if not forecasts:
        why = "the number of steps of a whole run is unknown: give its duration as it is with --length"
        return Choice(purpose, None, why)
    fitting = [(result, whole_s) for result, whole_s in forecasts if whole_s <= within_s]
    if not fitting:
        result, whole_s = min(forecasts, key=lambda pair: pair[1])
        why = f"no measured size is fast enough; {result.size} needs {show_duration(whole_s)}"
        return Choice(purpose, None, why)
    result, whole_s = min(fitting, key=lambda pair: pair[0].size.cores * pair[1])
    hours = result.size.cores * whole_s / 3600
    return Choice(purpose, result.size, f"{show_duration(whole_s)}, {hours:.3g} core-hours")
