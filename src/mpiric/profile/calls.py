"""Head of a rank's image, and reader of the MPI call that the rank is in.

Raises ``ValueError`` for invalid data.
"""

from dataclasses import replace

from mpiric.model.dataclass import dataclass
from mpiric.model.record import OpenCall
from mpiric.profile import layout

_IN_FLIGHT, _COMMUNICATOR, _PEER, _TAG, _AMOUNT, _SOURCE, _REQUEST, _REQUESTS = (1 << bit for bit in range(8))
_WORLD = 0  # position of MPI_COMM_WORLD among the communicators
_MOST_BYTES = 1 << 62


@dataclass(frozen=True, slots=True)
class ImageHead:
    """Head of an image."""

    version: int
    bytes: int
    world_rank: int
    world_size: int
    state: int
    thread_level: int
    job: int
    begin_unix_ns: int
    begin_ticks: int
    begin_ns: int
    latest_ticks: int
    latest_ns: int
    receives: tuple[int, int, int, int]
    span_ticks: int
    usage: tuple[int, ...]  # values of `USAGE`; empty in version 1, where they are facts
    latest: tuple[int, ...]  # left_ticks, polled_ticks and polled; empty before version 6
    sections: dict[str, tuple[int, int, int]]  # section → (offset, entries, lost entries)


def read_call(
    image: memoryview, head: ImageHead, names: list[tuple[str, str]], tick_s: float
) -> tuple[OpenCall | None, float, str]:
    """Return the call that the rank is in, the end of its latest call, and a polling function called since.

    The call is None outside MPI, and in records of earlier versions.
    """
    if "calls" not in head.sections:
        return None, 0.0, ""
    tables = _Tables(image, head, names, tick_s)
    left_ticks, polled_ticks, polled = head.latest
    polls = tables.function(polled) if polled_ticks > left_ticks else ""
    left_unix_s = tables.unix_s(left_ticks) if left_ticks else head.begin_unix_ns / 1e9
    started: dict[int, OpenCall] = {}
    current: OpenCall | None = None
    # Sorted by time of entrance, because a handle is used for several requests.
    for row in sorted(tables.rows("calls")):
        fields, other = row[7], row[5]
        if fields & _IN_FLIGHT:
            current = tables.call(row)
            if fields & _REQUESTS:
                handles = (other, row[2], row[4])[: max(0, current.requests)]
                calls = tuple(started[handle] for handle in handles if handle in started)
                current = replace(current, started=calls)
        elif fields & _REQUEST:
            started[other] = tables.call(row)
    return current, left_unix_s, polls


class _Tables:
    """Tables of an image that the calls refer to."""

    def __init__(
        self, image: memoryview, head: ImageHead, names: list[tuple[str, str]], tick_s: float
    ) -> None:
        self._image, self._head, self._names, self._tick_s = image, head, names, tick_s
        handles = [handle for (handle,) in self.rows("handles")]
        # A full table has no room for later communicators, which may have got the handles of earlier ones.
        is_full = head.sections["communicators"][2] > 0
        self._communicators = {
            handle: at for at, handle in enumerate(handles[: _WORLD + 1] if is_full else handles)
        }
        self._bytes = {row[0]: row[1] for row in self.rows("datatypes")}

    def rows(self, name: str) -> list[tuple[int, ...]]:
        """Return the rows of a section."""
        entry = {"calls": layout.CALL, "handles": layout.HANDLE, "datatypes": layout.DATATYPE}[name]
        offset, used, _ = self._head.sections[name]
        return list(entry.iter_unpack(self._image[offset : offset + used * entry.size]))

    def function(self, number: int) -> str:
        """Return the name of a function."""
        if number >= len(self._names):
            raise ValueError(f"a call refers to function {number} of {len(self._names)}")
        return self._names[number][0]

    def unix_s(self, ticks: int) -> float:
        """Return the time of a reading of the tick counter."""
        return self._head.begin_unix_ns / 1e9 + (ticks - self._head.begin_ticks) * self._tick_s

    def call(self, row: tuple[int, ...]) -> OpenCall:
        """Return the call of a row."""
        entered, address, communicator, count, datatype, other, function, fields, peer, tag = row
        has_amount, element_bytes = fields & _AMOUNT, self._bytes.get(datatype)
        amount = count * element_bytes if has_amount and element_bytes is not None else None
        return OpenCall(
            function=self.function(function),
            entered_unix_s=self.unix_s(entered),
            address=address,
            communicator=self._communicators.get(communicator) if fields & _COMMUNICATOR else None,
            peer=peer if fields & _PEER else None,
            source=_signed(other) if fields & _SOURCE else None,
            tag=tag if fields & _TAG else None,
            count=count if has_amount else None,
            bytes=amount if amount is not None and amount < _MOST_BYTES else None,
            requests=_signed(count) if fields & _REQUESTS else 0,
        )


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
