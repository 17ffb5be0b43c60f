"""One run in which the runtime learns which collective algorithms are best, and what follows from it."""

from dataclasses import replace
from math import inf
from pathlib import Path

from mpiric.host.files import is_file
from mpiric.host.host import Host
from mpiric.model.configuration import Configuration
from mpiric.model.run import Plan, Run
from mpiric.model.situation import Situation, Tuner
from mpiric.model.trial import Phase
from mpiric.tuning.policy import condense
from mpiric.workflows.policies.export import chooses_something
from mpiric.workflows.policies.files import all_learned, learned_file
from mpiric.workflows.policies.tuner import obeying
from mpiric.workflows.tune.allowances import benchmark_s, proof_shortfall
from mpiric.workflows.tune.benchmark import benchmark_remaining
from mpiric.workflows.tune.space import requested_space
from mpiric.workflows.tune.state import TuneState

_COLLECTIVES = "collectives"
_PATIENCE = 10.0  # the run that learns may take so many times as long: it tries what is slow too


def learn_collectives(state: TuneState, host: Host) -> Plan[None]:
    """Learn what the collectives knob may then choose.

    Learning costs time, so this run competes with none; the policy it leaves is a value like any other. What
    the program calls too seldom is learned by a benchmark of it. Where runs end at a mark, so does this one.
    """
    request, situation = state.request, state.situation
    wall_s = situation.observation.wall_s
    if all(dimension.knob != _COLLECTIVES for dimension in requested_space(request, situation).dimensions):
        return
    if proof_shortfall(state.budget, wall_s, request.rule):  # nor is there a run to learn in
        state.situation = replace(situation, tuner=Tuner())
        return
    learned = learned_file(state.log.path)
    state.narrator.phase("Learning its collectives")
    settings = (("MPIRIC_POLICY_OUT", str(learned)), ("MPIRIC_LEARN_AT_MOST", "0"))
    learning = replace(situation, tuner=replace(situation.tuner, settings=settings))
    online = Configuration.of({_COLLECTIVES: "online"})
    yield Run(online, Phase.SEARCH, limit_s=_PATIENCE * wall_s + 10.0, situation=learning)
    state.budget.spend(1)
    if state.marks is not None and not is_file(learned):
        state.note("nothing was learned of its collectives before the mark")
    job_s = request.spread.each_s if request.spread else inf
    seconds = benchmark_s(state.budget, max(wall_s, state.run_s), request.rule, job_s)
    if note := benchmark_remaining(state.log, situation, seconds, host, state.narrator):
        state.note(note)
    state.situation = with_learned(situation, state.log.path, host)
    if state.situation.tuner == Tuner():
        state.note("learning its collectives found nothing to try")


def with_learned(situation: Situation, directory: Path, host: Host) -> Situation:
    """What a tune has learned in its directory becomes values of the collectives knob.

    Where nothing beats the library, or nothing was decided and rounding may not change, the knob goes.
    """
    tuner, found = situation.tuner, all_learned(directory)
    if found is not None and chooses_something(condense(found)):
        tuner = obeying(tuner, found, directory, host)
    elif not situation.allowed.rounding or (found is not None and any(key.decided for key in found.keys)):
        tuner = Tuner()
    return replace(situation, tuner=tuner)
