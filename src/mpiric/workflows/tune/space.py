"""The knobs a search may set, with the values it may try."""

from collections.abc import Sequence
from dataclasses import replace

from mpiric import knobs
from mpiric.lab.render import can_be_written, spell
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.knob import Knob, Skip, Try
from mpiric.model.launch import Weight
from mpiric.model.situation import Situation
from mpiric.model.tuned import CannotMatter
from mpiric.tuning.search.space import Dimension, SearchSpace
from mpiric.workflows.tune.request import TuneRequest

_OF_TIME = ("wall", "main", "core-hours")  # objectives that are proportional to time
_ADVISED_SCORE = 0.9  # score of a knob that the advice of a record names


def check_names(names: Sequence[str]) -> None:
    """Raise MpiricError for a word that is neither a knob nor a family."""
    valid = set(knobs.all_knobs()) | {knob.family for knob in knobs.all_knobs().values()}
    for name in names:
        if name not in valid:
            raise MpiricError(
                f"no knob or family is called {name!r}", hint=f"known are: {', '.join(sorted(valid))}"
            )


def requested_space(request: TuneRequest, situation: Situation) -> SearchSpace:
    """Return the knobs that can matter to the program and that the request allows."""
    recorded = replace(situation, least_share=least_share(request))
    return space_of(recorded, request.only, request.without, site=request.site, advised=request.advised)


def needless_knobs(request: TuneRequest, situation: Situation) -> tuple[CannotMatter, ...]:
    """Return the knobs that only the record of the program excludes, with the reason."""
    recorded = replace(situation, least_share=least_share(request))
    answers = _answers(recorded, request.only, request.without, site=request.site)
    return tuple(
        CannotMatter(name, answer.reason)
        for name, _ in _tried(_answers(situation, request.only, request.without, site=request.site))
        if isinstance(answer := answers[name], Skip)
    )


def least_share(request: TuneRequest) -> float | None:
    """Return the share of the time that a knob must be able to influence; None to try all knobs.

    For an objective that the program prints it is 0, as the number may belong to a short part of the run.
    """
    if request.try_all:
        return None
    effect = request.rule.minimum_effect
    return effect / (1 + effect) if request.objective.text in _OF_TIME else 0.0


def space_of(
    situation: Situation,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    *,
    site: bool = False,
    advised: Sequence[str] = (),
) -> SearchSpace:
    """Return the knobs that are worth a run and that the user allows, with the values that can be set.

    ``advised`` are knobs that the advice on a record names: the search tries them first. Knobs that a record
    rules out are left out if the situation has a ``least_share``.
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
    """Return the knobs that are worth a run, the most promising first."""
    tried = [(name, answer) for name, answer in answers.items() if isinstance(answer, Try)]
    return sorted(tried, key=lambda entry: -entry[1].prior)


def _answers(
    situation: Situation, only: Sequence[str], without: Sequence[str], *, site: bool
) -> dict[str, Skip | Try]:
    """Return the answer of each requested knob, with the values that can be set here.

    If the situation has a ``least_share``, equivalent values are reduced to one.
    """
    answers: dict[str, Skip | Try] = {}
    for name, knob in knobs.all_knobs().items():
        if not _is_selected(knob, only, without):
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
    """Return whether a configuration can be launched, and none of its knobs is made useless by another."""
    values = configuration.as_dict()
    idle = [rule for name in values if (rule := knobs.all_knobs()[name].idle_beside) is not None]
    return not any(rule(values, situation) for rule in idle) and can_be_written(configuration, situation)


def withheld(situation: Situation, only: Sequence[str], without: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return option → knobs that would be tried with this option."""
    tried = knobs.to_try(situation)
    by_option: dict[str, tuple[str, ...]] = {}
    for name in ("rounding", "late", "relayout"):
        freer = replace(situation, allowed=replace(situation.allowed, **{name: True}))
        more = tuple(
            knob
            for knob in knobs.to_try(freer)
            if knob not in tried and _is_selected(knobs.all_knobs()[knob], only, without)
        )
        by_option |= {f"--allow-{name}": more} if more else {}
    return by_option


def _is_selected(knob: Knob, only: Sequence[str], without: Sequence[str]) -> bool:
    names = knob.chosen_by
    return (not only or bool(names.intersection(only))) and names.isdisjoint(without)
