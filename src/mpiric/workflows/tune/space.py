"""The knobs a search may set, with the values it may try."""

from collections.abc import Sequence
from dataclasses import replace

from mpiric import knobs
from mpiric.lab.render import can_be_written, spell
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.knob import Knob
from mpiric.model.situation import Situation
from mpiric.model.tuned import CannotMatter
from mpiric.tuning.search.space import Dimension, SearchSpace
from mpiric.workflows.tune.request import TuneRequest

_OF_TIME = ("wall", "main", "core-hours")  # objectives of which shares of the time are shares
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
    """The space that a tune's request leaves, of what can matter to the program."""
    return space_of(
        situation,
        request.only,
        request.without,
        site=request.site,
        advised=request.advised,
        least_share=least_share(request),
    )


def needless_knobs(request: TuneRequest, situation: Situation) -> tuple[CannotMatter, ...]:
    """Knobs that would be tried but cannot matter to what the recorded program does, and why."""
    least = least_share(request)
    if least is None:
        return ()
    return tuple(
        CannotMatter(knob.name, why)
        for knob in knobs.applicable(situation).values()
        if _wanted(knob, request.only, request.without)
        for why in [_needless(knob, situation, least, site=request.site)]
        if why
    )


def least_share(request: TuneRequest) -> float | None:
    """The share of the time that a knob must be able to touch; None where all are to be tried.

    A number that the program prints may be of a moment of its run: there only what touches nothing goes.
    """
    if request.try_all:
        return None
    least = request.rule.minimum_effect
    return least / (1 + least) if request.objective.text in _OF_TIME else 0.0


def space_of(
    situation: Situation,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    *,
    site: bool = False,
    advised: Sequence[str] = (),
    least_share: float | None = None,
) -> SearchSpace:
    """Every knob that applies to the job and that the user allows, with the values that can be written.

    ``advised`` are knobs that the advice on a record names: the search tries them first. With a
    ``least_share``, knobs that cannot touch more of the time are left out, and of values that do the same
    all but one.
    """
    return SearchSpace(
        tuple(
            dimension
            for knob in knobs.applicable(situation).values()
            if _wanted(knob, only, without)
            if least_share is None or not _needless(knob, situation, least_share, site=site)
            for dimension in [_dimension(knob, situation, advised=advised, site=site, least=least_share)]
            if dimension.values
        )
    )


def is_worth_a_run(configuration: Configuration, situation: Situation) -> bool:
    """Whether it can be written down, and each of its knobs has something to do beside the others."""
    values = configuration.as_dict()
    idle = [rule for name in values if (rule := knobs.all_knobs()[name].idle_beside) is not None]
    return not any(rule(values, situation) for rule in idle) and can_be_written(configuration, situation)


def withheld(situation: Situation, only: Sequence[str], without: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Option → knobs that would be tried if the user allowed by it what it names."""
    tried = knobs.applicable(situation)
    found: dict[str, tuple[str, ...]] = {}
    for name in ("rounding", "late", "relayout"):
        freer = replace(situation, allowed=replace(situation.allowed, **{name: True}))
        more = tuple(
            knob.name
            for knob in knobs.applicable(freer).values()
            if knob.name not in tried and _wanted(knob, only, without)
        )
        found |= {f"--allow-{name}": more} if more else {}
    return found


def _wanted(knob: Knob, only: Sequence[str], without: Sequence[str]) -> bool:
    names = knob.chosen_by
    return (not only or bool(names.intersection(only))) and names.isdisjoint(without)


def _needless(knob: Knob, situation: Situation, least: float, *, site: bool) -> str:
    """Why a knob with values cannot matter to what was recorded; "" where it can, or nothing was."""
    behaviour = situation.observation.behaviour
    values = _values(knob, situation, site=site)
    if behaviour is None or not values:
        return ""
    if why := knobs.why_not(knob, behaviour, least):
        return why
    return "" if _distinct(knob, values, situation) else knobs.sizes_sent(knob, behaviour)


def _values(knob: Knob, situation: Situation, *, site: bool) -> tuple[str, ...]:
    suits_site = knob.site_default or (lambda *_: False)
    return tuple(
        value
        for value in knob.values(situation)
        if (spelling := spell(knob, value, situation)) is not None
        if not knobs.is_in_force(spelling, situation) and (not site or suits_site(value, situation))
    )


def _distinct(knob: Knob, values: tuple[str, ...], situation: Situation) -> tuple[str, ...]:
    written = [spelling for value in values if (spelling := spell(knob, value, situation)) is not None]
    names = {name for spelling in written for name in spelling.environment}
    is_set = not names.isdisjoint([*situation.job.environment, *situation.inherited])
    return knobs.distinct_values(knob, values, situation, is_set=is_set)


def _dimension(
    knob: Knob, situation: Situation, *, advised: Sequence[str], site: bool, least: float | None
) -> Dimension:
    promise = knobs.promise_of(knob, situation)
    values = _values(knob, situation, site=site)
    if least is not None:
        values = _distinct(knob, values, situation)
    return Dimension(
        knob=knob.name,
        values=values,
        score=max(promise.score, _ADVISED_SCORE) if knob.name in advised else promise.score,
        try_first=tuple(value for value in promise.try_first if value in values),
        heavy=knob.heavy,
    )
