"""Several learned policies into one: what they measured of the same calls is pooled."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import exp, log

from mpiric.model.errors import MismatchError, MpiricError
from mpiric.model.policy import LIBRARY, LearnedKey, LearnedPolicy, Measured, Shape

_TINY_S = 1e-12
_OneOf = Callable[[list[LearnedKey]], LearnedKey]


def merge(policies: Sequence[LearnedPolicy]) -> LearnedPolicy:
    """One policy with the keys of all. Raises MismatchError when they are of different libraries.

    Size ranges are cut at each other's ends. Where several policies measured one candidate its times are
    averaged geometrically, each weighing as much as it has calls. Where they chose differently, the candidate
    with the least pooled time among those that all of them tried is chosen, and the least confidence holds.
    """
    if not policies:
        raise MpiricError("no policies to merge")
    first = policies[0]
    for other in policies[1:]:
        if (other.implementation, _major(other.version)) != (first.implementation, _major(first.version)):
            raise MismatchError(
                f"a policy of {first.implementation} {first.version} and one of {other.implementation} "
                f"{other.version} do not merge",
                hint="merge those of one implementation and major version",
            )
    return replace(
        max(policies, key=lambda policy: policy.written),
        world=max(policy.world for policy in policies),
        keys=merged_keys([key for policy in policies for key in policy.keys]),
        collective_s=sum(policy.collective_s for policy in policies),
        learning_s=sum(policy.learning_s for policy in policies),
    )


def first_decided(policies: Sequence[LearnedPolicy]) -> LearnedPolicy:
    """The first policy, and of the others in their order what those before have not decided."""

    def first(keys: list[LearnedKey]) -> LearnedKey:
        return next((key for key in keys if key.decided), keys[0])

    return replace(policies[0], keys=merged_keys((key for each in policies for key in each.keys), first))


def merged_keys(keys: Iterable[LearnedKey], one_of: _OneOf | None = None) -> tuple[LearnedKey, ...]:
    """Keys without overlaps: one for each (collective, shape) and piece of the size axis."""
    groups: dict[tuple[str, Shape], list[LearnedKey]] = defaultdict(list)
    for key in keys:
        groups[key.collective, key.shape].append(key)
    chosen = one_of or _pooled
    return tuple(chosen(piece) for group in sorted(groups) for piece in by_piece(groups[group]))


def by_piece(keys: list[LearnedKey]) -> Iterator[list[LearnedKey]]:
    """The size axis cut wherever a key begins or ends: of each piece the keys that cover it, cut to it."""
    ends = sorted({key.end for key in keys if key.end is not None} | {key.start for key in keys})
    for low, high in zip(ends, [*ends[1:], None], strict=True):
        covering = [key for key in keys if key.start <= low and (key.end is None or low < key.end)]
        if covering:
            yield [replace(key, start=low, end=high) for key in covering]


def _pooled(keys: list[LearnedKey]) -> LearnedKey:
    if len(keys) == 1:
        return keys[0]
    measured = pooled_times(keys)
    chosen = {key.candidate for key in keys}
    candidate = chosen.pop() if len(chosen) == 1 else least_everywhere(keys, measured)
    return replace(
        keys[0],
        candidate=candidate,
        decided=all(key.decided for key in keys),
        confidence=min(key.confidence for key in keys),
        calls=sum(key.calls for key in keys),
        learning_calls=sum(key.learning_calls for key in keys),
        learning_s=sum(key.learning_s for key in keys),
        candidates=measured,
    )


def pooled_times(keys: Iterable[LearnedKey]) -> tuple[Measured, ...]:
    """Candidate by candidate, the geometric mean of its times weighted by calls."""
    times: dict[str, list[Measured]] = defaultdict(list)
    for key in keys:
        for each in key.candidates:
            times[each.name].append(each)
    return tuple(averaged(name, several) for name, several in times.items())


def averaged(name: str, several: list[Measured]) -> Measured:
    """One candidate's times from several measurements, each weighing as much as it has calls."""
    if len(several) == 1:
        return several[0]
    calls = sum(each.calls for each in several)

    def mean(values: Iterable[float]) -> float:
        weighed = zip(several, values, strict=True)
        return exp(sum(each.calls * log(max(value, _TINY_S)) for each, value in weighed) / calls)

    middle = mean(each.median_s for each in several)
    return Measured(
        name,
        calls,
        middle,
        min(middle, mean(each.low_s for each in several)),
        max(middle, mean(each.high_s for each in several)),
        all(each.eliminated for each in several),
        max(each.preempted for each in several),
    )


def least_everywhere(keys: Iterable[LearnedKey], measured: Iterable[Measured]) -> str:
    """The candidate with the least pooled time among those that every key tried; `library` if none."""
    tried = [{each.name for each in key.candidates} for key in keys]
    common = set.intersection(*tried) if tried else set()
    times = {each.name: each.median_s for each in measured if each.name in common}
    return min(times, key=lambda name: (times[name], name != LIBRARY, name)) if times else LIBRARY


def _major(version: str) -> str:
    return version.partition(".")[0]
