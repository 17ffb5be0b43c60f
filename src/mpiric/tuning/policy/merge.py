"""Merge learned policies: pool their measurements of the same calls."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import exp, log

from mpiric.model.errors import MismatchError, MpiricError
from mpiric.model.policy import LIBRARY, LearnedKey, LearnedPolicy, Measured, Shape

_TINY_S = 1e-12
_Combine = Callable[[list[LearnedKey]], LearnedKey]  # merges keys of the same calls


def merge(policies: Sequence[LearnedPolicy]) -> LearnedPolicy:
    """Return a policy with the keys of all. Raises MismatchError for policies of different libraries.

    Overlapping ranges of sizes are cut. The times of a candidate are averaged geometrically, weighted by
    calls. Where policies chose different candidates, the one with the least pooled time is chosen from the
    candidates that all of them tried. The confidence is the lowest one.
    """
    if not policies:
        raise MpiricError("a merge needs at least one policy")
    first = policies[0]
    for other in policies[1:]:
        if (other.implementation, _major(other.version)) != (first.implementation, _major(first.version)):
            raise MismatchError(
                f"a policy of {first.implementation} {first.version} and one of {other.implementation} "
                f"{other.version} cannot be merged",
                hint="merge policies of one implementation and major version",
            )
    return replace(
        max(policies, key=lambda policy: policy.written),
        world=max(policy.world for policy in policies),
        keys=merged_keys([key for policy in policies for key in policy.keys]),
        collective_s=sum(policy.collective_s for policy in policies),
        learning_s=sum(policy.learning_s for policy in policies),
    )


def first_decided(policies: Sequence[LearnedPolicy]) -> LearnedPolicy:
    """Return the first policy, with the decisions of the following ones where it has none."""

    def first(keys: list[LearnedKey]) -> LearnedKey:
        return next((key for key in keys if key.decided), keys[0])

    keys = (key for policy in policies for key in policy.keys)
    return replace(policies[0], keys=merged_keys(keys, first))


def merged_keys(keys: Iterable[LearnedKey], combine: _Combine | None = None) -> tuple[LearnedKey, ...]:
    """Return keys without overlaps: one for each collective, shape and piece of the size axis.

    ``combine`` merges the keys of a piece; by default their measurements are pooled.
    """
    groups: dict[tuple[str, Shape], list[LearnedKey]] = defaultdict(list)
    for key in keys:
        groups[key.collective, key.shape].append(key)
    return tuple((combine or _pooled)(piece) for group in sorted(groups) for piece in by_piece(groups[group]))


def by_piece(keys: list[LearnedKey]) -> Iterator[list[LearnedKey]]:
    """Cut the size axis wherever a key begins or ends; yield the keys that cover each piece, cut to it."""
    ends = sorted({key.end for key in keys if key.end is not None} | {key.start for key in keys})
    for low, high in zip(ends, [*ends[1:], None], strict=True):
        covering = [key for key in keys if key.start <= low and (key.end is None or low < key.end)]
        if covering:
            yield [replace(key, start=low, end=high) for key in covering]


def _pooled(keys: list[LearnedKey]) -> LearnedKey:
    if len(keys) == 1:
        return keys[0]
    return replace(
        keys[0],
        candidate=common_candidate(keys),
        decided=all(key.decided for key in keys),
        confidence=min(key.confidence for key in keys),
        calls=sum(key.calls for key in keys),
        learning_calls=sum(key.learning_calls for key in keys),
        learning_s=sum(key.learning_s for key in keys),
        candidates=pooled_times(keys),
    )


def pooled_times(keys: Iterable[LearnedKey]) -> tuple[Measured, ...]:
    """Return the times of each candidate, averaged over the keys."""
    times_of: dict[str, list[Measured]] = defaultdict(list)
    for key in keys:
        for times in key.candidates:
            times_of[times.name].append(times)
    return tuple(averaged(name, several) for name, several in times_of.items())


def averaged(name: str, several: list[Measured]) -> Measured:
    """Return the geometric mean of several measurements of a candidate, weighted by calls."""
    if len(several) == 1:
        return several[0]
    calls = sum(times.calls for times in several)

    def mean(values: Iterable[float]) -> float:
        weighed = zip(several, values, strict=True)
        return exp(sum(times.calls * log(max(value, _TINY_S)) for times, value in weighed) / calls)

    middle = mean(times.median_s for times in several)
    return Measured(
        name,
        calls,
        middle,
        min(middle, mean(times.low_s for times in several)),
        max(middle, mean(times.high_s for times in several)),
        all(times.eliminated for times in several),
        max(times.preempted for times in several),
    )


def common_candidate(keys: Sequence[LearnedKey]) -> str:
    """Return the candidate that all keys chose, else the one with the least pooled time that every key tried.

    `library` if there is none.
    """
    if len({key.candidate for key in keys}) == 1:
        return keys[0].candidate
    common = set.intersection(*({times.name for times in key.candidates} for key in keys))
    pooled = {times.name: times.median_s for times in pooled_times(keys) if times.name in common}
    return min(pooled, key=lambda name: (pooled[name], name != LIBRARY, name)) if pooled else LIBRARY


def _major(version: str) -> str:
    return version.partition(".")[0]
