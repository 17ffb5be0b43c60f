"""Orders of ranks that are known: read, checked, and given to the runtime that carries them out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from mpiric.host.facts.elf import read_embedded_texts
from mpiric.host.files import is_file, read_bounded
from mpiric.host.host import Host
from mpiric.host.installation.native import native_part
from mpiric.model.errors import MpiricError, NoRuntimeError, NotFoundError
from mpiric.model.json_text import parse_json, read_fields
from mpiric.model.rank_order import RankOrderChoice, RankOrders
from mpiric.model.situation import Situation
from mpiric.tuning.files import write_whole
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
    """What `plan_orders.plan_orders` has left in a directory; None where it was not called."""
    plan = _planned(directory)
    return RankOrders(plan.choices, why_not=plan.why_not) if plan else None


def hosts_of_slots(directory: Path) -> tuple[str, ...]:
    """The host of each slot, as the launcher fills them, that `plan_orders.plan_orders` has found."""
    plan = _planned(directory)
    return plan.hosts if plan else ()


def _planned(directory: Path) -> _Plan | None:
    """The plan of a directory; a damaged one counts as none and is made again."""
    try:
        data = read_bounded(directory / DIRECTORY / LIST, "list of orders", _MOST_BYTES)
        return read_fields(_Plan, parse_json(data))
    except (MpiricError, ValueError):
        return None


def with_orders(situation: Situation, orders: RankOrders, host: Host) -> Situation:
    """The situation with orders that the runtime can carry out; with the reason where it cannot."""
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
    """The situation with one order as a value of the knob, its file named by what is in it.

    Raises MpiricError for what is no permutation of the job's ranks, NoRuntimeError for what no runtime
    could carry out.
    """
    check_order(slots, situation.job.ranks, "the order of ranks")
    text = text_of(slots)
    path = store / DIRECTORY / f"{sha256(text.encode()).hexdigest()[:16]}.txt"
    if not is_file(path):
        write_whole(path, text)
    choice = RankOrderChoice(name, str(path.absolute()), 1.0, 1.0)
    ordered = with_orders(situation, RankOrders((choice,)), host)
    if not ordered.rank_orders.choices:
        raise NoRuntimeError(ordered.rank_orders.why_not, hint="leave the order of ranks out")
    return ordered


def check_order(slots: Sequence[int], ranks: int | None, where: str) -> None:
    """Raise MpiricError for what is no permutation, or one of another number of ranks."""
    hint = "line r, from 0, holds the slot of rank r; `mpiric map --out FILE` writes one"
    if sorted(slots) != list(range(len(slots))):
        raise MpiricError(f"{where} is no permutation of 0 to {len(slots) - 1}", hint=hint)
    if ranks is not None and ranks != len(slots):
        raise MpiricError(f"{where} is of {len(slots)} ranks, and the job has {ranks}", hint=hint)


def read_order(path: Path) -> tuple[int, ...]:
    """The slot of each rank. Raises MpiricError for a file that holds anything else than numbers."""
    text = read_bounded(path, "order of ranks", _MOST_BYTES, "`mpiric map --out FILE` writes one").decode(
        errors="replace"
    )
    slots = []
    for number, line in enumerate(text.splitlines(), 1):
        word = line.partition("#")[0].strip()
        if word and not (word.isascii() and word.isdigit() and len(word) < 12):
            raise MpiricError(f"{path}: line {number}: {word[:40]!r} is no number of a slot")
        slots += [int(word)] if word else []
    return tuple(slots)


def text_of(slots: Iterable[int]) -> str:
    """Write an order as files of spec/formats/order.md hold it."""
    return "".join(f"{slot}\n" for slot in slots)
