"""Rules files of Open MPI: `coll_tuned`, classic and as JSON, and `coll_han`.

Formats: ompi/mca/coll/tuned/coll_tuned_dynamic_file.c, docs/tuning-apps/coll-tuned.rst and
ompi/mca/coll/han/coll_han_dynamic_file.h of Open MPI. JSON is read from version 6 on, the classic file
(numbers only) by all versions. Algorithm 0 is the fixed decision.

From version 5 on, `han` serves some collectives between nodes. Its rules pass exactly the sizes for which the
policy has a choice to `tuned`; all other sizes are served as without the files. A higher priority of `tuned`
would change every collective.
"""

import json
from typing import Any

from mpiric.algorithms.library import version_numbers
from mpiric.host.packaged import packaged_table
from mpiric.model.policy import Policy
from mpiric.mpis._boxes import Box, Piece, boxes, not_expressed, one_by_one
from mpiric.mpis._implementation import Defaults, Exported

_CLASSIC, _JSON, _HAN = "coll_tuned.rules", "coll_tuned.json", "coll_han.rules"
_GLOBAL = "global_communicator"  # level of `han` that can pass a call to `tuned`
FILES = (_CLASSIC, _JSON, _HAN)
_FIXED = "0"

_COLLECTIVES = "mpis/openmpi/collectives"
_FANOUT, _SEGMENT, _REQUESTS = "fanout", "segment", "requests"
_FANOUTS = "4"  # default of the algorithms; 0 in a rule means 1


def export(policy: Policy, _defaults: Defaults = ()) -> Exported:
    """Return the rules files, and the variables that activate them."""
    tables: dict[str, tuple[Box, ...]] = {}
    omitted: list[str] = []
    facts = packaged_table(_COLLECTIVES)
    for collective, traits in facts.items():
        selected, left_out = boxes(policy, collective, by_node=False)
        omitted += left_out
        if traits.get("sizeless") and any(len(box.pieces) > 1 for box in selected):
            omitted.append(f"{collective}: choices by size, on which the ranks of Open MPI may disagree")
            selected = tuple(box for box in selected if len(box.pieces) == 1)
        omitted += _unsupported_parameters(policy, collective, selected)
        if selected:
            tables[collective] = one_by_one(selected) if _is_summed(collective) else selected
    omitted += not_expressed(policy, facts)
    if not tables:
        return Exported(left_out=tuple(dict.fromkeys(omitted)))
    version = version_numbers(policy.version)
    name = _JSON if version >= (6,) else _CLASSIC
    files = {name: _json(tables) if version >= (6,) else _classic(tables, second=version >= (5,))}
    variables = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
    by_file = {"OMPI_MCA_coll_tuned_dynamic_rules_filename": name}
    if between_nodes := {key: tables[key] for key in tables if _is_served_by_han(key, version)}:
        files[_HAN] = _hand_over(between_nodes)
        variables["OMPI_MCA_coll_han_use_dynamic_file_rules"] = "1"
        by_file["OMPI_MCA_coll_han_dynamic_rules_filename"] = _HAN
    return Exported(files, variables, by_file, left_out=tuple(dict.fromkeys(omitted)))


def _is_summed(collective: str) -> bool:
    return bool(packaged_table(_COLLECTIVES)[collective].get("summed"))


def _is_served_by_han(collective: str, version: tuple[int, ...]) -> bool:
    """Check whether `han` precedes `tuned` for this collective between nodes."""
    since = packaged_table(_COLLECTIVES)[collective].get("han")
    return since is not None and version >= (since,)


def _hand_over(tables: dict[str, tuple[Box, ...]]) -> str:
    """Return rules of `han` that pass the sizes with a choice to `tuned`.

    Sizes of `han` are one block where sizes of `tuned` are the total of all blocks, as in an allgather.
    """
    lines = [f"{len(tables)} # collectives"]
    for collective, selected in tables.items():
        sizes = {max(ranks, 1): box for ranks, box in _closed(selected)}
        lines += [
            f"{packaged_table(_COLLECTIVES)[collective]['number']} # {collective}",
            "1 # topologic levels",
            _GLOBAL,
            f"{len(sizes)} # communicator sizes",
        ]
        for ranks, box in sizes.items():
            pieces = (
                [(piece.start, piece.candidate is not None) for piece in box.pieces] if box else [(0, False)]
            )
            lines += [f"{ranks} # ranks", f"{len(pieces)} # message sizes"]
            lines += [f"{start} {'tuned' if is_chosen else 'han'}" for start, is_chosen in pieces]
    return "\n".join(lines) + "\n"


def _unsupported_parameters(policy: Policy, collective: str, selected: tuple[Box, ...]) -> list[str]:
    """Return sentences about parameters that a rule cannot express."""
    expressed = (
        (_FANOUT, _SEGMENT) if version_numbers(policy.version) < (5,) else (_FANOUT, _SEGMENT, _REQUESTS)
    )
    pieces = [piece for box in selected for piece in box.pieces if piece.candidate]
    return [
        f"{collective}: {key} of {piece.candidate.name}"
        for piece in pieces
        for key, _ in piece.parameters
        if piece.candidate and key not in expressed
    ]


def _parameters(piece: Piece) -> dict[str, str]:
    """Return the parameters of a rule that are not 0."""
    assert piece.candidate is not None
    has_fanout = any(parameter.key == _FANOUT for parameter in piece.candidate.parameters)
    return {**({_FANOUT: _FANOUTS} if has_fanout else {}), **dict(piece.parameters)}


def _classic(tables: dict[str, tuple[Box, ...]], *, second: bool) -> str:
    """Write the classic format: communicator sizes hold until the next, so a fixed rule ends every range.

    Version 2 of the format, read from Open MPI 5 on, adds the number of requests to a rule.
    """
    lines = [*(["rule-file-version-2"] * second), f"{len(tables)} # collectives"]
    for collective, selected in tables.items():
        sizes = _closed(selected)
        lines += [
            f"{packaged_table(_COLLECTIVES)[collective]['number']} # {collective}",
            f"{len(sizes)} # communicator sizes",
        ]
        for ranks, box in sizes:
            rules = [_rule(collective, piece, ranks) for piece in box.pieces] if box else [(0, *_DEFAULT)]
            lines += [f"{ranks} # ranks", f"{len(rules)} # message sizes"]
            lines += [" ".join(str(number) for number in rule[: 5 if second else 4]) for rule in rules]
    return "\n".join(lines) + "\n"


_DEFAULT = (_FIXED, "0", "0", "0")


def _closed(selected: tuple[Box, ...]) -> list[tuple[int, Box | None]]:
    sizes: list[tuple[int, Box | None]] = [(0, None)]
    for box in sorted(selected, key=lambda box: box.ranks):
        if sizes[-1][0] == box.ranks.low:
            sizes.pop()
        sizes.append((box.ranks.low, box))
        if box.ranks.high is not None:
            sizes.append((box.ranks.high + 1, None))
    return sizes


def _rule(collective: str, piece: Piece, ranks: int) -> tuple[object, ...]:
    """Return smallest size, algorithm, fan-out, segment size, requests."""
    start = piece.start * (ranks if _is_summed(collective) else 1)
    if piece.candidate is None:
        return (start, *_DEFAULT)
    parameters = _parameters(piece)
    return (
        start,
        piece.candidate.value,
        *(parameters.get(key, "0") for key in (_FANOUT, _SEGMENT, _REQUESTS)),
    )


def _json(tables: dict[str, tuple[Box, ...]]) -> str:
    document = {
        "rule_file_version": 3,
        "module": "tuned",
        "collectives": {
            collective: [_communicators(collective, box) for box in selected]
            for collective, selected in tables.items()
        },
    }
    return json.dumps(document, indent=1) + "\n"


def _communicators(collective: str, box: Box) -> dict[str, Any]:
    limits: dict[str, Any] = {"comm_size_min": box.ranks.low}
    if box.ranks.high is not None:
        limits["comm_size_max"] = box.ranks.high
    factor = box.ranks.low if _is_summed(collective) else 1
    return {**limits, "rules": [_json_rule(piece, factor) for piece in box.pieces if piece.candidate]}


def _json_rule(piece: Piece, factor: int) -> dict[str, Any]:
    assert piece.candidate is not None
    rule: dict[str, Any] = {"msg_size_min": piece.start * factor}
    rule["msg_size_max"] = "Inf" if piece.end is None else piece.end * factor - 1
    rule["alg"] = piece.candidate.name
    parameters = _parameters(piece)
    for key, field in ((_FANOUT, "faninout"), (_SEGMENT, "seg_size"), (_REQUESTS, "reqs")):
        if key in parameters:
            rule[field] = int(parameters[key])
    return rule
