"""The search space of a tune: knobs and their values, in the order of their possible gain.

The order follows from the record of the program and from earlier tunes of this store. Records differ a little
from run to run, and so may the knobs that can matter. A tune that is resumed, or whose rounds run in several
jobs, therefore takes the space from its log.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.host.owned_files import write_text
from mpiric.lab.render import can_be_written, spell
from mpiric.launchers.rank_orders import rank_order_forms
from mpiric.model.configuration import PARAMETER, PARAMETERS, Configuration
from mpiric.model.errors import MpiricError
from mpiric.model.evidence import Verdict
from mpiric.model.job import Weight
from mpiric.model.json_text import read_fields
from mpiric.model.knob import Knob, Skip, Try
from mpiric.model.rank_order import RankOrder
from mpiric.model.situation import Situation
from mpiric.model.tuned import CannotMatter
from mpiric.statistics.space import Dimension, SearchSpace
from mpiric.tuning.events import moment, read_log
from mpiric.tuning.store import EVENTS, Store
from mpiric.workflows.launch.fingerprints import job_identity
from mpiric.workflows.mapping.orders import hosts_of_slots, planned_orders, read_order, with_orders
from mpiric.workflows.tune.state import TuneRequest, TuneState

SPACE = "space"  # event of the log: search space and class of the program
_MOST_TUNES = 200  # limit of tunes that are read, the youngest first
_MUCH = 0.2  # share of the time that determines the class of a program
_HALF_LIFE_DAYS = 90.0  # age at which a tune has half the weight, because libraries and machines change
_PROMISE_TUNES = 3.0  # weight of the promise by the observation of the program, in tunes
# Share of the time that a knob can affect below which its rank falls; larger upper bounds do not rank knobs.
_SMALL_SHARE = 0.1
_OF_TIME = ("wall", "main", "core-hours")  # objectives that are proportional to time
_ADVISED_SCORE = 0.9  # score of a knob that the advice of a record names


def check_names(names: Sequence[str]) -> None:
    """Raise MpiricError for a word that is neither a knob nor a family."""
    valid = {PARAMETERS} | set(knobs.all_knobs()) | {knob.family for knob in knobs.all_knobs().values()}
    for name in names:
        if name not in valid:
            raise MpiricError(
                f"no knob or family is called {name!r}", hint=f"known are: {', '.join(sorted(valid))}"
            )


def requested_space(request: TuneRequest, situation: Situation) -> SearchSpace:
    """Return the knobs that can matter to the program and that the request allows, with their values.

    Knobs that the advice on a record names are tried first.
    """
    situation = replace(situation, least_share=least_share(request))
    dimensions = []
    for name, answer in _tried(_answers(request, situation)):
        spellings = [spell(knobs.knob_named(name), value, situation) for value in answer.values]
        dimension = Dimension(
            knob=name,
            values=answer.values,
            score=max(answer.prior, _ADVISED_SCORE) if name in request.advised else answer.prior,
            try_first=tuple(value for value in answer.first if value in answer.values),
            weight=max((spelling.weight for spelling in spellings if spelling), default=Weight.LIGHT),
        )
        dimensions.append(dimension)
    parameters = (Dimension(name, values[1:], _ADVISED_SCORE) for name, values in request.parameters.items())
    return SearchSpace((*parameters, *dimensions))


def needless_knobs(request: TuneRequest, situation: Situation) -> tuple[CannotMatter, ...]:
    """Return the knobs that only the record of the program excludes, with the reason."""
    answers = _answers(request, replace(situation, least_share=least_share(request)))
    return tuple(
        CannotMatter(name, answer.reason)
        for name, _ in _tried(_answers(request, situation))
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


def _tried(answers: dict[str, Skip | Try]) -> list[tuple[str, Try]]:
    """Return the knobs that are worth a run, the most promising first."""
    tried = [(name, answer) for name, answer in answers.items() if isinstance(answer, Try)]
    return sorted(tried, key=lambda entry: -entry[1].prior)


def _answers(request: TuneRequest, situation: Situation) -> dict[str, Skip | Try]:
    """Return the answer of each requested knob, with the values that can be set here.

    With a ``least_share`` of the situation, the record of the program excludes knobs, and equivalent values
    are reduced to one.
    """
    answers: dict[str, Skip | Try] = {}
    for name, knob in knobs.all_knobs().items():
        if not _is_selected(knob, request):
            continue
        answer = answers[name] = knobs.consider(knob, situation)
        if isinstance(answer, Skip):
            continue
        suits_site = knob.site_default or (lambda *_: False)
        spellings = {
            value: spelling
            for value in answer.values
            if (spelling := spell(knob, value, situation)) is not None
            if not knobs.is_in_force(spelling, situation)
            and (not request.site or suits_site(value, situation))
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
    idle = [rule for name in values if (rule := knobs.knob_named(name).idle_beside) is not None]
    return not any(rule(values, situation) for rule in idle) and can_be_written(configuration, situation)


def withheld(request: TuneRequest, situation: Situation) -> dict[str, tuple[str, ...]]:
    """Return option → knobs that would be tried with this option."""
    tried = knobs.to_try(situation)
    by_option: dict[str, tuple[str, ...]] = {}
    for name in ("rounding", "late", "relayout"):
        freer = replace(situation, allowed=replace(situation.allowed, **{name: True}))
        more = tuple(
            knob
            for knob in knobs.to_try(freer)
            if knob not in tried and _is_selected(knobs.knob_named(knob), request)
        )
        by_option |= {f"--allow-{name}": more} if more else {}
    return by_option


def _is_selected(knob: Knob, request: TuneRequest) -> bool:
    names, only = knob.chosen_by, request.only
    return (not only or bool(names.intersection(only))) and names.isdisjoint(request.without)


# Age in days of a finished tune, the knobs that it tried, and those in an answer that was proved faster.
PastTune = tuple[float, Set[str], Set[str]]


def likelihood(knob: str, promise: float, past: Iterable[PastTune]) -> float:
    """Return the promise, moved towards the share of earlier trials in which the knob was useful.

    Recent tunes have more weight.
    """
    tried = useful = 0.0
    for age_days, tried_knobs, useful_knobs in past:
        if knob in tried_knobs:
            weight = 0.5 ** (max(0.0, age_days) / _HALF_LIFE_DAYS)
            tried += weight
            useful += weight * (knob in useful_knobs)
    return (_PROMISE_TUNES * promise + useful) / (_PROMISE_TUNES + tried) if tried else promise


def worth(likely: float, ceiling: float) -> float:
    """Return the rank of a knob: its probability to help, reduced if it affects a small share of the time."""
    return likely * min(1.0, ceiling / _SMALL_SHARE)


def in_order(space: SearchSpace, request: TuneRequest, situation: Situation) -> SearchSpace:
    """Return the space with scores from priors, past tunes of this program class, and the possible gain."""
    behaviour, past = situation.observation.behaviour, tuple(_past(request, program_class(situation)))
    dimensions = []
    for dimension in space.dimensions:
        likely = likelihood(dimension.knob, dimension.score, past)
        touches = knobs.knob_named(dimension.knob).touches
        bound = behaviour.bound(touches) if behaviour and touches else 1.0
        is_requested = dimension.knob in request.advised or dimension.knob in request.parameters
        score = dimension.score if is_requested else worth(likely, bound)
        dimensions.append(replace(dimension, score=score))
    return SearchSpace(tuple(dimensions))


def last_answer(request: TuneRequest, situation: Situation) -> Configuration:
    """Return the answer of the last finished tune of this job under this MPI library; empty without one."""
    job = job_identity(situation.job)
    for summary in reversed(Store(request.store).tunes()):
        if summary.job != job or not summary.finished:
            continue
        result = summary.result
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
        spaces = read_log(summary.path / EVENTS).named(SPACE)
        is_of_class = bool(spaces) and spaces[-1].get("class") == of_class
        result = summary.result
        if is_of_class and result and (began := moment(summary.started_at)):
            changes = result.get("changes", ()) if result.get("verdict") == Verdict.FASTER.value else ()
            useful = {str(change["knob"]) for change in changes}
            tried = {*map(str, result.get("tried", ()))} - {*map(str, result.get("unjudged", ()))}
            yield (now - began).total_seconds() / 86400, tried | useful, useful


def fill_in_space(state: TuneState) -> None:
    """Take the knobs to try, and the knobs that cannot matter, from the log, or determine and log them."""
    options = _options(state.request)
    events = reversed(state.log.read().named(SPACE))
    logged = next((_read(event) for event in events if event.get("asked") == options), None)
    if logged is not None:
        state.space, state.cannot_matter = logged
        return
    state.space = in_order(requested_space(state.request, state.situation), state.request, state.situation)
    state.cannot_matter = needless_knobs(state.request, state.situation)
    dimensions = list(map(vars, state.space.dimensions))
    needless = list(map(vars, state.cannot_matter))
    fields = {"class": program_class(state.situation), "dimensions": dimensions, "cannot_matter": needless}
    state.log.append(SPACE, {"asked": options, **fields})


def _options(request: TuneRequest) -> dict[str, Any]:
    """Return the options of a request that determine the space."""
    allowed = vars(request.allowed)
    names: dict[str, Any] = {name: list(getattr(request, name)) for name in ("only", "without", "advised")}
    parameters = {name: list(values) for name, values in request.parameters.items()}
    names |= {"parameters": parameters} if parameters else {}
    return {**names, **allowed, "site": request.site, "least_share": least_share(request)}


def _read(event: Mapping[str, Any]) -> tuple[SearchSpace, tuple[CannotMatter, ...]] | None:
    """Return the space of an event; None if it is damaged or names an unknown knob."""
    try:
        space = read_fields(SearchSpace, {"dimensions": event.get("dimensions")})
        needless = event.get("cannot_matter")
        are_known = all(
            PARAMETER.fullmatch(dimension.knob) or dimension.knob in knobs.all_knobs()
            for dimension in space.dimensions
        )
        if not isinstance(needless, list) or not are_known:
            return None
        return space, tuple(read_fields(CannotMatter, knob) for knob in needless)
    except ValueError:
        return None


KNOB = "rank-order"


def find_rank_orders(state: TuneState, host: Host) -> None:
    """Add the rank orders with a predicted gain to the situation; they are planned once in a tune."""
    situation, directory = state.situation, state.log.path
    if situation.nodes < 2:
        return
    if planned_orders(directory) is None and state.recorded:
        # Most tunes run on one node, and do without the mapping engine and its models of networks.
        from mpiric.workflows.mapping.plan_orders import plan_orders

        plan_orders(state.recorded[-1].record, "the recorded run", directory, host)
    state.situation = with_planned_orders(situation, directory, host)
    orders = state.situation.rank_orders
    if not orders.choices:
        state.note(f"no other order of ranks was tried: {orders.why_not}")


def with_planned_orders(situation: Situation, directory: Path, host: Host) -> Situation:
    """Return the situation with the orders planned in the tune's directory as values of the knob."""
    orders = planned_orders(directory)
    return situation if orders is None else with_orders(situation, orders, host)


def proved_order(configuration: Configuration, situation: Situation) -> tuple[int, ...]:
    """Return the slot of each rank, empty if the configuration sets no rank order."""
    choice = situation.rank_orders.named(configuration.as_dict().get(KNOB, ""))
    return read_order(Path(choice.file)) if choice else ()


def export_order(configuration: Configuration, situation: Situation, directory: Path) -> list[str]:
    """Write a proved order in the format of this launcher; return sentences on its use."""
    slots = proved_order(configuration, situation)
    form = _FORMS.get(situation.job.dialect, "")
    hosts = hosts_of_slots(directory)
    if not slots or not form or len(hosts) != len(slots):
        return []
    path = directory / "orders" / f"{form}.txt"
    emission = rank_order_forms()[form](RankOrder(slots, hosts))
    write_text(path, emission.text)
    return [f"the order without mpiric: {emission.usage(path)}"]


# File format of rank orders by launcher dialect.
_FORMS = {
    "srun": "slurm",
    "hydra": "hydra",
    "intelmpi": "intelmpi",
    "openmpi4": "openmpi-rankfile",
    "openmpi5": "prrte",
    "aprun": "mpich-rank-order",
    "pals": "mpich-rank-order",
}
