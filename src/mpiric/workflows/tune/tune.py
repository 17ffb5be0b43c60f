"""`mpiric tune`: find the fastest configuration, prove it, save the recipe."""

import logging
from dataclasses import replace
from functools import partial

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.host.processes.execution import Runner
from mpiric.lab.lab import drive
from mpiric.lab.render import can_be_written, render
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MismatchError
from mpiric.model.evidence import Evidence, Verdict
from mpiric.model.run import PROVED, Narrator, Plan
from mpiric.model.situation import Situation
from mpiric.model.tuned import Tuned
from mpiric.plans.prove import Unit
from mpiric.plans.search import ProofCandidate
from mpiric.plans.smallest import SmallestAnswer
from mpiric.workflows.fabric.bench import with_networks
from mpiric.workflows.launch.parse_job import ParsedJob
from mpiric.workflows.trials.expected import expected_situation
from mpiric.workflows.tune.check_answer import finish, observe_answer
from mpiric.workflows.tune.collectives import learn_collectives
from mpiric.workflows.tune.find_candidates import find_candidates
from mpiric.workflows.tune.node_watch import watch_nodes
from mpiric.workflows.tune.space import check_names, find_rank_orders, requested_space
from mpiric.workflows.tune.start import observe_command, open_log, open_tune, parse_request
from mpiric.workflows.tune.state import TuneRequest, TuneState
from mpiric.workflows.tune.write_results import write_results


def tune(request: TuneRequest, host: Host, narrator: Narrator, runner: Runner | None = None) -> Tuned:
    """Tune a command. Ctrl-C ends it early with the best configuration so far; all trials stay logged."""
    check_names([*request.only, *request.without])
    parsed = parse_request(request, host)
    with (
        open_log(request, parsed.job) as log,
        open_tune(request, parsed, log, host, narrator, runner or Runner()) as state,
    ):
        drive(answer(state, parsed, host), state.lab.measure, state.report, state.logged)
        return write_results(state, host, state.budget.elapsed_s)


def answer(state: TuneState, parsed: ParsedJob, host: Host) -> Plan[None]:
    """Observe the command, search for a faster configuration, prove it, and record what it changes."""
    yield from observe_command(state, parsed, host)
    try:
        state.situation = with_networks(state.situation, host, state.narrator)
        if state.marks is None:  # otherwise the runs before the step markers were known were longer
            state.run_s = state.lab.run_s or state.run_s
        find_rank_orders(state, host)
        yield from learn_collectives(state, host)
        state.on_slowdown = watch_nodes(state, host)
        candidates = yield from find_candidates(state)
        yield from prove_best(state, candidates)
        yield from observe_answer(state, host)
        yield from finish(state)
    except KeyboardInterrupt:
        state.interrupted = True


def dry_run(request: TuneRequest, host: Host) -> list[str]:
    """Return the launch lines that a tune would try, without running anything."""
    check_names([*request.only, *request.without])
    parsed = parse_request(request, host)
    situation = expected_situation(parsed, host, request.allowed)
    lines = [f"as it is: {render(Configuration(), situation).shell_line()}"]
    for dimension in requested_space(request, situation).dimensions:
        for value in dimension.values:
            try:
                line = render(Configuration(((dimension.knob, value),)), situation).shell_line()
            except MismatchError as error:
                line = f"not tried: {error.message}"
            lines.append(f"{dimension.knob}={value}: {line}")
    return lines


LOG = logging.getLogger(__package__)


def prove_best(state: TuneState, candidates: list[Configuration]) -> Plan[None]:
    """Prove the best candidate, or the next one if the first fails in a run of the proof."""
    effort = state.request.effort
    proof_of = partial(
        SmallestAnswer,
        units_of=lambda answer: units_of(answer, state.situation) if effort.proves_shares else (),
        rule=state.request.rule,
        budget=state.budget,
        round_of=state.logged.round_of,
        say=state.narrator.phase,
        is_rejected=lambda answer: answer in state.rejected,
        seed=state.request.seed,
        stops=state.request.objective.text == "wall" and not state.request.spread,
        run_s=state.run_s,
        slowest=max((trial.objective for trial in state.originals if trial.objective), default=0.0),
        answer_s=state.quickest_s,
        limit_s=PROVED.after(max(trial.wall_s for trial in state.originals)),
    )
    for candidate in candidates:
        settings = len(units_of(candidate, state.situation))
        with_shares = effort.proves_shares and settings > 1
        shares = f", and the share of each of {settings} settings" if with_shares else ""
        state.narrator.phase(f"Proving {candidate} against the original, in fresh pairs{shares}")
        estimate = state.candidates.get(candidate, ProofCandidate(candidate, 1.0))
        smallest = proof_of(
            candidate,
            doubtful=estimate.doubtful,
            evident=estimate.evident,
            # The runs of a block are made one after the other, not in several jobs.
            is_clear=estimate.is_clear and not state.is_planned,
        )
        try:
            result = yield from smallest.prove()
        except KeyboardInterrupt:
            if smallest.proved:
                state.evidence = (_with_estimates(smallest.proved, estimate),)
            raise
        state.evidence = (_with_estimates(result.evidence, estimate),)
        state.rejected.update(smallest.rejected)
        proof = result.evidence
        interval = f"{proof.ratio:.3f}× [{proof.low:.3f}, {proof.high:.3f}]"
        LOG.info("proof of %s: %s, %s: %s", candidate, proof.verdict.value, interval, proof.stopped_because)
        if not result.rejected:
            if dropped := smallest.dropped(result):
                state.note(f"removed, since not shown to contribute: {', '.join(dropped)}")
            return


def _with_estimates(evidence: Evidence, candidate: ProofCandidate) -> Evidence:
    """Return the evidence with estimated shares where a faster answer has no proved ones."""
    if evidence.shares or evidence.verdict is not Verdict.FASTER:
        return evidence
    return replace(evidence, shares=candidate.shares)


def units_of(answer: Configuration, situation: Situation) -> tuple[Unit, ...]:
    """Return the units of an answer: settings that depend on each other are in the same unit.

    A setting that only the launcher or library of another setting can express depends on that setting.
    """
    values = answer.as_dict()
    dependent = [
        item for item in values.items() if not can_be_written(Configuration.of(dict([item])), situation)
    ]
    units = [{name} for name in values]
    for name, value in values.items():
        knob = knobs.knob_named(name)
        brought = knob.brings(value, situation) if knob.brings else {}
        together = {name, *(other for other, needed in brought.items() if values.get(other) == needed)}
        together |= {
            other
            for other, needed in dependent
            if can_be_written(Configuration.of({name: value, other: needed}), situation)
        }
        joined = [unit for unit in units if unit & together]
        units = [unit for unit in units if not unit & together] + [set().union(*joined)]
    return tuple(sorted(tuple(sorted(unit)) for unit in units))
