"""The space of a tune, which stays as it is from its first look at the knobs on.

What recorded runs show differs a little from run to run, and so may what can matter. A tune that is resumed,
or whose rounds run in several jobs, must go on in the space that it began in.
"""

from collections.abc import Mapping
from typing import Any

from mpiric.knobs import all_knobs
from mpiric.model.json_text import read_fields
from mpiric.model.tuned import CannotMatter
from mpiric.tuning.search.space import SearchSpace
from mpiric.workflows.tune.order import SPACE, in_order, program_class
from mpiric.workflows.tune.request import TuneRequest
from mpiric.workflows.tune.space import least_share, needless_knobs, requested_space
from mpiric.workflows.tune.state import TuneState


def fill_in_space(state: TuneState) -> None:
    """The knobs to try and those that cannot matter: as the tune's log has them, or found now and logged."""
    asked = _asked(state.request)
    events = [event for event in state.log.read().events if event["event"] == SPACE]
    known = next((_read(event) for event in reversed(events) if event.get("asked") == asked), None)
    if known is not None:
        state.space, state.cannot_matter = known
        return
    state.space = in_order(requested_space(state.request, state.situation), state.request, state.situation)
    state.cannot_matter = needless_knobs(state.request, state.situation)
    written = _written(state.space, state.cannot_matter)
    state.log.append(SPACE, {"asked": asked, "class": program_class(state.situation), **written})


def _asked(request: TuneRequest) -> dict[str, Any]:
    """What of a request decides on the space."""
    allowed = vars(request.allowed)
    names = {name: list(getattr(request, name)) for name in ("only", "without", "advised")}
    return {**names, **allowed, "site": request.site, "least_share": least_share(request)}


def _written(space: SearchSpace, needless: tuple[CannotMatter, ...]) -> dict[str, Any]:
    dimensions = [
        {**vars(each), "values": list(each.values), "try_first": list(each.try_first)}
        for each in space.dimensions
    ]
    return {"dimensions": dimensions, "cannot_matter": [vars(each) for each in needless]}


def _read(event: Mapping[str, Any]) -> tuple[SearchSpace, tuple[CannotMatter, ...]] | None:
    """Return the space of an event; None if it is damaged or names an unknown knob."""
    try:
        space = read_fields(SearchSpace, {"dimensions": event.get("dimensions")})
        needless = event.get("cannot_matter")
        if not isinstance(needless, list) or not {each.knob for each in space.dimensions} <= set(all_knobs()):
            return None
        return space, tuple(read_fields(CannotMatter, each) for each in needless)
    except ValueError:
        return None
