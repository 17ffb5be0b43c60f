"""Decision trees of MPICH: `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE` and its CH4 variant.

A tree in a file replaces the built-in tree for all collectives. The built-in trees are stored as text in the
library; they are read from it (`Defaults`), and the choices of the policy are inserted, so that everything
else is unchanged. The CH4 tree decides whether nodes are treated separately from the network; choices among
the algorithms below it need the flat composition. A third tree, of shared-memory algorithms, is not changed:
CH4's choice already leads to its single algorithm per collective.

Semantics: src/mpi/coll/src/csel.c, coll_algorithms.txt (restrictions) and cvars.txt (defaults of parameters)
of MPICH 5.0. The number of concurrent requests of a scattered alltoall is not a parameter there. A node is a
list of conditions evaluated in order; a branch without a result is an error, so every insertion ends in the
previous tree.
"""

import json
from collections.abc import Iterator
from typing import Any

from mpiric.algorithms.library import LibraryAlgorithm
from mpiric.host.packaged import packaged_table
from mpiric.model.errors import MismatchError
from mpiric.model.policy import Policy, Span
from mpiric.mpis._boxes import Box, Piece, boxes, not_expressed, one_by_one
from mpiric.mpis._implementation import Defaults, Exported

Tree = dict[str, Any]

EMBEDDED_DEFAULTS = b'{"collective='  # first bytes of the built-in trees
_GENERIC, _CH4 = "mpich-coll.json", "mpich-coll-ch4.json"
FILES = (_GENERIC, _CH4)
_TREES = "mpis/mpich/trees"
_KEYS = {
    "radix": "k",
    "chunk": "chunk_size",
    "preposted": "recv_pre_posted",
    "single_phase": "single_phase_recv",
}
_LARGEST = 2**31 - 1


def export(policy: Policy, defaults: Defaults) -> Exported:
    """Return the two trees. Raises MismatchError if the library's built-in trees are not supported."""
    generic, ch4 = _default_trees(defaults)
    facts = packaged_table(_TREES)
    omitted, grafted = [*not_expressed(policy, facts)], False
    for collective in sorted({line.collective for line in policy.lines} & facts.keys()):
        selected, left_out = boxes(policy, collective, by_node=True)
        omitted += [*left_out, *_not_in_trees(collective, selected)]
        for box in one_by_one(selected) if facts[collective].get("summed") else selected:
            grafted = _graft(generic, collective, box, flat=False) or grafted
            if "flat" in facts[collective]:
                _graft(ch4, collective, box, flat=True)
    if not grafted:
        return Exported(left_out=tuple(dict.fromkeys(omitted)))
    return Exported(
        files={_GENERIC: json.dumps(generic, indent=1) + "\n", _CH4: json.dumps(ch4, indent=1) + "\n"},
        variables={},
        by_file={
            "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": _GENERIC,
            "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE": _CH4,
        },
        left_out=tuple(dict.fromkeys(omitted)),
    )


def _has_no_name(candidate: LibraryAlgorithm) -> bool:
    return "POSIX" in candidate.variable or candidate.name == "nb"


def _not_in_trees(collective: str, selected: tuple[Box, ...]) -> Iterator[str]:
    """Yield sentences about algorithms and parameters that these trees cannot express."""
    pieces = (piece for box in selected for piece in box.pieces)
    for candidate, parameters in dict.fromkeys((piece.candidate, piece.parameters) for piece in pieces):
        if candidate and _has_no_name(candidate):
            yield f"{collective}: library:{candidate.name} has no name in MPICH's files"
        elif candidate:
            yield from (
                f"{collective}: {key} of {candidate.name}" for key, _ in parameters if key not in _KEYS
            )


def _default_trees(defaults: Defaults) -> tuple[Tree, Tree]:
    generic = next((text for text in defaults if "algorithm=MPIR_" in text), "")
    ch4 = next((text for text in defaults if "composition=MPIDI_" in text), "")
    try:
        return json.loads(generic), json.loads(ch4)
    except ValueError:
        raise MismatchError(
            "this MPICH has no built-in decision trees that can be extended",
            hint="4.0 and later, built with CH4, have them; use the policy with `mpiric run --policy`",
        ) from None


def _graft(tree: Tree, collective: str, box: Box, *, flat: bool) -> bool:
    """Insert the choices of a box before the current ones; return False if there are none."""
    holder = tree.get(f"collective={collective}")
    has_choice = any(piece.candidate and not _has_no_name(piece.candidate) for piece in box.pieces)
    if not isinstance(holder, dict) or "comm_type=intra" not in holder or not has_choice:
        return False
    before = holder["comm_type=intra"]
    branch = _by_size(collective, box, before, flat=flat)
    branch = _within("comm_avg_ppn", box.ranks_per_node, branch, before)
    holder["comm_type=intra"] = _within("comm_size", box.ranks, branch, before)
    return True


def _within(quantity: str, span: Span, inside: Tree, outside: Tree) -> Tree:
    """Return ``inside`` for values in the span. Uses ``<=`` only: csel.c reads some ``<`` as ``<=``."""
    low = {f"{quantity}<={span.low - 1}": outside} if span.low > 1 else {}
    high = {f"{quantity}<={span.high}": inside, f"{quantity}=any": outside}
    return {**low, **high} if span.high is not None else {**low, f"{quantity}=any": inside} if low else inside


def _by_size(collective: str, box: Box, before: Tree, *, flat: bool) -> Tree:
    facts = packaged_table(_TREES)[collective]
    quantity, factor = facts["size"], box.ranks.low if facts.get("summed") else 1
    if not quantity:
        return _choice(collective, box.pieces[0], before, flat=flat)
    tree: Tree = {}
    for piece in box.pieces:
        last = piece.end is None or (piece.end * factor - 1) > _LARGEST
        key = f"{quantity}=any" if last else f"{quantity}<={(piece.end or 0) * factor - 1}"
        tree[key] = _choice(collective, piece, before, flat=flat)
        if last:
            break
    return (
        {"is_sendbuf_inplace=yes": before, "is_sendbuf_inplace=no": tree}
        if collective == "alltoall"
        else tree
    )


def _choice(collective: str, piece: Piece, before: Tree, *, flat: bool) -> Tree:
    candidate = piece.candidate
    if candidate is None or _has_no_name(candidate):
        return before
    facts = packaged_table(_TREES)[collective]
    traits = facts.get("algorithms", {}).get(candidate.name, {})
    if flat:
        chosen: Tree = {f"composition={facts['flat']}": {}}
    else:
        name = f"MPIR_{collective.capitalize()}_intra_{candidate.name}"
        values_of_policy = {_KEYS[key]: value for key, value in piece.parameters if key in _KEYS}
        values = {**traits.get("parameters", {}), **values_of_policy}
        chosen = {f"algorithm={name}": {f"{key}={value}": {} for key, value in values.items()}}
    for need in reversed(traits.get("needs", ())):
        chosen = _guarded(need, chosen, before)
    return _guarded("is_commutative=yes", chosen, before) if facts.get("reducing") else chosen


def _guarded(need: str, chosen: Tree, before: Tree) -> Tree:
    if need == "count>=pow2":
        return {"count<pow2": before, "count=any": chosen}
    quantity, _, value = need.partition("=")
    return {need: chosen, f"{quantity}=no" if value == "yes" else f"{quantity}=any": before}
