"""The search of a tune: what was noticed, then configurations that seem faster."""

from math import isfinite

from mpiric.model.configuration import Configuration
from mpiric.model.trial import Phase, Trial
from mpiric.tuning.objective import TIMES
from mpiric.tuning.search.search import search
from mpiric.workflows.trials.findings import findings_of
from mpiric.workflows.tune.allowances import proof_shortfall, search_budget
from mpiric.workflows.tune.file_runs import begin_file_runs
from mpiric.workflows.tune.known_space import fill_in_space
from mpiric.workflows.tune.space import is_worth_a_run, withheld
from mpiric.workflows.tune.state import TuneState


def find_candidates(state: TuneState) -> list[Configuration]:
    """Report what was noticed, then look for something faster; the candidates, best first."""
    request, situation, budget = state.request, state.situation, state.budget
    look_at_knobs(state)
    for finding in state.findings:
        state.narrator.found(finding)
    if shortfall := proof_shortfall(budget, state.run_s, request.rule):
        state.shortfall = shortfall
        state.narrator.say(shortfall)
    if request.site and not state.space.dimensions:
        state.note("nothing was tried: no setting that applies here would hold for every program (--site)")
    state.narrator.phase(_heading(state))
    for option, names in withheld(situation, request.only, request.without).items():
        state.note(f"not tried without {option}: {', '.join(names)}")
    state.trials.watch_memory(situation)
    allowance = search_budget(budget, state.run_s, lambda: state.quickest_s, request.rule)

    def measure(configuration: Configuration, limit_s: float) -> Trial:
        before = state.trials.count
        limit = limit_s if isfinite(limit_s) else None
        trial = state.trials.run(situation, configuration, Phase.SEARCH, limit).trial
        allowance.spend(state.trials.count - before - 1)  # the original again, when an output was in doubt
        state.searched.append(trial)
        state.report(trial)
        return trial

    found = search(
        state.space,
        measure,
        allowance,
        seen=() if state.known else [*state.originals, *state.earlier],
        known=state.known,
        seed=request.seed,
        objective_is_time=request.objective.text in TIMES and state.marks is None,
        feasible=lambda configuration: is_worth_a_run(configuration, situation),
        expected_s=state.run_s,
        corrected=state.trials.corrected,
    )
    state.rejected.update(found.rejected)
    budget.spend(allowance.runs_done)
    if found.candidates and state.shortfall:  # what one of them takes is known now
        state.shortfall = proof_shortfall(budget, state.run_s, request.rule, state.quickest_s)
    state.candidates = {candidate.configuration: candidate for candidate in found.candidates}
    return [candidate.configuration for candidate in found.candidates]


def _heading(state: TuneState) -> str:
    needless = f", {len(state.cannot_matter)} cannot matter here" if state.cannot_matter else ""
    return f"Searching: {len(state.space.dimensions)} knobs apply{needless}"


def look_at_knobs(state: TuneState) -> None:
    """Fill in which knobs apply, and what they have noticed."""
    fill_in_space(state)
    state.findings = findings_of(state.situation, state.space)
    begin_file_runs(state)
