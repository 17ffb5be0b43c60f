"""The search space of a tune, ordered by the possible gain of each knob and by earlier tunes of this store.

Records differ a little from run to run, and so may the knobs that can matter. A tune that is resumed, or
whose rounds run in several jobs, therefore takes the space from its log.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from mpiric import knobs
from mpiric.knobs import all_knobs
from mpiric.model.configuration import Configuration
from mpiric.model.evidence import Verdict
from mpiric.model.json_text import read_fields
from mpiric.model.situation import Situation
from mpiric.model.tuned import CannotMatter
from mpiric.tuning.prior import PastTune, likelihood, worth
from mpiric.tuning.search.space import SearchSpace
from mpiric.tuning.store.events import moment, read_log
from mpiric.tuning.store.store import EVENTS, Store
from mpiric.workflows.launch.fingerprints import job_identity
from mpiric.workflows.tune.request import TuneRequest
from mpiric.workflows.tune.space import least_share, needless_knobs, requested_space
from mpiric.workflows.tune.state import TuneState

SPACE = "space"  # event of the log: search space and class of the program
_MOST_TUNES = 200  # limit of tunes that are read, the youngest first
_MUCH = 0.2  # share of the time that determines the class of a program


def in_order(space: SearchSpace, request: TuneRequest, situation: Situation) -> SearchSpace:
    """Return the space with scores from priors, past tunes of this program class, and the possible gain."""
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
    """Return the bottleneck class of a program: ``mpich, one node, collectives``; "" without a record."""
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
    """Yield the finished tunes of the store, of programs of one class."""
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
    helpful = frozenset(str(change["knob"]) for change in changes)
    tried = {*map(str, result.get("tried", ()))} - {*map(str, result.get("unjudged", ()))}
    return PastTune(age_days, frozenset(tried) | helpful, helpful)


def fill_in_space(state: TuneState) -> None:
    """Take the knobs to try, and the knobs that cannot matter, from the log, or determine and log them."""
    options = _options(state.request)
    events = [event for event in state.log.read().events if event["event"] == SPACE]
    logged = next((_read(event) for event in reversed(events) if event.get("asked") == options), None)
    if logged is not None:
        state.space, state.cannot_matter = logged
        return
    state.space = in_order(requested_space(state.request, state.situation), state.request, state.situation)
    state.cannot_matter = needless_knobs(state.request, state.situation)
    written = _written(state.space, state.cannot_matter)
    state.log.append(SPACE, {"asked": options, "class": program_class(state.situation), **written})


def _options(request: TuneRequest) -> dict[str, Any]:
    """Return the options of a request that determine the space."""
    allowed = vars(request.allowed)
    names = {name: list(getattr(request, name)) for name in ("only", "without", "advised")}
    return {**names, **allowed, "site": request.site, "least_share": least_share(request)}


def _written(space: SearchSpace, needless: tuple[CannotMatter, ...]) -> dict[str, Any]:
    dimensions = [
        {**vars(dimension), "values": list(dimension.values), "try_first": list(dimension.try_first)}
        for dimension in space.dimensions
    ]
    return {"dimensions": dimensions, "cannot_matter": [vars(knob) for knob in needless]}


def _read(event: Mapping[str, Any]) -> tuple[SearchSpace, tuple[CannotMatter, ...]] | None:
    """Return the space of an event; None if it is damaged or names an unknown knob."""
    try:
        space = read_fields(SearchSpace, {"dimensions": event.get("dimensions")})
        needless = event.get("cannot_matter")
        if not isinstance(needless, list) or not {knob.knob for knob in space.dimensions} <= set(all_knobs()):
            return None
        return space, tuple(read_fields(CannotMatter, knob) for knob in needless)
    except ValueError:
        return None
