"""MPICH: decision trees for `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE` and its CH4 form.

A tree given in a file stands in place of the one built into the library, for all collectives. The built-in
trees are kept as text in the library itself: they are read from there (`Defaults`) and the policy's choices
are grafted in: what the policy does not cover goes on as before. The CH4 tree decides whether the node is
treated apart from the network; choices among the algorithms below it need the flat composition. A third
tree, of algorithms through shared memory, is left as it is: its one algorithm a collective is what CH4's own
choice already leads to.

Semantics: src/mpi/coll/src/csel.c, coll_algorithms.txt (restrictions) and cvars.txt (defaults of parameters)
of MPICH 5.0. How many requests a scattered alltoall has under way is no parameter there. A node is a list of
conditions, evaluated in order; one whose branch comes to no end is an error, so every graft ends in what was
there.
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

EMBEDDED_DEFAULTS = b'{"collective='  # with which the trees begin that the library has built in
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
    """The two trees. Raises MismatchError when the library's own ones are not what this file knows."""
    generic, ch4 = _default_trees(defaults)
    facts = packaged_table(_TREES)
    left, grafted = [*not_expressed(policy, facts)], False
    for collective in sorted({line.collective for line in policy.lines} & facts.keys()):
        found, missed = boxes(policy, collective, by_node=True)
        left += [*missed, *_not_in_trees(collective, found)]
        for box in one_by_one(found) if facts[collective].get("summed") else found:
            grafted = _graft(generic, collective, box, flat=False) or grafted
            if "flat" in facts[collective]:
                _graft(ch4, collective, box, flat=True)
    if not grafted:
        return Exported(left_out=tuple(dict.fromkeys(left)))
    return Exported(
        files={_GENERIC: json.dumps(generic, indent=1) + "\n", _CH4: json.dumps(ch4, indent=1) + "\n"},
        variables={},
        by_file={
            "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": _GENERIC,
            "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE": _CH4,
        },
        left_out=tuple(dict.fromkeys(left)),
    )


def _has_no_name(candidate: LibraryAlgorithm) -> bool:
    return "POSIX" in candidate.variable or candidate.name == "nb"


def _not_in_trees(collective: str, found: tuple[Box, ...]) -> Iterator[str]:
    """Algorithms that these trees cannot name, and parameters that they have no room for."""
    pieces = (piece for box in found for piece in box.pieces)
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
            "this MPICH has no decision trees built in that could be added to",
            hint="4.0 and later, built with CH4, have them; use the policy with `mpiric run --policy`",
        ) from None


def _graft(tree: Tree, collective: str, box: Box, *, flat: bool) -> bool:
    """Put the choices of one box in front of what serves the collective between ranks of one communicator.

    Return whether there was anything to put there.
    """
    holder = tree.get(f"collective={collective}")
    has_choice = any(piece.candidate and not _has_no_name(piece.candidate) for piece in box.pieces)
    if not isinstance(holder, dict) or "comm_type=intra" not in holder or not has_choice:
        return False
    before = holder["comm_type=intra"]
    branch = _by_size(collective, box, before, flat=flat)
    branch = _within("comm_avg_ppn", box.ranks_per_node, branch, before)
    holder["comm_type=intra"] = _within("comm_size", box.ranks, branch, before)
    return True


def _within(what: str, span: Span, inside: Tree, outside: Tree) -> Tree:
    """``inside`` for numbers in the span. Only ``<=``: csel.c reads ``<`` as ``<=`` in one of two places."""
    low = {f"{what}<={span.low - 1}": outside} if span.low > 1 else {}
    high = {f"{what}<={span.high}": inside, f"{what}=any": outside}
    return {**low, **high} if span.high is not None else {**low, f"{what}=any": inside} if low else inside


def _by_size(collective: str, box: Box, before: Tree, *, flat: bool) -> Tree:
    facts = packaged_table(_TREES)[collective]
    word, factor = facts["size"], box.ranks.low if facts.get("summed") else 1
    if not word:
        return _choice(collective, box.pieces[0], before, flat=flat)
    tree: Tree = {}
    for piece in box.pieces:
        last = piece.end is None or (piece.end * factor - 1) > _LARGEST
        key = f"{word}=any" if last else f"{word}<={(piece.end or 0) * factor - 1}"
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
    own = facts.get("algorithms", {}).get(candidate.name, {})
    if flat:
        chosen: Tree = {f"composition={facts['flat']}": {}}
    else:
        name = f"MPIR_{collective.capitalize()}_intra_{candidate.name}"
        given = {_KEYS[key]: value for key, value in piece.parameters if key in _KEYS}
        values = {**own.get("parameters", {}), **given}
        chosen = {f"algorithm={name}": {f"{key}={value}": {} for key, value in values.items()}}
    for need in reversed(own.get("needs", ())):
        chosen = _guarded(need, chosen, before)
    return _guarded("is_commutative=yes", chosen, before) if facts.get("reducing") else chosen


def _guarded(need: str, chosen: Tree, before: Tree) -> Tree:
    if need == "count>=pow2":
        return {"count<pow2": before, "count=any": chosen}
    word, _, value = need.partition("=")
    return {need: chosen, f"{word}=no" if value == "yes" else f"{word}=any": before}
