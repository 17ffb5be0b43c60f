"""Merge learned policies: pool their measurements of the same calls; condense them for the runtime."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import exp, log

from mpiric.model.errors import MismatchError, MpiricError
from mpiric.model.policy import (
    ANY,
    LIBRARY,
    LearnedKey,
    LearnedPolicy,
    Line,
    Measured,
    Named,
    Policy,
    Shape,
    Span,
)

_TINY_S = 1e-12
_Combine = Callable[[list[LearnedKey]], LearnedKey]  # merges keys of the same calls


def merge(policies: Sequence[LearnedPolicy]) -> LearnedPolicy:
    """Return a policy with the keys of all. Raises MismatchError for policies of different libraries.

    Overlapping ranges of sizes are cut. The times of a candidate are averaged geometrically, weighted by
    calls. Where policies chose different candidates, the one with the least pooled time is chosen from the
    candidates that all of them tried. The confidence is the lowest one.
    """
    if not policies:
        raise MpiricError(
            "a merge needs at least one policy",
            hint="name files of `mpiric run --policy-out` or `mpiric sweep`",
        )
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


def condense(learned: LearnedPolicy) -> Policy:
    """Return narrow lines before wide ones. Undecided keys have no line, so that learning continues there.

    Communicators of one shape on different parts of the job share a line, unless the shared candidate is
    measurably slower for one of them: slower there than the upper quartile of its best candidate.
    """
    decided = merged_keys(key for key in learned.keys if key.decided)
    groups: dict[tuple[str, Shape], list[LearnedKey]] = defaultdict(list)
    for key in decided:
        groups[key.collective, key.shape.anywhere()].append(key)
    narrow: list[Line] = []
    wide: list[Line] = []
    for (collective, shape), keys in groups.items():
        separate: list[LearnedKey] = []
        shared: list[LearnedKey] = []
        for piece in by_piece(keys):
            candidate = common_candidate(piece)
            shared.append(replace(piece[0], candidate=candidate))
            separate += [
                key for key in piece if key.shape.placement != ANY and not _does_as_well(key, candidate)
            ]
        separate.sort(key=lambda key: (key.shape, key.start))
        narrow += _joined([_line(collective, key.shape, key) for key in separate])
        wide += _joined([_line(collective, shape, key) for key in shared])
    return Policy(learned.implementation, learned.version, (*narrow, *wide))


def library_choices(learned: LearnedPolicy) -> LearnedPolicy:
    """Replace each of mpiric's algorithms by the fastest candidate of the library."""

    def of_library(key: LearnedKey) -> LearnedKey:
        if Named.parse(key.candidate).origin == LIBRARY:
            return key
        times = [times for times in key.candidates if Named.parse(times.name).origin == LIBRARY]
        fastest = min(times, key=lambda times: times.median_s).name if times else LIBRARY
        return replace(key, candidate=fastest)

    return replace(learned, keys=tuple(of_library(key) for key in learned.keys))


def _does_as_well(key: LearnedKey, candidate: str) -> bool:
    if key.candidate == candidate:
        return True
    best, shared = key.time_of(key.candidate), key.time_of(candidate)
    return best is not None and shared is not None and shared.median_s <= best.high_s


def _line(collective: str, shape: Shape, key: LearnedKey) -> Line:
    return Line(
        collective,
        key.candidate,
        Span(shape.ranks, shape.ranks),
        Span(shape.nodes, shape.nodes),
        Span(shape.ranks_per_node, shape.ranks_per_node),
        shape.order,
        shape.placement,
        key.start,
        key.end,
    )


def _joined(lines: list[Line]) -> list[Line]:
    """Join lines that are adjacent on the size axis and have the same candidate."""
    joined: list[Line] = []
    for line in lines:
        last = joined[-1] if joined else None
        if (
            last is not None
            and replace(last, start=line.start, end=line.end) == line
            and last.end == line.start
        ):
            joined[-1] = replace(last, end=line.end)
        else:
            joined.append(line)
    return joined
