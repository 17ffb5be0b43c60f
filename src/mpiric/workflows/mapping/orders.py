"""Known rank orders: reading, checking, and conversion for the runtime that applies them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from mpiric.host.facts.elf import read_embedded_texts
from mpiric.host.files import is_file, read_bounded
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.host.owned_files import write_text
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, NoRuntimeError, NotFoundError
from mpiric.model.json_text import parse_json, read_fields
from mpiric.model.rank_order import RankOrderChoice, RankOrders
from mpiric.model.situation import Situation
from mpiric.workflows.launch.loadable import why_not_loadable

DIRECTORY, LIST = "orders", "orders.json"
_RUNTIME, _ENGINE, _SWITCH = "libmpiric.so", "mpiric-mapper", "MPIRIC_RANK_ORDER"
_MOST_BYTES = 256 << 20


@dataclass(frozen=True)
class _Plan:
    """Plan that `plan_orders.plan_orders` writes."""

    choices: tuple[RankOrderChoice, ...]
    hosts: tuple[str, ...]  # host of each slot
    why_not: str


def planned_orders(directory: Path) -> RankOrders | None:
    """Return the orders that `plan_orders.plan_orders` wrote to a directory; None if it was not called."""
    plan = _planned(directory)
    return RankOrders(plan.choices, why_not=plan.why_not) if plan else None


def hosts_of_slots(directory: Path) -> tuple[str, ...]:
    """Return the host of each slot in the launcher's order, as written by `plan_orders.plan_orders`."""
    plan = _planned(directory)
    return plan.hosts if plan else ()


def _planned(directory: Path) -> _Plan | None:
    """Return the plan of a directory; None if it is damaged, so that it is created again."""
    try:
        data = read_bounded(directory / DIRECTORY / LIST, "list of orders", _MOST_BYTES)
        return read_fields(_Plan, parse_json(data))
    except (MpiricError, ValueError):
        return None


def with_orders(situation: Situation, orders: RankOrders, host: Host) -> Situation:
    """Return the situation with orders that the runtime can apply, or with the reason why it cannot."""
    families = situation.mpi.abi_families
    try:
        library, engine = native_part(_RUNTIME, families[0]) if families else "", native_part(_ENGINE)
    except NotFoundError as error:
        return replace(situation, rank_orders=RankOrders(why_not=error.message))
    if not library or not read_embedded_texts(library, _SWITCH.encode()):
        why = "the runtime of this installation does not reorder the ranks of this MPI"
        return replace(situation, rank_orders=RankOrders(why_not=why))
    if why := why_not_loadable(situation.job, library, host):
        return replace(situation, rank_orders=RankOrders(why_not=why))
    return replace(situation, rank_orders=replace(orders, library=library, family=families[0], engine=engine))


def with_order(situation: Situation, slots: Sequence[int], name: str, store: Path, host: Host) -> Situation:
    """Return the situation with one order as a value of the knob; its file's name depends on the content.

    Raises MpiricError unless it is a permutation of the job's ranks, NoRuntimeError if the runtime cannot
    apply it.
    """
    check_order(slots, situation.job.ranks, "the order of ranks")
    text = text_of(slots)
    path = store / DIRECTORY / f"{sha256(text.encode()).hexdigest()[:16]}.txt"
    if not is_file(path):
        write_text(path, text)
    choice = RankOrderChoice(name, str(path.absolute()), 1.0, 1.0)
    ordered = with_orders(situation, RankOrders((choice,)), host)
    if not ordered.rank_orders.choices:
        raise NoRuntimeError(ordered.rank_orders.why_not, hint="leave --rank-order out")
    return ordered


def check_order(slots: Sequence[int], ranks: int | None, where: str) -> None:
    """Raise MpiricError unless the slots are a permutation with the right number of ranks."""
    hint = "line r, from 0, holds the slot of rank r; `mpiric map --out FILE` writes one"
    if sorted(slots) != list(range(len(slots))):
        raise MpiricError(f"{where} is not a permutation of 0 to {len(slots) - 1}", hint=hint)
    if ranks is not None and ranks != len(slots):
        raise MpiricError(f"{where} is of {len(slots)} ranks, and the job has {ranks}", hint=hint)


def read_order(path: Path) -> tuple[int, ...]:
    """Return the slot of each rank. Raises MpiricError for a file with anything else than numbers."""
    text = read_bounded(path, "order of ranks", _MOST_BYTES, "`mpiric map --out FILE` writes one").decode(
        errors="replace"
    )
    slots = []
    for number, line in enumerate(text.splitlines(), 1):
        word = line.partition("#")[0].strip()
        if word and not (word.isascii() and word.isdigit() and len(word) < 12):
            raise MpiricError(
                f"{path}: line {number}: {word[:40]!r} is not a slot number",
                hint="write one number on each line, as `mpiric map --out FILE` does",
            )
        slots += [int(word)] if word else []
    return tuple(slots)


def text_of(slots: Iterable[int]) -> str:
    """Return an order in the format of spec/formats/order.md."""
    return "".join(f"{slot}\n" for slot in slots)
