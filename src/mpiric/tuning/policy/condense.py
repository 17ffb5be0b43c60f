"""Learned policy → the lines that the runtime applies."""

from collections import defaultdict
from dataclasses import replace

from mpiric.model.policy import ANY, LIBRARY, LearnedKey, LearnedPolicy, Line, Named, Policy, Shape, Span
from mpiric.tuning.policy.merge import by_piece, common_candidate, merged_keys


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
