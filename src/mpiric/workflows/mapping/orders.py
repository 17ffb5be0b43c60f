"""The orders of ranks that a tune may try: the engine's for the traffic of a recorded run, and plain ones."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from mpiric.host.facts.elf import read_embedded_texts
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.model.errors import MismatchError, MpiricError, NotFoundError
from mpiric.model.machine_slots import MachineSpec
from mpiric.model.rank_graph import Numbers, SlotTree
from mpiric.model.rank_order import RankOrderChoice, RankOrders
from mpiric.model.record import Record
from mpiric.model.situation import Situation
from mpiric.tuning.files import read_bounded, write_whole
from mpiric.workflows.launch.loadable import why_not_loadable
from mpiric.workflows.mapping.machine import record_on_machine
from mpiric.workflows.mapping.map import MapRequest, map_ranks, order_cost
from mpiric.workflows.mapping.record import RecordedTraffic, traffic_of

_DIRECTORY, _LIST = "orders", "orders.json"
_RUNTIME, _ENGINE, _SWITCH = "libmpiric.so", "mpiric-mapper", "MPIRIC_RANK_ORDER"
_MOST_BYTES = 256 << 20
_LEAST_GAIN = 0.01  # of weighted hop-bytes
NO_GAIN = "no gain expected: no other order has its messages go a shorter way"


def plan_orders(record: Record, name: str, directory: Path, host: Host) -> None:
    """Find orders with less to carry between nodes, and leave them in ``directory``."""
    choices: tuple[RankOrderChoice, ...] = ()
    hosts: tuple[str, ...] = ()
    try:
        traffic = traffic_of(record, name)
        choices = _better(traffic, directory / _DIRECTORY, host)
        why_not = "" if choices else NO_GAIN
        placed = record_on_machine(traffic, MachineSpec())
        hosts = tuple(placed.machine.hosts[slot] for slot in placed.given)
    except MpiricError as error:
        why_not = error.message
    text = {"why_not": why_not, "hosts": hosts, "choices": [asdict(choice) for choice in choices]}
    write_whole(directory / _DIRECTORY / _LIST, json.dumps(text, indent=1) + "\n")


def planned_orders(directory: Path) -> RankOrders | None:
    """What `plan_orders` has left in a directory; None where it was not called."""
    text = _planned(directory)
    if text is None:
        return None
    return RankOrders(tuple(RankOrderChoice(**each) for each in text["choices"]), why_not=text["why_not"])


def hosts_of_slots(directory: Path) -> tuple[str, ...]:
    """The host of each slot, as the launcher fills them, that `plan_orders` has found."""
    text = _planned(directory)
    return tuple(text["hosts"]) if text else ()


def _planned(directory: Path) -> dict[str, Any] | None:
    path = directory / _DIRECTORY / _LIST
    text: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    return text


def with_orders(situation: Situation, orders: RankOrders, host: Host) -> Situation:
    """The situation with orders that the runtime can carry out; with the reason where it cannot."""
    families = situation.mpi.abi_families
    try:
        library = native_part(_RUNTIME, families[0]) if families else ""
    except NotFoundError:
        library = ""
    if not library or not read_embedded_texts(library, _SWITCH.encode()):
        why = "the runtime of this installation does not reorder the ranks of this MPI"
        return replace(situation, rank_orders=RankOrders(why_not=why))
    if why := why_not_loadable(situation.job, library, host):
        return replace(situation, rank_orders=RankOrders(why_not=why))
    engine = native_part(_ENGINE)
    return replace(situation, rank_orders=replace(orders, library=library, family=families[0], engine=engine))


def with_order(situation: Situation, slots: Sequence[int], name: str, store: Path, host: Host) -> Situation:
    """The situation with one order as a value of the knob, its file named by what is in it.

    Raises MpiricError for what is no permutation of the job's ranks, or no runtime could carry out.
    """
    check_order(slots, situation.job.ranks, "the order of ranks")
    text = _text(slots)
    path = store / _DIRECTORY / f"{sha256(text.encode()).hexdigest()[:16]}.txt"
    if not path.is_file():
        write_whole(path, text)
    choice = RankOrderChoice(name, str(path.absolute()), 1.0, 1.0)
    found = with_orders(situation, RankOrders((choice,)), host)
    if not found.rank_orders.choices:
        raise MismatchError(found.rank_orders.why_not, hint="leave the order of ranks out")
    return found


def check_order(slots: Sequence[int], ranks: int | None, where: str) -> None:
    """Raise MpiricError for what is no permutation, or one of another number of ranks."""
    hint = "line r, from 0, holds the slot of rank r; `mpiric map --out FILE` writes one"
    if sorted(slots) != list(range(len(slots))):
        raise MpiricError(f"{where} is no permutation of 0 to {len(slots) - 1}", hint=hint)
    if ranks is not None and ranks != len(slots):
        raise MpiricError(f"{where} is of {len(slots)} ranks, and the job has {ranks}", hint=hint)


def read_order(path: Path) -> tuple[int, ...]:
    """The slot of each rank. Raises MpiricError for a file that holds anything else than numbers."""
    text = read_bounded(path, "order of ranks", _MOST_BYTES, "`mpiric map --out FILE`").decode(
        errors="replace"
    )
    slots = []
    for number, line in enumerate(text.splitlines(), 1):
        word = line.partition("#")[0].strip()
        if word and not (word.isascii() and word.isdigit() and len(word) < 12):
            raise MpiricError(f"{path}: line {number}: {word[:40]!r} is no number of a slot")
        slots += [int(word)] if word else []
    return tuple(slots)


def _text(slots: Iterable[int]) -> str:
    return "".join(f"{slot}\n" for slot in slots)


def _better(traffic: RecordedTraffic, directory: Path, host: Host) -> tuple[RankOrderChoice, ...]:
    """Orders that save something, the best first, no two alike."""
    placed = record_on_machine(traffic, MachineSpec())
    tree, given = placed.machine.tree, placed.given
    if len(traffic.nodes) < 2:
        return ()
    request = MapRequest(traffic.graph, placed.machine, given)
    today = order_cost(request, given)
    proposals = {"mapped": map_ranks(request, host).slots, **_plain(tree)}
    launched = np.argsort(given)  # the rank that the launcher starts in each slot
    found: dict[bytes, tuple[float, RankOrderChoice]] = {}
    for name, proposal in proposals.items():
        slots = keep_first(proposal, int(given[0]), tree.nodes)
        cost = order_cost(request, slots)
        if today.hop_bytes <= 0 or cost.hop_bytes > (1 - _LEAST_GAIN) * today.hop_bytes:
            continue
        path = directory / f"{name}.txt"
        off = cost.off_node / today.off_node if today.off_node > 0 else 1.0
        choice = RankOrderChoice(name, str(path.absolute()), off, cost.hop_bytes / today.hop_bytes)
        if found.setdefault(slots.tobytes(), (cost.hop_bytes, choice))[1] is choice:
            write_whole(path, _text(launched[slots].tolist()))
    return tuple(choice for _, choice in sorted(found.values(), key=lambda each: each[0]))


def keep_first(slots: Numbers, first: int, nodes: Numbers) -> Numbers:
    """An order as good, or nearly, with rank 0 in slot ``first``, which gets the launcher's input.

    Nodes of equal size change places, then ranks on the node.
    """
    kept: Numbers = slots.copy()
    node, first_node = nodes[kept[0]], nodes[first]
    node_slots, first_slots = np.flatnonzero(nodes == node), np.flatnonzero(nodes == first_node)
    if node != first_node and len(node_slots) == len(first_slots):
        exchanged = np.arange(len(slots))
        exchanged[node_slots], exchanged[first_slots] = first_slots, node_slots
        kept = exchanged[kept]
    in_first = int(np.flatnonzero(kept == first)[0])
    kept[0], kept[in_first] = first, kept[0]
    return kept


def _plain(tree: SlotTree) -> dict[str, Numbers]:
    """Ranks over the nodes in the ways that launchers have words for."""
    nodes = tree.nodes
    position = np.zeros(tree.slots, dtype=np.int64)  # of each slot on its node
    for node in np.unique(nodes):
        position[nodes == node] = np.arange(np.count_nonzero(nodes == node))
    by: dict[str, Callable[[], Numbers]] = {
        "block": lambda: np.arange(tree.slots),
        "round-robin": lambda: np.lexsort((nodes, position)),
        "folded": lambda: np.lexsort((np.where(position % 2, -nodes, nodes), position)),
    }
    return {name: order().astype(np.int64) for name, order in by.items()}
