"""Tuning variables of Intel MPI: `I_MPI_ADJUST_<collective>="preset:sizes;…"`.

Syntax: Developer Reference for Linux, "I_MPI_ADJUST Family Environment Variables". Both ends of a range are
included; preset 0 is the library's choice, which on AMD processors can differ from the choice without the
variable. Behaviour of 2021.19 beyond the manual, observed by the rounding of its sums: sizes outside all
ranges do not get the library's choice, so every list covers all sizes; ranges of ranks (`@`) make it use one
preset for all, so there is a file per number of ranks. Parameters have variables of their own, without sizes;
they also affect preset 0 if it uses the same algorithm. The size of a reduce_scatter is the total of all
blocks, the size of an allgather or alltoall is one block (observed by the called functions).
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
    """Return a shell file per number of ranks, and variables if the policy covers one such number."""
    omitted: list[str] = []
    by_ranks: dict[Span, dict[str, str]] = defaultdict(dict)
    for collective in _COLLECTIVES:
        selected, left_out = boxes(policy, collective, by_node=False)
        omitted += left_out
        if collective in _SUMMED and any(box.ranks.low != box.ranks.high for box in selected):
            omitted.append(f"{collective}: choices for several numbers of ranks at once")
            selected = tuple(box for box in selected if box.ranks.low == box.ranks.high)
        for box in selected:
            variables = by_ranks[box.ranks]
            variables[f"I_MPI_ADJUST_{collective.upper()}"] = _presets(
                box, box.ranks.low if collective in _SUMMED else 1
            )
            parameters, left_out = _parameters(collective, box)
            variables.update(parameters)
            omitted += left_out
    omitted += not_expressed(policy, _COLLECTIVES)
    files = {
        f"intelmpi-{_file_part(ranks)}-ranks.sh": _shell(lines) for ranks, lines in sorted(by_ranks.items())
    }
    only = next(iter(by_ranks.values())) if len(by_ranks) == 1 else {}
    return Exported(files, only, by_ranks=by_ranks, left_out=tuple(dict.fromkeys(omitted)))


def _presets(box: Box, factor: int) -> str:
    return ";".join(
        f"{piece.candidate.value if piece.candidate else 0}:"
        f"{piece.start * factor}-{_LARGEST if piece.end is None else min(piece.end * factor - 1, _LARGEST)}"
        for piece in box.pieces
        if piece.start * factor <= _LARGEST
    )


def _parameters(collective: str, box: Box) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return variables of the parameters, except parameters that differ by size."""
    values_of: dict[str, set[str | None]] = defaultdict(set)
    sentences: dict[str, str] = {}
    for piece in box.pieces:
        for parameter in piece.candidate.parameters if piece.candidate else ():
            values_of[parameter.environment].add(dict(piece.parameters).get(parameter.key))
            assert piece.candidate is not None
            sentences[parameter.environment] = (
                f"{collective}: {parameter.key} of {piece.candidate.name} by size"
            )
    alike = {name: value for name, (value, *more) in values_of.items() if value and not more}
    differing = tuple(sentences[name] for name, values in values_of.items() if len(values) > 1)
    return alike, differing


def _file_part(ranks: Span) -> str:
    if ranks.low == ranks.high:
        return str(ranks.low)
    return f"{ranks.low}-to-{ranks.high}" if ranks.high is not None else f"{ranks.low}-and-more"


def _shell(variables: dict[str, str]) -> str:
    return "".join(f"export {name}='{value}'\n" for name, value in variables.items())
