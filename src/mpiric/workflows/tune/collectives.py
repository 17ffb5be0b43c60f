"""Online learning of collective algorithms in one run of the program, and its use by the tune."""

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
_PATIENCE = 10.0  # time limit of the learning run, which also tries slow algorithms, relative to a usual run


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
