"""MPICH, the base of several vendors' libraries; see https://www.mpich.org.

``MPIR_CVAR_DEBUG_SUMMARY`` prints the network module.

Decision trees: `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE` and its CH4 variant. A tree in a file replaces the
built-in tree for all collectives. The built-in trees are stored as text in the library; they are read from it
(`Defaults`), and the choices of the policy are inserted, so that everything else is unchanged. The CH4 tree
decides whether nodes are treated separately from the network; choices among the algorithms below it need the
flat composition. A third tree, of shared-memory algorithms, is not changed: CH4's choice already leads to its
single algorithm per collective.

Semantics: src/mpi/coll/src/csel.c, coll_algorithms.txt (restrictions) and cvars.txt (defaults of parameters)
of MPICH 5.0. The number of concurrent requests of a scattered alltoall is not a parameter there. A node is a
list of conditions evaluated in order; a branch without a result is an error, so every insertion ends in the
previous tree.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from mpiric.algorithms.library import LibraryAlgorithm, version_numbers
from mpiric.host.packaged import packaged_table
from mpiric.model.errors import MismatchError
from mpiric.model.fabric import PairClass, TransportPath, TransportReport
from mpiric.model.mpi_library import (
    AbiFamily,
    Capabilities,
    CollectiveComponents,
    MpiPackage,
    NodeSetting,
    WheelPart,
)
from mpiric.model.policy import Policy, Span
from mpiric.mpis import _ch4, _fabrics
from mpiric.mpis._boxes import Box, Piece, boxes, not_expressed, one_by_one
from mpiric.mpis._implementation import Defaults, Exported, Implementation, major

ASK = {"MPIR_CVAR_DEBUG_SUMMARY": "1"}

_UCX = "==== UCX netmod Capability ===="
_PROVIDER = re.compile(r"^libfabric provider: (\S+)(?: - (\S+))?", re.M)
_CANDIDATE = re.compile(r"^provider: (\S+), score = (\d+), pref = (-?\d+), ", re.M)
_NODE = (PairClass.SAME_NUMA, PairClass.SAME_NODE)


def recognise_connections(text: str) -> TransportReport:
    """Return the network module, with libfabric also its provider and the rejected ones."""
    shared = {pair_class: TransportPath("shared memory") for pair_class in _NODE}
    if _UCX in text:
        return TransportReport("ch4, netmod ucx", shared)
    provider = _PROVIDER.search(text)
    if not provider:
        return TransportReport()
    ratings: dict[str, str] = {}
    for name, score, preference in _CANDIDATE.findall(text):
        ratings[name] = max(ratings.get(name, ""), f"score {score}, preference {preference}")
    why = []
    if ratings:
        why.append(f"MPICH rates libfabric's providers: {'; '.join(f'{n} {s}' for n, s in ratings.items())}")
    if provider[1] in ratings:
        why.append(f"{provider[1]} is selected: {ratings[provider[1]]}")
    return TransportReport(
        "ch4, netmod ofi",
        {**shared, PairClass.OTHER_NODE: TransportPath(provider[1])},
        tuple(why),
        provider[1],
    )


Tree = dict[str, Any]

EMBEDDED_DEFAULTS = b'{"collective='  # first bytes of the built-in trees
_GENERIC, _CH4 = "mpich-coll.json", "mpich-coll-ch4.json"
FILES = (_GENERIC, _CH4)
_TREES = "mpis/mpich_trees"
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
            "this MPICH has no built-in table of collective algorithms that can be extended",
            hint="use the policy with `mpiric run --policy FILE`, or MPICH 4.0 or later, built with CH4",
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


def _recognise(text: str) -> str | None:
    """Parse ``MPICH Version:  4.0.2``, the first line of MPICH itself."""
    match = re.match(r"\s*MPICH Version:\s*(\S+)", text)
    return match[1] if match and "CRAY MPICH" not in text else None


def _transports(version_text: str, _information: str) -> tuple[str, ...]:
    """Parse ``MPICH Device: ch4:ucx ofi`` or ``ch3:nemesis``; both have ``shm`` on a node."""
    match = re.search(r"MPICH Device:\s*(.+)", version_text)
    if not match:
        return ()
    device, _, modules = match[1].strip().partition(":")
    if device == "ch3":
        return ("tcp", "shm")
    return (*re.split(r"[ ,]+", modules), "shm") if modules else ("shm",)


def _capabilities(version: str, transports: tuple[str, ...]) -> Capabilities:
    number, has_ofi, has_ucx = major(version), "ofi" in transports, "ucx" in transports
    return Capabilities(
        binds_by_default=False,
        default_binding=("none", "none"),
        can_sleep=number >= 5,
        waiting_switches=_ch4.WAITING_SWITCHES,
        helper_threads=int(has_ucx),
        has_node_only_transport=number >= 5 and has_ucx,
        starts_light=True,
        node_settings=(_ch4.NO_LOCAL, *((NodeSetting("UCX_TLS", _fabrics.UCX_ON_NODE),) if has_ucx else ())),
        single_copy=("none",) if number >= 5 or "xpmem" in transports else (),
        has_single_copy_threshold=number >= 5,
        cells_per_rank=_ch4.CELLS,
        kernel_copy_from_bytes=8 << 10 if number >= 5 else 0,
        eager_cuts_only=number >= 5,  # the kernel copies larger messages in one piece
        sizes_in_force={"eager-node": 8 << 10, "single-copy-threshold": 8 << 10} if number >= 5 else {},
        node_buffers=str(_ch4.CELLS),
        node_buffers_variable=_ch4.NODE_BUFFERS,
        mpi_io="romio",
        network_libraries=(*(("ucx",) if has_ucx else ()), "ofi") if has_ofi else (),
        tcp_only={
            "MPIR_CVAR_NOLOCAL": "1",
            "MPIR_CVAR_CH4_NETMOD": "{netmod}",
            "FI_PROVIDER": "sockets,tcp",
            "FI_TCP_IFACE": "{interface}",
            "FI_SOCKETS_IFACE": "{interface}",
            "UCX_NET_DEVICES": "{interface}",
            "UCX_TLS": "tcp,self",
        },
        collectives=CollectiveComponents(
            on_node=("messages", "shared-memory"), without_messages=_ch4.WITHOUT_MESSAGES
        ),
    )


WHEEL = WheelPart(
    "mpich",
    "5.0.2",
    (
        "8fed465ebff269ea2ebac179a25de02671ddf8df476e0f115be089015015cfd4",  # x86_64
        "992ae6ebb0da97d49d7a67000ae8112da9a3825da1bb1e6f1d196428a0410f2d",  # aarch64
    ),
)

IMPLEMENTATION = Implementation(
    title="MPICH",
    family=AbiFamily.MPICH,
    libraries=("libmpich.so.12", "libmpi.so.12"),
    compilers={
        "c": ("mpicc.mpich", "mpicc"),
        "cxx": ("mpicxx.mpich", "mpicxx", "mpic++"),
        "fortran": ("mpifort.mpich", "mpifort", "mpif90"),
        "c_abi": ("mpicc_abi",),
        "cxx_abi": ("mpicxx_abi",),
    },
    recognise=_recognise,
    dialect=lambda _version: "hydra",
    transports=_transports,
    capabilities=_capabilities,
    spellers=lambda version: _ch4.spellers(newer=version_numbers(version) >= (4, 3)),
    is_base=True,
    launchers=("mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpirun"),
    recognise_launcher=_ch4.recognise_hydra,
    modules=r"mpich",
    home_variables=("MPICH_DIR", "EBROOTMPICH"),
    prefixes=("/opt/mpich*", "/usr/lib64/mpich*"),
    spack_names=("mpich",),
    package=MpiPackage("mpich", (WHEEL,)),
    prefix="MPIR_CVAR_",
    variables=("MPICH_", "MPIR_", "HYDRA_"),
    ask_connections=ASK,
    connections=recognise_connections,
    export=export,
    export_files=FILES,
    embedded_defaults=EMBEDDED_DEFAULTS,
)
