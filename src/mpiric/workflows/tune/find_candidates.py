"""The search of a tune: findings, then configurations that seem faster.

The candidates are logged at the end of the search, so that a resumed tune continues with their proof.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from statistics import median
from typing import Any

from mpiric.lab.judge import cores_used
from mpiric.lab.render import render
from mpiric.model.amount import counted
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Share
from mpiric.model.run import Outcome, Phase, Plan, Trial
from mpiric.model.situation import Situation
from mpiric.plans.budget import proof_shortfall, search_budget
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.ranking import HEAVY_GAIN
from mpiric.plans.search import ProofCandidate, SearchResult, estimated_share, search
from mpiric.plans.stages import EFFORTS
from mpiric.profile.outside_time import outside_of
from mpiric.statistics.effects import UNPROMISING
from mpiric.tuning.objective import TIMES
from mpiric.workflows.trials.recorded_runs import findings_of
from mpiric.workflows.tune.file_runs import begin_file_runs
from mpiric.workflows.tune.space import fill_in_space, is_worth_a_run, last_answer, withheld
from mpiric.workflows.tune.state import TuneState

LOG = logging.getLogger(__package__)
_SLOW = 2.5  # a run between step markers is stopped at this multiple of the best objective
_DISTURBED, _DISTURBED_SHARE = 2, 0.05  # disturbed runs and their share; the larger limit triggers a note
_AHEAD = 0.95  # objective relative to the original, below which a proof may be worth its time


def find_candidates(state: TuneState) -> Plan[list[Configuration]]:
    """Report the findings, then search for faster configurations; return the candidates, best first."""
    request, situation, budget = state.request, state.situation, state.budget
    look_at_knobs(state)
    _announce(state)
    if not state.is_planned:
        state.lab.judge.limit_memory(situation)
    if earlier := kept_candidates(state):
        state.narrator.say("continuing the proof that its budget or an interruption ended")
        state.candidates = {candidate.configuration: candidate for candidate in earlier}
        return list(state.candidates)
    last = state.space.part(last_answer(request, situation))
    is_between_marks = request.objective.text in TIMES and state.marks is not None

    shared = partial(
        search_budget,
        budget,
        lambda: state.run_s + min(state.run_s, state.quickest_s),
        request.rule,
        proves_shares=request.effort.proves_shares,
        explores=lambda: bool(not_reached(state)),
    )

    def too_slow() -> float | None:
        """Return the objective at which a run between step markers is stopped; None before the first run."""
        if not is_between_marks or request.spread:
            return None
        ended = (trial for trial in (*state.originals, *state.searched) if trial.outcome is Outcome.OK)
        best = min((trial.objective for trial in ended if trial.objective), default=None)
        return None if best is None else _SLOW * best

    observed = (trial for trial in (*state.originals, *state.earlier) if trial.phase is Phase.OBSERVE)
    evaluator = Evaluator(
        state.space,
        shared(),
        recorded=state.array_trials or tuple(observed),
        objective_is_time=request.objective.text in TIMES and state.marks is None,
        feasible=lambda configuration: is_worth_a_run(configuration, situation),
        expected_s=state.run_s,
        corrected=() if state.is_planned else state.lab.corrected,
        new_trials=state.searched,
        stop_at=too_slow,
        on_slowdown=state.on_slowdown,
    )
    # Runs of one round of an array take the time of one run, so that more of them are worth it.
    effort = EFFORTS["thorough"] if state.array_trials else request.effort
    result = yield from search(evaluator, effort, request.seed, request.rule.minimum_effect, last)
    budget.spend(evaluator.budget.runs_done)
    if not result.candidates and not state.array_trials and not_reached(state):
        # Without a candidate, the budget of the proof is spent on further configurations.
        evaluator.budget = shared(keeps=partial(_is_ahead, state))
        result = yield from search(evaluator, effort, request.seed, request.rule.minimum_effect, last)
        budget.spend(evaluator.budget.runs_done)
    state.rejected.update(result.rejected)
    _note(result, state)
    if result.candidates and state.shortfall:  # the duration of a candidate is known now
        state.shortfall = proof_shortfall(budget, state.run_s, request.rule, state.quickest_s)
    for configuration, reason in result.rejected:
        LOG.info("rejected: %s: %s", configuration, reason)
    for candidate in result.candidates:
        LOG.info("to be proved: %s: %.3f× by the search", candidate.configuration, candidate.expected_ratio)
    if not result.candidates:
        LOG.info("no proof: no configuration seems faster than the original")
    state.candidates = {candidate.configuration: candidate for candidate in result.candidates}
    keep_candidates(state)
    return list(state.candidates)


def _announce(state: TuneState) -> None:
    """Show the findings, the number of knobs to try, and the expected price."""
    request = state.request
    for finding in state.findings:
        state.narrator.found(finding)
    if shortfall := proof_shortfall(state.budget, state.run_s, request.rule):
        state.shortfall = shortfall
        state.narrator.say(shortfall)
    if request.site and not state.space.dimensions:
        state.note("nothing was tried: no setting that applies here would hold for every program (--site)")
    needless = f", {len(state.cannot_matter)} cannot matter here" if state.cannot_matter else ""
    knobs = len(state.space.dimensions)
    state.narrator.phase(
        f"Searching: {counted(knobs, 'knob')} {'applies' if knobs == 1 else 'apply'}{needless}"
    )
    if price := expected_price(state):
        state.narrator.say(price)
    for option, names in withheld(request, state.situation).items():
        state.note(f"not tried without {option}: {', '.join(names)}")


def _note(result: SearchResult, state: TuneState) -> None:
    """Note disturbed runs, and a heavier setting whose gain is too small."""
    runs = [*state.originals, *state.searched]
    disturbed = max(result.disturbed_runs, sum(trial.disturbed for trial in runs))
    if disturbed >= max(_DISTURBED, _DISTURBED_SHARE * len(runs)):
        state.note(
            f"{disturbed} of {len(runs)} runs were slowed by other processes on this machine: on a quiet "
            "one a tune takes fewer runs and sees smaller gains"
        )
    if result.left_out:
        heavier, ratio = result.left_out
        state.note(
            f"{heavier} would gain another {100 * (ratio - 1):.1f} % (estimated) and was left out: a heavier "
            f"setting has to gain {100 * HEAVY_GAIN:.0f} %"
        )


def _is_ahead(state: TuneState) -> bool:
    """Return whether a configuration seems much faster than the original."""
    times: dict[Configuration, list[float]] = defaultdict(list)
    for trial in (*state.originals, *state.searched):
        if trial.outcome is Outcome.OK and trial.objective is not None:
            times[trial.configuration].append(trial.objective)
    medians = {configuration: median(values) for configuration, values in times.items()}
    original = medians.pop(Configuration(), 0.0)
    return min(medians.values(), default=original) < _AHEAD * original


def not_reached(state: TuneState) -> list[str]:
    """Return the knobs of the space that no run has set."""
    tried = {name for trial in (*state.earlier, *state.searched) for name, _ in trial.configuration.items}
    return [dimension.knob for dimension in state.space.dimensions if dimension.knob not in tried]


def look_at_knobs(state: TuneState) -> None:
    """Fill in the knobs that apply, and their findings."""
    # Other processes on the CPUs are not a matter of settings, but limit the precision of all results.
    advice = state.recorded[-1].profile.advice if state.recorded else ()
    of_run = [advised.finding for advised in advice if advised.finding.id == "cpus-taken"]
    for last in state.recorded[-1:]:
        outside = outside_of(last.record, state.situation.machine, last.run_s, last.ended_unix_s)
        of_run += [outside.finding] if outside else []
    fill_in_space(state)
    for dimension in state.space.dimensions:
        LOG.info("knob %s: to be tried: %s", dimension.knob, ", ".join(dimension.values))
    for knob in state.cannot_matter:
        LOG.info("knob %s: not tried: %s", knob.knob, knob.why)
    state.findings = (*of_run, *findings_of(state.situation, state.space))
    begin_file_runs(state)


_EVENT = "searched"


def keep_candidates(state: TuneState) -> None:
    """Log the candidates of the search, best first."""

    def fields(share: Share) -> dict[str, Any]:
        interval = [share.low, share.high]
        return {"knob": share.knobs[0], "ratio": share.ratio, "interval": interval, "runs": share.runs}

    candidates = [
        vars(candidate)
        | {"configuration": candidate.configuration.as_dict(), "shares": list(map(fields, candidate.shares))}
        for candidate in state.candidates.values()
    ]
    if not state.is_planned:
        state.log.append(_EVENT, {"candidates": candidates})


def kept_candidates(state: TuneState) -> tuple[ProofCandidate, ...]:
    """Return the logged candidates of an interrupted tune; empty if its search had not ended."""
    if state.is_planned:
        return ()
    events = state.log.read().named(_EVENT)
    candidates = events[-1].get("candidates") if events else None
    if not isinstance(candidates, list):
        return ()
    return tuple(
        ProofCandidate(
            Configuration.of(candidate["configuration"]),
            float(candidate["expected_ratio"]),
            tuple(candidate["doubtful"]),
            tuple(candidate["evident"]),
            tuple(estimated_share(**share) for share in candidate.get("shares", ())),
            candidate.get("is_clear", False) is True,
        )
        for candidate in candidates
    )


_UNPROMISING_TRIED = 5  # usual number of unpromising values that are tried
_CONFIRMING = 4  # usual number of further runs of the search


def core_hours(trials: Iterable[Trial], situation: Situation) -> float:
    """Return the core-hours of runs, on the cores of the unchanged command."""
    return sum(trial.wall_s for trial in trials) * _cores(situation) / 3600


def expected_price(state: TuneState) -> str:
    """Return a sentence on the usual number of further runs and core-hours; "" without a knob to try."""
    values = [
        dimension.score >= UNPROMISING for dimension in state.space.dimensions for _ in dimension.values
    ]
    if not values:
        return ""
    searched = values.count(True) + min(values.count(False), _UNPROMISING_TRIED) + _CONFIRMING
    runs = searched + 2 * state.request.rule.clear_pairs()
    fit = state.budget.runs_that_fit(max(state.run_s, 1e-3))
    limited = " (the budget ends it there)" if fit < runs else ""
    hours = min(runs, fit) * state.run_s * _cores(state.situation) / 3600
    return f"expected: about {counted(min(runs, fit), 'more run')}, {hours:.2g} core-hours{limited}"


def _cores(situation: Situation) -> int:
    return cores_used(render(Configuration(), situation), situation, ())
