"""The order in which a tune tries its knobs: by what they can touch, and by what helped in this store."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from mpiric import knobs
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Verdict
from mpiric.model.situation import Situation
from mpiric.tuning.prior import PastTune, likelihood, worth
from mpiric.tuning.search.space import SearchSpace
from mpiric.tuning.store.events import moment, read_log
from mpiric.tuning.store.store import EVENTS, Store
from mpiric.workflows.launch.fingerprints import job_identity
from mpiric.workflows.tune.request import TuneRequest

SPACE = "space"  # event of a tune's log: what it tries, for a program of which class
_MOST_TUNES = 200  # of a store, the youngest
_MUCH = 0.2  # of the time, so that it says what kind of program it is


def in_order(space: SearchSpace, request: TuneRequest, situation: Situation) -> SearchSpace:
    """The space with scores by promise, by past tunes of programs of this class, and by the gain there is."""
    behaviour, past = situation.observation.behaviour, tuple(_past(request, program_class(situation)))
    dimensions = []
    for dimension in space.dimensions:
        likely = likelihood(dimension.knob, dimension.score, past)
        touches = knobs.all_knobs()[dimension.knob].touches
        bound = behaviour.bound(touches) if behaviour and touches else 1.0
        score = dimension.score if dimension.knob in request.advised else worth(likely, bound)
        dimensions.append(replace(dimension, score=score))
    return SearchSpace(tuple(dimensions))


def last_answer(request: TuneRequest, situation: Situation) -> Configuration:
    """Return the answer of the last finished tune of this job under this MPI library; empty without one."""
    job = job_identity(situation.job)
    for summary in reversed(Store(request.store).tunes()):
        if summary.job != job or not summary.finished:
            continue
        result = read_log(summary.path / EVENTS).result
        if result.get("mpi") != situation.mpi.label:
            continue
        is_proved = result.get("verdict") == Verdict.FASTER.value
        return Configuration.of(result.get("configuration") or {}) if is_proved else Configuration()
    return Configuration()


def program_class(situation: Situation) -> str:
    """Programs that are slow for the same reason: ``mpich, one node, collectives``; "" without a record."""
    behaviour = situation.observation.behaviour
    if behaviour is None:
        return ""
    kinds = {
        "faults": ["fault_bound"],
        "collectives": ["collective_bound"],
        "messages": ["mpi_bound"],
        "files": ["io_bound"],
    }
    much = (kind for kind, names in kinds.items() if behaviour.bound(names) >= _MUCH)
    kind = "crowded" if situation.observation.oversubscribed else next(much, "computing")
    return f"{situation.mpi.implementation}, {'one node' if situation.nodes == 1 else 'nodes'}, {kind}"


def _past(request: TuneRequest, of_class: str) -> Iterator[PastTune]:
    """Tunes of the store that came to their end, of programs of one class."""
    if not of_class:
        return
    now = datetime.now(timezone.utc)
    for summary in [tune for tune in Store(request.store).tunes() if tune.finished][-_MOST_TUNES:]:
        log = read_log(summary.path / EVENTS)
        spaces = [event for event in log.events if event["event"] == SPACE]
        is_of_class = bool(spaces) and spaces[-1].get("class") == of_class
        if is_of_class and log.result and (began := moment(summary.started_at)):
            yield _tune((now - began).total_seconds() / 86400, log.result)


def _tune(age_days: float, result: Mapping[str, Any]) -> PastTune:
    changes = result.get("changes", ()) if result.get("verdict") == Verdict.FASTER.value else ()
    kept = frozenset(str(change["knob"]) for change in changes)
    tried = {*map(str, result.get("tried", ()))} - {*map(str, result.get("unjudged", ()))}
    return PastTune(age_days, frozenset(tried) | kept, kept)
