"""`mpiric history`: list tunes, compare with an earlier run, and show the results of explored jobs."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf, isfinite
from pathlib import Path
from typing import Any

from mpiric.host.command_log import hide, masked
from mpiric.host.host import Host
from mpiric.host.processes.execution import Runner
from mpiric.lab.directory_runs import RECORDS
from mpiric.lab.judge import Judge
from mpiric.lab.lab import Lab, drive
from mpiric.launchers import dialects, with_parameters
from mpiric.model.amount import counted
from mpiric.model.configuration import Configuration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError, MpiricError
from mpiric.model.job import Job
from mpiric.model.run import Narrator, Plan
from mpiric.plans.in_turn import in_turn
from mpiric.profile.stuck import describe_states
from mpiric.schedulers import NO_JOB, job_around
from mpiric.statistics.regression import Regression, compare_days, runs_needed
from mpiric.statistics.step_window import MarkWindow
from mpiric.tuning.exploration import Explored, Ledger, explored
from mpiric.tuning.objective import parse_objective
from mpiric.tuning.store import Store
from mpiric.workflows.history.baseline import AgainstRequest, Baseline, baseline_of
from mpiric.workflows.launch.fingerprints import job_identity, program_name
from mpiric.workflows.launch.nodes import cleaned_nodes
from mpiric.workflows.launch.parse_job import parse_job
from mpiric.workflows.run.explore_series import all_series, ledger_in
from mpiric.workflows.trials.observe import Observing, observe
from mpiric.workflows.trials.step_markers import WHOLE_RUNS, MarkOptions, StepMarkers
from mpiric.workflows.trials.users_lab import trial_directories


@dataclass(frozen=True)
class DayComparison:
    """Comparison of runs of two days, without the recipe and, if the baseline has one, with it."""

    baseline: Baseline
    as_it_is: Regression
    with_recipe: Regression | None
    store: str

    @property
    def decisive(self) -> Regression:
        """Return the comparison that sets the exit status, with the recipe if there is one."""
        return self.with_recipe or self.as_it_is


def against(request: AgainstRequest, host: Host, narrator: Narrator) -> DayComparison:
    """Measure the command again, in turn without and with the baseline's recipe, and compare."""
    parsed = parse_job(request.argv, host, request.working_directory, request.environment, request.stdin)
    baseline = baseline_of(request, job_identity(parsed.job))
    parsed = replace(parsed, job=with_parameters(parsed.job, baseline.parameters))
    _check_alike(baseline, parsed.job, request, host)
    runs = runs_needed(len(baseline.original), request.confidence)
    if runs is None:
        raise MpiricError(
            f"a comparison needs more runs than the {len(baseline.original)} of {baseline.name}",
            hint="use a recipe with a proof or several records as baseline, or a lower --confidence",
        )
    store = Store(request.store)
    identity = f"history-{job_identity(parsed.job)}"
    with (
        store.create(program_name(parsed.job), identity, request.argv, against=baseline.name) as record,
        cleaned_nodes(parsed.job, parsed.nodes, host) as after_ended_run,
        Runner() as runner,
        trial_directories(parsed, record.path, runner, host, in_place=request.in_place) as copies,
    ):
        lab = Lab(runner, copies, record, Judge(parse_objective(baseline.objective)))
        lab.after_ended_run = after_ended_run
        lab.describe_states = lambda states: describe_states(states, parsed.job.ranks or 0, host)
        narrator.phase(f"Measuring again, to compare with {baseline.name}")
        records = record.path / RECORDS if baseline.marks else None
        observing = Observing(records=records, mark_options=_mark_options(baseline))

        def observed_in_turn() -> Plan[dict[Configuration, list[float]]]:
            yield from observe(lab, parsed, host, narrator, observing)
            configurations = dict.fromkeys((Configuration(), baseline.configuration))
            return (yield from in_turn(configurations, max(runs, 9)))

        now = drive(observed_in_turn(), lab.measure, lambda trial: narrator.trial(trial, None, inf))
        record.append("finished", {"result": {}})
    rule = (request.confidence, request.minimum_effect)
    return DayComparison(
        baseline,
        compare_days(baseline.original, now[Configuration()], *rule),
        compare_days(baseline.tuned, now[baseline.configuration], *rule) if baseline.configuration else None,
        str(record.path),
    )


def _check_alike(baseline: Baseline, job: Job, request: AgainstRequest, host: Host) -> None:
    """Raise MismatchError if launches of only one of the two days wait for an allocation.

    A scheduler's own launcher starts at once inside of a job. Times per step do not contain the start.
    """
    if baseline.marks is not None or not baseline.measured_in or not dialects()[job.dialect].neutral:
        return
    now = job_around(host)
    if (now == NO_JOB) == (baseline.measured_in == NO_JOB):
        return
    launcher = job.launcher_words[0]
    if now == NO_JOB:
        raise MismatchError(
            f"{baseline.name} was measured in a {baseline.measured_in}; outside of a job, each {launcher} "
            "waits for a new allocation",
            hint=f"measure in a job, too: mpiric history --submit --against {request.against} -- CMD",
        )
    raise MismatchError(
        f"{baseline.name} was measured outside of a job, where each {launcher} waits for a new allocation; "
        f"this is a {now}",
        hint="measure outside of a job",
    )


def _mark_options(baseline: Baseline) -> MarkOptions | None:
    """Return the step markers of the baseline, at which every run ends now, too."""
    if baseline.marks is None:
        return None
    pair, last_s = baseline.marks
    window = MarkWindow(pair.first, pair.last, last_s * pair.first / pair.last, last_s)
    return MarkOptions(
        WHOLE_RUNS * last_s, fixed=StepMarkers(pair, window, f"as in {baseline.name}"), required=True
    )


ExploredSeries = tuple[Path, Ledger, Explored]  # directory of a series, its ledger and its result


def explored_history(
    store: Path | None, command: Sequence[str] = (), say: Callable[[str], None] = print
) -> tuple[ExploredSeries, ...]:
    """Return the series of a command, or all series of the store, ordered by the last change.

    ``say`` gets a message about each ledger that cannot be read.
    """
    series = []
    for directory in all_series(store):
        try:
            ledger = ledger_in(directory)
        except MpiricError as error:
            say(f"{directory} was skipped: {error.message}")
            continue
        if ledger.pair is None:
            say(f"{directory} was skipped: its first line, which names the step marker, is damaged")
            continue
        if not command or hide(ledger.command) == hide(command):
            series.append((directory, ledger, explored(ledger.jobs, ledger.pair, over=ledger.over)))
    return tuple(series)


def explored_json(series: ExploredSeries) -> dict[str, Any]:
    """Return a series as JSON object with stable keys (docs/guides/long-programs.md)."""
    directory, ledger, result = series
    low, high = result.ci95
    return {
        "blocks": result.blocks,
        "ratio": result.ratio,
        "ci95": [low, high if isfinite(high) else None],
        "verdict": result.verdict.value,
        "ended_because": result.ended_because or None,
        "unknown": result.unknown,
        "jobs": len(ledger.jobs),
        "command": list(masked(ledger.command)),
        "recipe": ledger.recipe,
        "ledger": str(directory),
        "damaged_lines": ledger.damaged_lines,
        "failures": [
            {"job": job.job, "status": job.end.status, "cause": job.end.cause}
            for job in ledger.jobs
            if job.end is not None and job.end.cause
        ],
    }


def explored_lines(series: Sequence[ExploredSeries]) -> Iterator[str]:
    """Yield two lines of text for each series."""
    if not series:
        yield "no explored jobs yet; run some with `mpiric run --explore -- CMD`"
    for directory, ledger, result in series:
        low, high = result.ci95
        yield " ".join(masked(ledger.command))
        interval = f" [{low:.2f}, {high:.2f}]" if isfinite(high) else ""
        ratio = f"{result.ratio:.2f}× per step{interval}  " if result.ratio is not None else ""
        unknown = f", {result.unknown} with unknown result" if result.unknown else ""
        state = result.ended_because or "continues"
        yield f"  {ratio}{result.verdict.value}  ({result.blocks} blocks of two jobs{unknown}; {state})"
        causes = Counter(job.end.cause for job in ledger.jobs if job.end is not None and job.end.cause)
        for cause, count in causes.items():
            yield f"  {counted(count, 'job')} failed: {cause}"
        if damaged := ledger.damaged_lines:
            lines = "1 line" if damaged == 1 else f"{damaged} lines"
            yield f"  {lines} of {directory} damaged and ignored"
