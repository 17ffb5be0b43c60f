"""The knobs a search may set, with the values it may try."""

from collections.abc import Sequence
from dataclasses import replace

from mpiric import knobs
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.knob import Knob
from mpiric.model.situation import Situation
from mpiric.tuning.search.space import Dimension, SearchSpace
from mpiric.workflows.launch.spelling import can_be_written, spell
from mpiric.workflows.tune.request import TuneRequest

_ADVISED_SCORE = 0.9  # of a knob that a record's advice names: tried before what only looks promising


def check_names(names: Sequence[str]) -> None:
    """Raise MpiricError for a word that is neither a knob nor a family."""
    known = set(knobs.all_knobs()) | {knob.family for knob in knobs.all_knobs().values()}
    for name in names:
        if name not in known:
            raise MpiricError(
                f"no knob or family is called {name!r}", hint=f"known are: {', '.join(sorted(known))}"
            )


def requested_space(request: TuneRequest, situation: Situation) -> SearchSpace:
    """The space that a tune's request leaves."""
    return space_of(situation, request.only, request.without, site=request.site, advised=request.advised)


def space_of(
    situation: Situation,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    *,
    site: bool = False,
    advised: Sequence[str] = (),
) -> SearchSpace:
    """Every knob that applies to the job and that the user allows, with the values that can be written.

    ``advised`` are knobs that the advice on a record names: the search tries them first.
    """
    return SearchSpace(
        tuple(
            dimension
            for knob in knobs.applicable(situation).values()
            if _wanted(knob, only, without)
            for dimension in [_dimension(knob, situation, is_advised=knob.name in advised, site=site)]
            if dimension.values
        )
    )


def is_worth_a_run(configuration: Configuration, situation: Situation) -> bool:
    """Whether it can be written down, and each of its knobs has something to do beside the others."""
    values = configuration.as_dict()
    idle = [rule for name in values if (rule := knobs.all_knobs()[name].idle_beside) is not None]
    return not any(rule(values, situation) for rule in idle) and can_be_written(configuration, situation)


def withheld_for_rounding(situation: Situation) -> tuple[str, ...]:
    """Knobs that would apply if the user allowed the last digits to change."""
    if situation.allowed.rounding:
        return ()
    freer = replace(situation, allowed=replace(situation.allowed, rounding=True))
    return tuple(name for name in knobs.applicable(freer) if name not in knobs.applicable(situation))


def _wanted(knob: Knob, only: Sequence[str], without: Sequence[str]) -> bool:
    names = {knob.name, knob.family}
    return (not only or bool(names & set(only))) and not names & set(without)


def _dimension(knob: Knob, situation: Situation, *, is_advised: bool, site: bool) -> Dimension:
    promise = knob.promise(situation)
    suits_site = knob.site_default or (lambda *_: False)
    values = tuple(
        value
        for value in knob.values(situation)
        if spell(knob, value, situation) is not None and (not site or suits_site(value, situation))
    )
    return Dimension(
        knob=knob.name,
        values=values,
        score=max(promise.score, _ADVISED_SCORE) if is_advised else promise.score,
        try_first=tuple(value for value in promise.try_first if value in values),
    )
