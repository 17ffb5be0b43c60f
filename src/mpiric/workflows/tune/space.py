"""The knobs a search may set, with the values it may try."""

from collections.abc import Sequence
from dataclasses import replace

from mpiric import knobs
from mpiric.lab.render import can_be_written, spell
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.knob import Knob, Skip, Try
from mpiric.model.situation import Situation
from mpiric.model.spelling import Weight
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
    recorded = replace(situation, least_share=least_share(request))
    return space_of(recorded, request.only, request.without, site=request.site, advised=request.advised)


def needless_knobs(request: TuneRequest, situation: Situation) -> tuple[CannotMatter, ...]:
    """Knobs that would be tried if it was not known what the recorded program does, and why they are not."""
    recorded = replace(situation, least_share=least_share(request))
    answers = _answers(recorded, request.only, request.without, site=request.site)
    return tuple(
        CannotMatter(name, answer.reason)
        for name, _ in _tried(_answers(situation, request.only, request.without, site=request.site))
        if isinstance(answer := answers[name], Skip)
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
) -> SearchSpace:
    """Every knob that is worth a run and that the user allows, with the values that can be written.

    ``advised`` are knobs that the advice on a record names: the search tries them first. What a record rules
    out is left out where the situation has a ``least_share``.
    """
    dimensions = []
    for name, answer in _tried(_answers(situation, only, without, site=site)):
        spellings = [spell(knobs.all_knobs()[name], value, situation) for value in answer.values]
        dimension = Dimension(
            knob=name,
            values=answer.values,
            score=max(answer.prior, _ADVISED_SCORE) if name in advised else answer.prior,
            try_first=tuple(value for value in answer.first if value in answer.values),
            weight=max((spelling.weight for spelling in spellings if spelling), default=Weight.LIGHT),
        )
        dimensions.append(dimension)
    return SearchSpace(tuple(dimensions))


def _tried(answers: dict[str, Skip | Try]) -> list[tuple[str, Try]]:
    """Knobs that are worth a run, the likeliest to help first."""
    tried = [(name, answer) for name, answer in answers.items() if isinstance(answer, Try)]
    return sorted(tried, key=lambda entry: -entry[1].prior)


def _answers(
    situation: Situation, only: Sequence[str], without: Sequence[str], *, site: bool
) -> dict[str, Skip | Try]:
    """The answer of each knob that the user wants, for the values that can be written here.

    Where the situation has a ``least_share``, one of the values that do the same is left.
    """
    answers: dict[str, Skip | Try] = {}
    for name, knob in knobs.all_knobs().items():
        if not _wanted(knob, only, without):
            continue
        answer = answers[name] = knobs.consider(knob, situation)
        if isinstance(answer, Skip):
            continue
        suits_site = knob.site_default or (lambda *_: False)
        spellings = {
            value: spelling
            for value in answer.values
            if (spelling := spell(knob, value, situation)) is not None
            if not knobs.is_in_force(spelling, situation) and (not site or suits_site(value, situation))
        }
        if not spellings:
            answers[name] = Skip("none of its values can be set here, or the one in force is the only one")
            continue
        variables = {variable for spelling in spellings.values() for variable in spelling.environment}
        is_set = not variables.isdisjoint([*situation.job.environment, *situation.inherited])
        answers[name] = knobs.distinct(
            knob, replace(answer, values=tuple(spellings)), situation, is_set=is_set
        )
    return answers


def is_worth_a_run(configuration: Configuration, situation: Situation) -> bool:
    """Whether it can be written down, and each of its knobs has something to do beside the others."""
    values = configuration.as_dict()
    idle = [rule for name in values if (rule := knobs.all_knobs()[name].idle_beside) is not None]
    return not any(rule(values, situation) for rule in idle) and can_be_written(configuration, situation)


def withheld(situation: Situation, only: Sequence[str], without: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Option → knobs that would be tried if the user allowed by it what it names."""
    tried = knobs.to_try(situation)
    found: dict[str, tuple[str, ...]] = {}
    for name in ("rounding", "late", "relayout"):
        freer = replace(situation, allowed=replace(situation.allowed, **{name: True}))
        more = tuple(
            knob
            for knob in knobs.to_try(freer)
            if knob not in tried and _wanted(knobs.all_knobs()[knob], only, without)
        )
        found |= {f"--allow-{name}": more} if more else {}
    return found


def _wanted(knob: Knob, only: Sequence[str], without: Sequence[str]) -> bool:
    names = knob.chosen_by
    return (not only or bool(names.intersection(only))) and names.isdisjoint(without)
