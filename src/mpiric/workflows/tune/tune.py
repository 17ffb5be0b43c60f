"""Find the fastest configuration, prove it, save the recipe."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.isolation.working_copies import CopyPolicy, WorkingCopies
from mpiric.host.processes.execution import Runner
from mpiric.model.batch import Spread
from mpiric.model.configuration import Configuration
from mpiric.model.narrator import Narrator
from mpiric.model.situation import Allowed, Tuner
from mpiric.model.trial import Phase, Trial
from mpiric.model.tuned import Tuned
from mpiric.tuning.budget import Budget
from mpiric.tuning.objective import Objective
from mpiric.tuning.policy import condense
from mpiric.tuning.proof.proof import StoppingRule, prove
from mpiric.tuning.search.search import search
from mpiric.tuning.store.store import Store, TuneLog
from mpiric.workflows.fabric.probe import with_networks
from mpiric.workflows.launch.fingerprints import job_identity, program_name
from mpiric.workflows.launch.host_names import with_host_names
from mpiric.workflows.launch.parse_job import ParsedJob, parse_job
from mpiric.workflows.launch.spelling import render
from mpiric.workflows.policies import all_learned, chooses_something, learned_file, obeying
from mpiric.workflows.trials.failure_cause import failure_cause_of
from mpiric.workflows.trials.findings import findings_of
from mpiric.workflows.trials.observe import Observed, expected_situation, observe
from mpiric.workflows.trials.trials import Judge, Runs, Trials
from mpiric.workflows.tune.benchmark import benchmark_remaining
from mpiric.workflows.tune.choose import (
    benchmark_s,
    check_names,
    is_worth_a_run,
    proof_shortfall,
    search_budget,
    space_of,
    withheld_for_rounding,
)
from mpiric.workflows.tune.state import TuneState
from mpiric.workflows.tune.write_results import write_results

_COLLECTIVES = "collectives"
_PROOF_PATIENCE = 4.0  # a run of the proof may take this many times as long as the slowest original
_LEARNING_PATIENCE = 10.0  # the run that learns, which tries what is slow too


@dataclass(frozen=True)
class TuneRequest:
    """What the user asked for."""

    argv: tuple[str, ...]
    working_directory: str
    environment: Mapping[str, str]
    stdin: str = ""  # path of what was piped in
    budget_s: float = 600.0
    max_runs: int | None = None
    only: tuple[str, ...] = ()  # knobs or families
    without: tuple[str, ...] = ()
    objective: Objective = field(default_factory=Objective)
    check_command: str = ""
    compare_output: bool = True
    in_place: bool = False
    resume: bool = False
    into: Path | None = None  # the tune to go on with, which may have only just been made
    store: Path | None = None
    output: Path | None = None  # where the recipe goes as well
    allowed: Allowed = field(default_factory=Allowed)
    rule: StoppingRule = field(default_factory=StoppingRule)
    seed: int = 0
    site: bool = False  # only knobs that hold for every program
    advised: tuple[str, ...] = ()  # knobs that the advice on a record names: turned first
    spread: Spread | None = None  # of runs over jobs of an array; None for one after the other here

    @property
    def checked_output(self) -> str:
        """What stands guard over the answers, as the recipe says it."""
        learned = "learned" if self.compare_output else "none"
        return "command" if self.check_command else learned


def tune(request: TuneRequest, host: Host, narrator: Narrator, runner: Runner | None = None) -> Tuned:
    """Run the whole of it. Ctrl-C ends it early with the best so far; nothing that was measured is lost."""
    runner = runner or Runner()
    check_names([*request.only, *request.without])
    parsed = parse_job(request.argv, host, request.working_directory, request.environment, request.stdin)
    budget = Budget(request.budget_s, request.max_runs, runner.clock)
    with ExitStack() as stack:
        log = stack.enter_context(_open(request, parsed))
        earlier = log.read().trials
        place = stack.enter_context(trial_place(request, parsed, log, host, narrator, runner))
        observed = with_networks(place.observed, host, narrator)
        budget.spend(len(observed.originals))
        state = TuneState(request.argv, observed, request.objective, request.checked_output, earlier)
        run_s = budget.elapsed_s / max(1, len(observed.originals))  # with all that surrounds a run
        try:
            learn_collectives(request, state, log, place.trials, budget, host, narrator)
            candidates = find_candidates(request, state, place.trials, budget, narrator, run_s)
            prove_best(request, state, candidates, place.trials, budget, narrator)
        except KeyboardInterrupt:
            state.interrupted = True
        state.notes += place.copies.notes
        return write_results(state, log, host, budget.elapsed_s, request.output, site=request.site)


@dataclass(frozen=True)
class TrialPlace:
    """Where runs are made, and what the first of them, of the command as it is, have shown."""

    trials: Trials
    copies: WorkingCopies
    observed: Observed


@contextmanager
def trial_place(
    request: TuneRequest,
    parsed: ParsedJob,
    log: TuneLog,
    host: Host,
    narrator: Narrator,
    runner: Runner,
    block: str = "",
) -> Iterator[TrialPlace]:
    """Run the command as it is, and be ready to run it otherwise; trials are of ``block``."""
    with ExitStack() as stack:
        stack.enter_context(runner)
        policy = CopyPolicy(in_place=request.in_place)
        copies = stack.enter_context(WorkingCopies(Path(request.working_directory), log.path, policy))
        judge = Judge(request.objective, request.check_command)
        judge.rounding = request.allowed.rounding
        trials = Trials(runner, copies, log, judge, failure_cause_of(host), block)
        narrator.phase("As it is")
        compare = request.compare_output
        observed = observe(trials, parsed, host, request.allowed, narrator, compare=compare)
        situation = with_host_names(observed.situation, host)
        yield TrialPlace(trials, copies, replace(observed, situation=situation))


def _open(request: TuneRequest, parsed: ParsedJob) -> TuneLog:
    if request.into is not None:
        return Store().resume(request.into)
    store, job = Store(request.store), job_identity(parsed.job)
    if request.resume:
        return store.resume(store.latest(job).path)
    return store.create(program_name(parsed.job), job, parsed.job.argv, objective=request.objective.text)


def learn_collectives(
    request: TuneRequest,
    state: TuneState,
    log: TuneLog,
    trials: Runs,
    budget: Budget,
    host: Host,
    narrator: Narrator,
) -> None:
    """One run in which the runtime learns which collective algorithms are best; what the search may then use.

    Learning costs time, so this run competes with none; the policy it leaves is a value like any other. What
    the program calls too seldom is learned by a benchmark of it.
    """
    situation = state.observed.situation
    space = space_of(situation, request.only, request.without, site=request.site, advised=request.advised)
    if all(dimension.knob != _COLLECTIVES for dimension in space.dimensions):
        return
    if proof_shortfall(budget, state.observed.wall_s, request.rule):  # nor is there a run to learn in
        state.observed = replace(state.observed, situation=replace(situation, tuner=Tuner()))
        return
    run_s = max(state.observed.wall_s, budget.elapsed_s / max(1, budget.runs_done))
    narrator.phase("Learning its collectives")
    learned = learned_file(log.path)
    settings = (("MPIRIC_POLICY_OUT", str(learned)), ("MPIRIC_LEARN_AT_MOST", "0"))
    learning = replace(situation, tuner=replace(situation.tuner, settings=settings))
    limit_s = _LEARNING_PATIENCE * state.observed.wall_s + 10.0
    if not learned.is_file():  # an interrupted tune may have learned already
        trial = trials.run(learning, Configuration.of({_COLLECTIVES: "online"}), Phase.SEARCH, limit_s).trial
        budget.spend(1)
        narrator.trial(trial, state.best, budget.remaining_s)
    seconds = benchmark_s(budget, run_s, request.rule, request.spread.each_s if request.spread else inf)
    if note := benchmark_remaining(log, situation, seconds, host, narrator):
        state.notes.append(note)
    state.observed = with_learned(state.observed, log.path, host)
    if state.observed.situation.tuner == Tuner():
        state.notes.append("learning its collectives found nothing to try")


def with_learned(observed: Observed, directory: Path, host: Host) -> Observed:
    """What a tune has learned in its directory becomes values of the collectives knob.

    Where nothing beats the library, or nothing was settled and rounding may not change, the knob goes.
    """
    situation = observed.situation
    tuner, found = situation.tuner, all_learned(directory)
    if found is not None and chooses_something(condense(found)):
        tuner = obeying(tuner, found, directory, host)
    elif not situation.allowed.rounding or (found is not None and any(key.settled for key in found.keys)):
        tuner = Tuner()
    return replace(observed, situation=replace(situation, tuner=tuner))


def find_candidates(
    request: TuneRequest, state: TuneState, trials: Runs, budget: Budget, narrator: Narrator, run_s: float
) -> list[Configuration]:
    """Tell what was noticed, then look for something faster; the candidates, best first."""
    situation = state.observed.situation
    state.findings = findings_of(situation)
    for finding in state.findings:
        narrator.found(finding)
    if shortfall := proof_shortfall(budget, run_s, request.rule):
        state.notes.append(shortfall)
        narrator.say(shortfall)
    state.space = space_of(
        situation, request.only, request.without, site=request.site, advised=request.advised
    )
    narrator.phase(f"Searching: {len(state.space.dimensions)} knobs apply")
    if withheld := withheld_for_rounding(situation):
        state.notes.append(f"not tried without --allow-rounding: {', '.join(withheld)}")
    trials.watch_memory(situation)

    allowance = search_budget(budget, run_s, lambda: state.quickest_s, request.rule)

    def try_out(configuration: Configuration, limit_s: float) -> Trial:
        before = trials.count
        limit = limit_s if isfinite(limit_s) else None
        trial = trials.run(situation, configuration, Phase.SEARCH, limit).trial
        allowance.spend(trials.count - before - 1)  # the original again, when an output was in doubt
        state.take(trial)
        narrator.trial(trial, state.best, budget.remaining_s)
        return trial

    found = search(
        state.space,
        try_out,
        allowance,
        seen=() if state.known else [*state.observed.originals, *state.earlier],
        known=state.known,
        seed=request.seed,
        objective_is_time=request.objective.text in ("wall", "core-hours"),
        feasible=lambda configuration: is_worth_a_run(configuration, situation),
    )
    state.rejected.update(found.rejected)
    budget.spend(allowance.runs_done)
    return [candidate.configuration for candidate in found.candidates]


def prove_best(
    request: TuneRequest,
    state: TuneState,
    candidates: list[Configuration],
    trials: Runs,
    budget: Budget,
    narrator: Narrator,
) -> None:
    """Prove the best candidate; the next one only when that fails in a run of the proof."""
    situation = state.observed.situation
    patience_s = _PROOF_PATIENCE * max(trial.wall_s for trial in state.observed.originals) + 5.0

    def compare(configuration: Configuration, pair: int) -> Trial:
        before = trials.count
        trial = trials.run(situation, configuration, Phase.PROOF, patience_s, pair).trial
        budget.spend(trials.count - before - 1)
        narrator.trial(trial, state.best, budget.remaining_s)
        return trial

    for candidate in candidates:
        narrator.phase(f"Proving {candidate} against the original, in fresh pairs")
        proof = prove(
            compare,
            [candidate],
            request.rule,
            seed=request.seed,
            budget=budget,
            recorded=state.recorded_pairs(candidate),
        )
        state.evidence = proof.evidence
        state.rejected.update(proof.rejected)
        if not proof.rejected:
            return


def plan(request: TuneRequest, host: Host) -> list[str]:
    """What a tune would run and try, without running anything."""
    check_names([*request.only, *request.without])
    parsed = parse_job(request.argv, host, request.working_directory, request.environment, request.stdin)
    situation = with_host_names(expected_situation(parsed, host, request.allowed), host)
    space = space_of(situation, request.only, request.without, site=request.site, advised=request.advised)
    lines = [f"as it is: {render(Configuration(), situation).shell_line()}"]
    for dimension in space.dimensions:
        for value in dimension.values:
            launch = render(Configuration(((dimension.knob, value),)), situation)
            lines.append(f"{dimension.knob}={value}: {launch.shell_line()}")
    return lines
