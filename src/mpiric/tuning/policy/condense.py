"""Learned policy → the lines that the runtime obeys."""

from collections import defaultdict
from dataclasses import replace

from mpiric.model.policy import ANY, LIBRARY, LearnedKey, LearnedPolicy, Line, Named, Policy, Shape, Span
from mpiric.tuning.policy.merge import by_piece, least_everywhere, merged_keys, pooled_times


def condense(learned: LearnedPolicy) -> Policy:
    """Narrow lines before wide ones; what is not decided gets none, so that it is learned on.

    Communicators of one shape on different parts of the job share a line unless it would cost one of them
    measurably: the common choice is then slower there than the upper quartile of its own.
    """
    decided = merged_keys(key for key in learned.keys if key.decided)
    groups: dict[tuple[str, Shape], list[LearnedKey]] = defaultdict(list)
    for key in decided:
        groups[key.collective, key.shape.anywhere()].append(key)
    narrow: list[Line] = []
    wide: list[Line] = []
    for (collective, shape), keys in groups.items():
        own, common = _of_shape(keys)
        narrow += _joined([_line(collective, key.shape, key) for key in own])
        wide += _joined([_line(collective, shape, key) for key in common])
    return Policy(learned.implementation, learned.version, (*narrow, *wide))


def without_own(learned: LearnedPolicy) -> LearnedPolicy:
    """A learned policy with the best of the library's own candidates wherever mpiric's was chosen."""
    return replace(learned, keys=tuple(_of_library(key) for key in learned.keys))


def _of_library(key: LearnedKey) -> LearnedKey:
    if Named.parse(key.candidate).origin == LIBRARY:
        return key
    left = {each.name: each.median_s for each in key.candidates if Named.parse(each.name).origin == LIBRARY}
    return replace(key, candidate=min(left, key=lambda name: left[name]) if left else LIBRARY)


def _of_shape(keys: list[LearnedKey]) -> tuple[list[LearnedKey], list[LearnedKey]]:
    """Keys that need a line for their placement, and the common ones, piece by piece of the size axis."""
    own: list[LearnedKey] = []
    common: list[LearnedKey] = []
    for of_piece in by_piece(keys):
        chosen = {key.candidate for key in of_piece}
        shared = chosen.pop() if len(chosen) == 1 else least_everywhere(of_piece, pooled_times(of_piece))
        common.append(replace(of_piece[0], candidate=shared))
        own += [key for key in of_piece if key.shape.placement != ANY and not _does_as_well(key, shared)]
    own.sort(key=lambda key: (key.shape, key.start))
    return own, common


def _does_as_well(key: LearnedKey, candidate: str) -> bool:
    if key.candidate == candidate:
        return True
    own, shared = key.time_of(key.candidate), key.time_of(candidate)
    return own is not None and shared is not None and shared.median_s <= own.high_s


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
    """Neighbours on the size axis with the same candidate become one."""
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
