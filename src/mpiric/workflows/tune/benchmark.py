"""What a program calls too seldom to learn from in one run, measured by the sweep's benchmark.

The benchmark takes the place of the program in the launch line and makes those of its calls about which
nothing was decided: first by the library alone, whose times and their number show which of them matter,
then these by every candidate. What seems to win is measured afresh; whether it helps the program, a proof
says. There is seldom time for all: those that did best in the program's own few calls come first.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from mpiric.host.facts.time_slices import tick_s
from mpiric.host.files import is_file
from mpiric.host.host import Host
from mpiric.host.secrets import masked
from mpiric.lab.lab import drive
from mpiric.lab.render import line_without_program
from mpiric.model.errors import MpiricError
from mpiric.model.narrator import Narrator
from mpiric.model.policy import LIBRARY, LearnedKey, LearnedPolicy, Measured
from mpiric.model.situation import Situation
from mpiric.tuning.policy import condense, read_learned, write_learned
from mpiric.tuning.policy.disturbed import disturbed_points
from mpiric.tuning.policy.flat import render_line
from mpiric.tuning.policy.sampling import Subject, SweepPoint, confirmed, learned_keys, over_sizes
from mpiric.tuning.store.store import TuneLog
from mpiric.workflows.policies.files import benchmark_file, learned_file
from mpiric.workflows.sweep.directory import LOG
from mpiric.workflows.sweep.explore import Effort, confirm, explore
from mpiric.workflows.sweep.log import Log
from mpiric.workflows.sweep.plan import SweepPlan, prepare_calls
from mpiric.workflows.sweep.request import SweepRequest
from mpiric.workflows.trials.users_lab import users_lab
from mpiric.workflows.tune.undecided import by_promise, kind_of, that_matter, undecided

_EXPLORING = 0.6  # of the time, the rest is for confirming
_LEAST_S = 5.0  # in less nothing comes of it
_PATIENCE, _START_S = 4.0, 5.0  # a launch may take so many times as long as the library's own, and longer


@dataclass(frozen=True)
class Benchmarked:
    """What came of it."""

    learned: LearnedPolicy  # keys of the program that were not decided, and now are
    calls: int  # kinds of calls that matter
    launches: int
    elapsed_s: float
    failed: Mapping[str, str]  # candidate → why it was given up


def benchmark_remaining(
    tune_log: TuneLog, situation: Situation, seconds: float, host: Host, narrator: Narrator
) -> str:
    """Have a benchmark decide, beside the tune's log, what the run that learned left undecided.

    A sentence when it cannot be made, "" otherwise. One that was interrupted goes on where it stood.
    """
    directory = tune_log.path
    if is_file(benchmark_file(directory)) or not is_file(learned_file(directory)):
        return ""
    learned = read_learned(learned_file(directory))
    if not undecided(learned, rounding=situation.allowed.rounding):
        return ""
    try:
        if seconds < _LEAST_S:
            raise MpiricError(f"the budget leaves it {seconds:.2g} s")
        made = benchmark(learned, situation, directory / "benchmark", seconds, host, narrator)
    except MpiricError as error:
        note = f"no benchmark of the collectives it calls too seldom to learn from: {error.message}"
        tune_log.append("benchmark", {"refused": error.message})
        narrator.say(note)
        return note
    write_learned(benchmark_file(directory), made.learned)
    chosen = condense(made.learned)
    tune_log.append(
        "benchmark",
        {
            "calls": made.calls,
            "launches": made.launches,
            "elapsed_s": made.elapsed_s,
            "failed": made.failed,
            "by_program": [render_line(line) for line in condense(learned).lines],
            "by_benchmark": [render_line(line) for line in chosen.lines],
        },
    )
    if made.calls:
        gains = sum(key.candidate != LIBRARY for key in made.learned.keys)
        narrator.say(f"faster algorithms for {gains} of them, in {made.launches} launches")
    return ""


def benchmark(
    learned: LearnedPolicy,
    situation: Situation,
    directory: Path,
    seconds: float,
    host: Host,
    narrator: Narrator,
) -> Benchmarked:
    """Measure in ``directory``, where an earlier one may have begun. Raises MpiricError where it cannot."""
    begun = time.monotonic()
    keys = undecided(learned, rounding=situation.allowed.rounding)
    job, effort = situation.job, Effort()
    request = SweepRequest(
        line_without_program(job), job.working_directory, job.environment, directory, limit_s=seconds
    )
    plan = prepare_calls(request, situation.mpi, _sizes(keys), host)
    log = Log(directory / LOG, plan, resume=True)
    before = time.monotonic()
    with users_lab(plan.situation, host) as lab:
        drive(explore(_with_library_alone(plan), log, _silently, effort), lab.measure)
    if effort.launches:
        request = replace(request, limit_s=_START_S + _PATIENCE * (time.monotonic() - before))
    keys = that_matter(keys, _own_s(log), situation.observation.wall_s)
    kinds = _sizes(keys)
    calls = sum(len(sizes) for sizes in kinds.values())
    left_s = seconds - (time.monotonic() - begun)
    if keys and left_s <= 0:
        raise MpiricError("the library's own times took all of its time")
    if keys:
        narrator.phase(f"Learning its collectives by a benchmark of {calls} of its calls")
        plan = replace(
            plan,
            request=request,
            sizes={subject: _at(plan, subject, sizes) for subject, sizes in kinds.items()},
            candidates={subject: by_promise(subject, plan.candidates[subject], keys) for subject in kinds},
        )
        with users_lab(plan.situation, host) as lab:
            drive(explore(plan, log, _silently, effort, _EXPLORING * left_s), lab.measure)
            left_s = seconds - (time.monotonic() - begun)
            drive(confirm(plan, log, _silently, effort, left_s), lab.measure)
    found = replace(
        learned,
        keys=tuple(_decided_by(log, plan, keys)),
        written=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine={"launch": " ".join(masked(request.argv))},
        collective_s=0.0,
        learning_s=0.0,
    )
    return Benchmarked(found, calls, effort.launches, time.monotonic() - begun, log.excluded)


def _silently(_: str) -> None:
    """A line a launch is too much beside a tune's own."""


def _sizes(keys: Iterable[LearnedKey]) -> dict[Subject, set[int]]:
    sizes: dict[Subject, set[int]] = defaultdict(set)
    for subject, size in map(kind_of, keys):
        sizes[subject].add(size)
    return dict(sizes)


def _with_library_alone(plan: SweepPlan) -> SweepPlan:
    return replace(plan, candidates=dict.fromkeys(plan.sizes, (LIBRARY,)))


def _at(plan: SweepPlan, subject: Subject, sizes: Iterable[int]) -> tuple[int, ...]:
    return plan.sizes[subject] if subject.has_one_choice else tuple(sorted(sizes))


def _own_s(log: Log) -> dict[tuple[Subject, int], float]:
    """Times of the library's own calls; those of unknown size count as the middle of the sizes measured."""
    own: dict[tuple[Subject, int], list[Measured]] = defaultdict(list)
    for point, times in log.measured.items():
        if point.candidate == LIBRARY:
            own[point.subject, 0 if point.subject.has_one_choice else point.size].append(times)
    return {kind: over_sizes(several).median_s for kind, several in own.items()}


def _decided_by(log: Log, plan: SweepPlan, keys: Iterable[LearnedKey]) -> Iterator[LearnedKey]:
    """The keys as the benchmark chooses, but for those that it had no time to try, or to see a gain again."""
    times = confirmed(log.measured, log.fresh)
    disturbed = disturbed_points(times, tick_s())
    for key in keys:
        subject, size = kind_of(key)
        sizes = plan.sizes.get(subject, ()) if subject.has_one_choice else (size,)
        of_key = {p: each for p, each in times.items() if p.subject == subject and p.size in sizes}
        tried = any(point.candidate != LIBRARY for point in of_key)
        for chosen in learned_keys(of_key, {subject: sizes}, (), disturbed) if tried else ():
            if not chosen.decided:
                continue
            fresh = all(SweepPoint(subject, at, chosen.candidate) in log.fresh for at in sizes)
            if chosen.candidate == LIBRARY or fresh:
                yield replace(chosen, shape=key.shape, start=key.start, end=key.end)
