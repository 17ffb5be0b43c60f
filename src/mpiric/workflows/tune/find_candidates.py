"""The search of a tune: findings, then configurations that seem faster.

The candidates are logged at the end of the search, so that a resumed tune continues with their proof.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from math import inf
from statistics import median
from typing import Any

from mpiric.lab.judge import cores_used
from mpiric.lab.render import render
from mpiric.model.amount import counted
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Share
from mpiric.model.run import Outcome, Phase, Plan, Trial
from mpiric.model.situation import Situation
from mpiric.plans.evaluator import Evaluator
from mpiric.plans.ranking import HEAVY_GAIN
from mpiric.plans.search import ProofCandidate, SearchResult, estimated_share, search
from mpiric.plans.stages import EFFORTS
from mpiric.statistics.claims import StoppingRule
from mpiric.statistics.effects import UNPROMISING
from mpiric.tuning.objective import TIMES, Budget
from mpiric.workflows.trials.outside_time import outside_of
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
        stop_at=lambda: _too_slow(state) if is_between_marks else None,
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


def _too_slow(state: TuneState) -> float | None:
    """Return the objective at which a run between step markers is stopped; None before the first run."""
    objectives = [
        trial.objective for trial in (*state.originals, *state.searched) if trial.outcome is Outcome.OK
    ]
    best = min((objective for objective in objectives if objective), default=None)
    return None if best is None or state.request.spread else _SLOW * best


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
    outside = outside_of(state.recorded[-1], state.situation.machine) if state.recorded else None
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
    candidates = [
        {
            "configuration": candidate.configuration.as_dict(),
            "expected_ratio": candidate.expected_ratio,
            "doubtful": list(candidate.doubtful),
            "evident": list(candidate.evident),
            "shares": [_render(share) for share in candidate.shares],
            "is_clear": candidate.is_clear,
        }
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
            tuple(_read(share) for share in candidate.get("shares", ())),
            candidate.get("is_clear", False) is True,
        )
        for candidate in candidates
    )


def _render(share: Share) -> dict[str, Any]:
    interval = [share.low, share.high]
    return {"knob": share.knobs[0], "ratio": share.ratio, "interval": interval, "runs": share.runs}


def _read(share: dict[str, Any]) -> Share:
    return estimated_share(share["knob"], share["ratio"], share["interval"], share["runs"])


_PROOF_SLACK = 1.5  # pairs of a typical proof, relative to the fewest pairs
_WITH_SHARES = 3.0  # price of proved shares: a second, smaller answer, and a third of runs without a setting
_PROOF_SHARE = 0.25  # smallest share of the budget that is kept for a proof
_MOST_FOR_PROOF = 0.65  # largest share of the budget that is kept for a proof
_LIKELY_SHARE = 0.4  # share kept for some pairs if a whole proof does not fit
_BENCHMARK_SHARE = 0.25  # largest share of the budget, or of the job, for a benchmark


def search_budget(
    budget: Budget,
    pair_s: Callable[[], float],
    rule: StoppingRule,
    *,
    proves_shares: bool = False,
    explores: Callable[[], bool] = lambda: False,
    keeps: Callable[[], bool] | None = None,
) -> Budget:
    """Return the part of the budget that the search may spend, so that a proof still fits.

    A pair of the proof takes ``pair_s()``, a run of the original and one of the best configuration so far.
    The reserve is larger if the proof includes the share of each setting
    (``proves_shares``), and smaller if no proof fits while knobs are left to try (``explores()``). A search
    that is continued may spend all runs that are left, and reserves time only while ``keeps()``.
    """
    pairs = rule.fewest_pairs() * _PROOF_SLACK * (_WITH_SHARES if proves_shares else 1.0)
    left_s, left_runs = budget.remaining_s, budget.remaining_runs

    def proof_s() -> float:
        if keeps is not None and not keeps():
            return 0.0
        if rule.clear_pairs() * pair_s() > left_s and explores():
            return _LIKELY_SHARE * left_s
        return min(max(pairs * pair_s(), _PROOF_SHARE * left_s), _MOST_FOR_PROOF * left_s)

    if left_runs is not None and keeps is None:
        left_runs = max(left_runs // 2, left_runs - int(2 * pairs))
    return Budget(
        None if budget.seconds is None else left_s,
        left_runs,
        clock=budget.clock,
        reserve_s=proof_s,
    )


def benchmark_s(budget: Budget, run_s: float, rule: StoppingRule, job_s: float = inf) -> float:
    """Return the time limit of a benchmark of the program's collectives, so that a proof still fits.

    ``job_s`` is the time limit of the job that runs the benchmark.
    """
    left_s = budget.remaining_s
    proof_s = 2 * rule.fewest_pairs() * _PROOF_SLACK * run_s
    return max(0.0, min(_BENCHMARK_SHARE * min(left_s, job_s), left_s - proof_s))


def proof_shortfall(budget: Budget, run_s: float, rule: StoppingRule, best_s: float = inf) -> str:
    """Return a sentence if the budget is too small for a proof, "" otherwise.

    Half of the runs take ``run_s`` (the original), half ``best_s`` (a candidate).
    """
    pairs, answer_s = rule.clear_pairs(), min(run_s, best_s)
    needed_s = pairs * (run_s + answer_s)
    runs = budget.remaining_runs
    if runs is not None and runs < 2 * pairs + 2:
        return f"a proof takes at least {2 * pairs} runs; give --max-runs more"
    if needed_s * 1.3 > budget.remaining_s:
        minutes = max(1, round(needed_s * 2.5 / 60))
        lengths = (
            f"of {run_s:.3g} s" if answer_s == run_s else f"of {run_s:.3g} and of {answer_s:.3g} s by turns"
        )
        return (
            f"a proof takes at least {2 * pairs} runs {lengths}: "
            f"give a --budget of about {minutes}m, a smaller input, or a lower --confidence"
        )
    return ""


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
