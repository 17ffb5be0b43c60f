"""Algorithms for the collectives of a program: learned in one of its runs, then by a benchmark.

The benchmark is for calls that the program makes too rarely for online learning. The sweep's benchmark
replaces the program in the launch line and makes the undecided calls: first with the library's choice, whose
times and counts show which calls matter, then these calls with every candidate. The apparent winners are
measured again; the proof shows whether they help the program. As the time rarely suffices for all candidates,
the fastest ones in the program's own calls come first.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from math import inf
from pathlib import Path
from typing import Any

from mpiric.host.command_log import masked
from mpiric.host.facts.time_slices import tick_s
from mpiric.host.files import is_file
from mpiric.host.host import Host
from mpiric.lab.lab import drive
from mpiric.lab.render import line_without_program
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.policy import LIBRARY, REDUCING, UNSIZED, LearnedKey, LearnedPolicy, Measured
from mpiric.model.run import BENCHMARKED, LEARNING, Narrator, Phase, Plan, Run
from mpiric.model.situation import Situation, Tuner
from mpiric.plans.budget import benchmark_s, proof_shortfall
from mpiric.statistics.sampling import Subject, SweepPoint, confirmed, learned_keys, over_sizes
from mpiric.tuning.policy_files import disturbed_points, read_learned, render_line, write_learned
from mpiric.tuning.policy_merge import condense
from mpiric.tuning.store import TuneLog
from mpiric.workflows.policies import (
    all_learned,
    benchmark_file,
    chooses_something,
    learned_file,
    obeying,
)
from mpiric.workflows.sweep.explore import Measurer
from mpiric.workflows.sweep.log import LOG, Log
from mpiric.workflows.sweep.plan import COLLECTIVES, SweepPlan, SweepRequest, prepare_calls
from mpiric.workflows.trials.users_lab import users_lab
from mpiric.workflows.tune.space import requested_space
from mpiric.workflows.tune.state import TuneState

_COLLECTIVES = "collectives"
_EXPLORING = 0.6  # share of the time of a benchmark; confirmation takes the remaining time
_LEAST_S = 5.0  # shortest useful benchmark
_MATTERS = 0.01  # share of the wall time below which a call cannot show in a proof
_LEAST_BYTES = 4  # size of an element of a reduction
_MOST_BYTES = 64 << 20  # size × ranks; a rank of the benchmark allocates twice this


def learn_collectives(state: TuneState, host: Host) -> Plan[None]:
    """Learn an algorithm policy, which becomes a value of the collectives knob.

    Learning costs time, so that this run is compared with no other. Calls that are too rare for learning are
    measured by a benchmark. If runs end at a step marker, this run does so, too.
    """
    request, situation = state.request, state.situation
    wall_s = situation.observation.wall_s
    if all(dimension.knob != _COLLECTIVES for dimension in requested_space(request, situation).dimensions):
        return
    if proof_shortfall(state.budget, wall_s, request.rule):  # no time for a learning run either
        state.situation = replace(situation, tuner=Tuner())
        return
    learned = learned_file(state.log.path)
    state.narrator.phase("Learning collectives")
    settings = (("MPIRIC_POLICY_OUT", str(learned)), ("MPIRIC_LEARN_AT_MOST", "0"))
    learning = replace(situation, tuner=replace(situation.tuner, settings=settings))
    online = Configuration.of({_COLLECTIVES: "online"})
    yield Run(online, Phase.SEARCH, limit_s=LEARNING.after(wall_s), situation=learning)
    state.budget.spend(1)
    if state.marks is not None and not is_file(learned):
        state.note("no collective was learned before the step marker")
    job_s = request.spread.each_s if request.spread else inf
    seconds = benchmark_s(state.budget, max(wall_s, state.run_s), request.rule, job_s)
    if note := benchmark_remaining(state.log, situation, seconds, host, state.narrator):
        state.note(note)
    state.situation = with_learned(situation, state.log.path, host)
    if state.situation.tuner == Tuner():
        state.note("learning collectives found no faster algorithm")


def with_learned(situation: Situation, directory: Path, host: Host) -> Situation:
    """Return the situation with the policy learned in the tune's directory as a value of the knob.

    The knob is removed if no algorithm beats the library's choice, or if no call was decided and rounding
    must not change.
    """
    tuner, learned = situation.tuner, all_learned(directory)
    if learned is not None and chooses_something(condense(learned)):
        tuner = obeying(tuner, learned, directory, host)
    elif not situation.allowed.rounding or (learned is not None and any(key.decided for key in learned.keys)):
        tuner = Tuner()
    return replace(situation, tuner=tuner)


def benchmark_remaining(
    tune_log: TuneLog, situation: Situation, seconds: float, host: Host, narrator: Narrator
) -> str:
    """Benchmark the calls that the learning run left undecided, in the directory of the tune's log.

    Return a sentence if this is impossible, else "". An interrupted benchmark is continued.
    """
    directory = tune_log.path
    if is_file(benchmark_file(directory)) or not is_file(learned_file(directory)):
        return ""
    learned = read_learned(learned_file(directory))
    if not undecided(learned, rounding=situation.allowed.rounding):
        return ""
    try:
        if seconds < _LEAST_S:
            raise MpiricError(f"the budget leaves only {seconds:.2g} s")
        decided, effort = _benchmark(learned, situation, directory / "benchmark", seconds, host, narrator)
    except MpiricError as error:
        note = f"its rare collective calls were not benchmarked: {error.message}"
        tune_log.append("benchmark", {"refused": error.message})
        narrator.say(note)
        return note
    write_learned(benchmark_file(directory), decided)
    lines = {
        "by_program": [render_line(line) for line in condense(learned).lines],
        "by_benchmark": [render_line(line) for line in condense(decided).lines],
    }
    tune_log.append("benchmark", {**effort, **lines})
    if effort["calls"]:
        gains = sum(key.candidate != LIBRARY for key in decided.keys)
        narrator.say(f"faster algorithms for {gains} of them, in {effort['launches']} launches")
    return ""


def _benchmark(
    learned: LearnedPolicy,
    situation: Situation,
    directory: Path,
    seconds: float,
    host: Host,
    narrator: Narrator,
) -> tuple[LearnedPolicy, dict[str, Any]]:
    """Return the keys that a benchmark in ``directory`` has decided, and the effort for its event in the log.

    The directory may hold an interrupted benchmark. Raises MpiricError on failure.
    """
    start_s = time.monotonic()
    keys = undecided(learned, rounding=situation.allowed.rounding)
    job = situation.job
    request = SweepRequest(
        line_without_program(job), job.working_directory, job.environment, directory, limit_s=seconds
    )
    plan = prepare_calls(request, situation.mpi, _sizes(keys), host)
    log = Log(directory / LOG, plan, resume=True)
    before = time.monotonic()
    with users_lab(plan.situation, host) as lab:
        measurer = Measurer(replace(plan, candidates=dict.fromkeys(plan.sizes, (LIBRARY,))), log)
        drive(measurer.explore(), lab.measure)
    if measurer.launches:
        request = replace(request, limit_s=BENCHMARKED.after(time.monotonic() - before))
    keys = that_matter(keys, _own_s(log), situation.observation.wall_s)
    kinds = _sizes(keys)
    calls = sum(len(sizes) for sizes in kinds.values())
    left_s = seconds - (time.monotonic() - start_s)
    if keys and left_s <= 0:
        raise MpiricError("the measurement of the library used all of the time")
    if keys:
        narrator.phase(f"Learning collectives by a benchmark of {calls} of its calls")
        plan = replace(
            plan,
            request=request,
            sizes={
                subject: plan.sizes[subject] if subject.has_one_choice else tuple(sorted(sizes))
                for subject, sizes in kinds.items()
            },
            candidates={subject: by_promise(subject, plan.candidates[subject], keys) for subject in kinds},
        )
        with users_lab(plan.situation, host) as lab:
            measurer.plan = plan
            drive(measurer.explore(_EXPLORING * left_s), lab.measure)
            left_s = seconds - (time.monotonic() - start_s)
            drive(measurer.confirm(left_s), lab.measure)
    decided = replace(
        learned,
        keys=tuple(_decided_by(log, plan, keys)),
        written=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine={"launch": " ".join(masked(request.argv))},
        collective_s=0.0,
        learning_s=0.0,
    )
    elapsed_s = time.monotonic() - start_s
    return decided, {
        "calls": calls,
        "launches": measurer.launches,
        "elapsed_s": elapsed_s,
        "failed": log.excluded,
    }


def _sizes(keys: Iterable[LearnedKey]) -> dict[Subject, set[int]]:
    sizes: dict[Subject, set[int]] = defaultdict(set)
    for subject, size in map(kind_of, keys):
        sizes[subject].add(size)
    return dict(sizes)


def _own_s(log: Log) -> dict[tuple[Subject, int], float]:
    """Return the times with the library's choice; of several sizes with one choice, the middle one."""
    times_of: dict[tuple[Subject, int], list[Measured]] = defaultdict(list)
    for point, times in log.measured.items():
        if point.candidate == LIBRARY:
            times_of[point.subject, 0 if point.subject.has_one_choice else point.size].append(times)
    return {kind: over_sizes(several).median_s for kind, several in times_of.items()}


def _decided_by(log: Log, plan: SweepPlan, keys: Iterable[LearnedKey]) -> Iterator[LearnedKey]:
    """Yield the keys that the benchmark has decided: every candidate tried, and gains confirmed."""
    times = confirmed(log.measured, log.fresh)
    disturbed = disturbed_points(times, tick_s())
    for key in keys:
        subject, size = kind_of(key)
        sizes = plan.sizes.get(subject, ()) if subject.has_one_choice else (size,)
        of_key = {p: measured for p, measured in times.items() if p.subject == subject and p.size in sizes}
        tried = any(point.candidate != LIBRARY for point in of_key)
        for chosen in learned_keys(of_key, {subject: sizes}, (), disturbed) if tried else ():
            if not chosen.decided:
                continue
            fresh = all(SweepPoint(subject, at, chosen.candidate) in log.fresh for at in sizes)
            if chosen.candidate == LIBRARY or fresh:
                yield replace(chosen, shape=key.shape, start=key.start, end=key.end)


def undecided(learned: LearnedPolicy, *, rounding: bool) -> tuple[LearnedKey, ...]:
    """Return the undecided keys whose calls the benchmark supports."""
    return tuple(
        key
        for key in learned.keys
        if not key.decided
        and key.collective in COLLECTIVES
        and (rounding or key.collective not in REDUCING)
        and size_of(key) * key.shape.ranks <= _MOST_BYTES
    )


def that_matter(
    keys: Iterable[LearnedKey], own_s: Mapping[tuple[Subject, int], float], wall_s: float
) -> tuple[LearnedKey, ...]:
    """Return the keys whose calls take a relevant share of ``wall_s``, summed over all parts of the job.

    ``own_s`` is the undisturbed duration of a call with the library's choice. Times in the program include
    waiting for late ranks, which no algorithm shortens.
    """
    keys = [key for key in keys if kind_of(key) in own_s]
    spent_s: dict[tuple[Subject, int], float] = defaultdict(float)
    for key in keys:
        spent_s[kind_of(key)] += key.calls * own_s[kind_of(key)]
    return tuple(key for key in keys if spent_s[kind_of(key)] >= _MATTERS * wall_s)


def by_promise(subject: Subject, names: Iterable[str], keys: Iterable[LearnedKey]) -> tuple[str, ...]:
    """Sort candidates by promise, as there may be no time for all of them.

    The library comes first, then candidates by their speed in the program's own calls relative to the
    library; a candidate that was not measured there counts as equal to the library.
    """
    ratios: dict[str, float] = {}
    for key in keys:
        library_s = next((other.median_s for other in key.candidates if other.name == LIBRARY), 0.0)
        if kind_of(key)[0] == subject and library_s > 0:
            for other in key.candidates:
                ratios[other.name] = min(other.median_s / library_s, ratios.get(other.name, inf))
    return tuple(sorted(names, key=lambda name: (name != LIBRARY, ratios.get(name, 1.0))))


def size_of(key: LearnedKey) -> int:
    """Return the size of the benchmarked call for a key, in bytes."""
    return 0 if key.collective in UNSIZED else max(key.start, _LEAST_BYTES)


def kind_of(key: LearnedKey) -> tuple[Subject, int]:
    """Return the benchmarked call of a key: its collective and ranks, and a size."""
    return Subject(key.collective, key.shape.anywhere()), size_of(key)
