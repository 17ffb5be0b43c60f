"""Collective policy as boxes of ranks and sizes, the form of the tuning files of all libraries."""

from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise

from mpiric.algorithms.library import LibraryAlgorithm, find_algorithm, version_numbers
from mpiric.model.dataclass import dataclass
from mpiric.model.policy import ANY, LIBRARY, Line, Named, Policy, Span

_SINGLY, _MOST_RANKS = 64, 1 << 22


@dataclass(frozen=True)
class Piece:
    """Sizes from ``start`` to below ``end``; without a candidate, the library decides."""

    start: int
    end: int | None
    candidate: LibraryAlgorithm | None = None
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Box:
    """Algorithms by size for communicators with these numbers of ranks, in all and per node."""

    ranks: Span
    ranks_per_node: Span
    pieces: tuple[Piece, ...]  # pieces without gaps, from size 0


def boxes(policy: Policy, collective: str, *, by_node: bool) -> tuple[tuple[Box, ...], tuple[str, ...]]:
    """Return a box per range of ranks that the policy treats alike, and sentences about omitted choices.

    A library distinguishes communicators by their ranks, and with ``by_node`` by the ranks per node. If the
    policy distinguishes more (order, placement, nodes), its first line for such a communicator is used.
    """
    lines = [line for line in policy.lines if line.collective == collective and line.placement == ANY]
    omitted: list[str] = []
    if len(lines) < sum(line.collective == collective for line in policy.lines):
        omitted.append(f"{collective}: choices for particular parts of a job")
    result = []
    for ranks in stretches([line.ranks for line in lines]):
        matching = [line for line in lines if ranks.low in line.ranks]
        layouts = stretches([line.ranks_per_node for line in matching]) if by_node else (Span(),)
        for layout in layouts:
            candidates = [line for line in matching if not by_node or layout.low in line.ranks_per_node]
            if len({(line.nodes, line.order, line.ranks_per_node) for line in candidates}) > 1:
                omitted.append(
                    f"{collective}: layouts of {ranks.low} ranks that the library cannot tell apart"
                )
            pieces = _pieces(policy, candidates, omitted)
            if any(piece.candidate for piece in pieces):
                result.append(Box(ranks, layout, pieces))
    return tuple(result), tuple(dict.fromkeys(omitted))


def not_expressed(policy: Policy, expressed: Collection[str]) -> tuple[str, ...]:
    """Return a sentence for each collective that the policy covers and a format cannot express."""
    chosen = {line.collective for line in policy.lines if line.candidate != LIBRARY}
    return tuple(
        f"{collective}: this form has no choice there" for collective in sorted(chosen - {*expressed})
    )


def one_by_one(boxes_of_ranges: tuple[Box, ...]) -> tuple[Box, ...]:
    """Return a box per number of ranks, for formats in which sizes are totals over all ranks.

    From `_SINGLY` ranks on, a box covers up to twice as many ranks, with the sizes of the smallest number.
    """
    return tuple(
        replace(box, ranks=Span(low, high)) for box in boxes_of_ranges for low, high in _steps(box.ranks)
    )


def _steps(span: Span) -> list[tuple[int, int | None]]:
    steps: list[tuple[int, int | None]] = []
    low = max(span.low, 1)
    while low <= _MOST_RANKS and (span.high is None or low <= span.high):
        high = low if low < _SINGLY else 2 * low - 1
        steps.append((low, high if span.high is None else min(high, span.high)))
        low = high + 1
    return steps


def stretches(spans: list[Span]) -> tuple[Span, ...]:
    """Cut the spans at each other's ends; ranges outside all spans are left out."""
    ends = sorted({span.low for span in spans} | {span.high + 1 for span in spans if span.high is not None})
    cut = [Span(low, high - 1) for low, high in pairwise(ends)]
    cut += [Span(ends[-1], None)] if ends and any(span.high is None for span in spans) else []
    return tuple(piece for piece in cut if any(piece.low in span for span in spans))


def _pieces(policy: Policy, lines: list[Line], omitted: list[str]) -> tuple[Piece, ...]:
    ends = sorted({0} | {line.start for line in lines} | {line.end for line in lines if line.end is not None})
    pieces: list[Piece] = []
    for low, high in zip(ends, [*ends[1:], None], strict=True):
        candidate = next(
            (line.candidate for line in lines if line.start <= low and (line.end is None or low < line.end)),
            LIBRARY,
        )
        piece = _piece(policy, lines[0].collective, candidate, low, high, omitted)
        last = pieces[-1] if pieces else None
        if last and (last.candidate, last.parameters) == (piece.candidate, piece.parameters):
            pieces[-1] = Piece(last.start, high, last.candidate, last.parameters)
        else:
            pieces.append(piece)
    return tuple(pieces)


def _piece(
    policy: Policy, collective: str, name: str, low: int, high: int | None, omitted: list[str]
) -> Piece:
    named = Named.parse(name)
    if named.origin != LIBRARY:
        omitted.append(f"{collective}: {name} is an algorithm of mpiric, not of the library")
        return Piece(low, high)
    if not named.algorithm:
        return Piece(low, high)
    version = version_numbers(policy.version)
    algorithm = find_algorithm(policy.implementation, collective, named.algorithm, version)
    if algorithm is not None:
        return Piece(low, high, algorithm, named.parameters)
    omitted.append(f"{collective}: {policy.implementation} {policy.version} has no {name}")
    return Piece(low, high)
