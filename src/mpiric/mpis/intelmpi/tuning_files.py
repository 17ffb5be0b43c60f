"""Intel MPI: `I_MPI_ADJUST_<collective>="preset:sizes;…"`.

Syntax: Developer Reference for Linux, "I_MPI_ADJUST Family Environment Variables"; both ends of a range are
in it, and preset 0 is the library's own choice, on AMD processors not always the one it makes without the
variable. What 2021.19 does beyond the manual, seen by the rounding of its sums: sizes that no range names do
not get the library's choice, so every list here covers all sizes; and ranges of ranks (`@`) make it take one
preset for all, so there is a file for each number of ranks instead.
Parameters have variables of their own, without sizes; they hold for preset 0 as well where that takes the
same algorithm.
Seen by the functions it calls: the size of a reduce_scatter is that of all blocks together, of an allgather
or alltoall that of one.
"""

from collections import defaultdict

from mpiric.model.policy import Policy, Span
from mpiric.mpis._boxes import Box, boxes, not_expressed
from mpiric.mpis._implementation import Defaults, Exported

FILES = ("intelmpi-*-ranks.sh",)
_LARGEST = 2**31 - 1
_SUMMED = frozenset(("reduce_scatter",))
_COLLECTIVES = (
    "allgather allgatherv allreduce alltoall alltoallv barrier bcast exscan gather gatherv reduce "
    "reduce_scatter scan scatter scatterv"
).split()


def export(policy: Policy, _defaults: Defaults = ()) -> Exported:
    """Variables where the policy is about one number of ranks, and always a file to be sourced for each."""
    left: list[str] = []
    by_ranks: dict[Span, dict[str, str]] = defaultdict(dict)
    for collective in _COLLECTIVES:
        found, missed = boxes(policy, collective, by_node=False)
        left += missed
        if collective in _SUMMED and any(box.ranks.low != box.ranks.high for box in found):
            left.append(f"{collective}: choices for several numbers of ranks at once")
            found = tuple(box for box in found if box.ranks.low == box.ranks.high)
        for box in found:
            variables = by_ranks[box.ranks]
            variables[f"I_MPI_ADJUST_{collective.upper()}"] = _presets(
                box, box.ranks.low if collective in _SUMMED else 1
            )
            parameters, missed = _parameters(collective, box)
            variables.update(parameters)
            left += missed
    left += not_expressed(policy, _COLLECTIVES)
    files = {f"intelmpi-{_words(ranks)}-ranks.sh": _shell(lines) for ranks, lines in sorted(by_ranks.items())}
    only = next(iter(by_ranks.values())) if len(by_ranks) == 1 else {}
    return Exported(files, only, by_ranks=by_ranks, left_out=tuple(dict.fromkeys(left)))


def _presets(box: Box, factor: int) -> str:
    return ";".join(
        f"{piece.candidate.value if piece.candidate else 0}:"
        f"{piece.start * factor}-{_LARGEST if piece.end is None else min(piece.end * factor - 1, _LARGEST)}"
        for piece in box.pieces
        if piece.start * factor <= _LARGEST
    )


def _parameters(collective: str, box: Box) -> tuple[dict[str, str], tuple[str, ...]]:
    """Variables of the parameters. They hold for all sizes: what differs between these is left out."""
    wanted: dict[str, set[str | None]] = defaultdict(set)
    sentences: dict[str, str] = {}
    for piece in box.pieces:
        for parameter in piece.candidate.parameters if piece.candidate else ():
            wanted[parameter.environment].add(dict(piece.parameters).get(parameter.key))
            assert piece.candidate is not None
            sentences[parameter.environment] = (
                f"{collective}: {parameter.key} of {piece.candidate.name} by size"
            )
    alike = {name: value for name, (value, *others) in wanted.items() if value and not others}
    differing = tuple(sentences[name] for name, values in wanted.items() if len(values) > 1)
    return alike, differing


def _words(ranks: Span) -> str:
    if ranks.low == ranks.high:
        return str(ranks.low)
    return f"{ranks.low}-to-{ranks.high}" if ranks.high is not None else f"{ranks.low}-and-more"


def _shell(variables: dict[str, str]) -> str:
    return "".join(f"export {name}='{value}'\n" for name, value in variables.items())
