"""Marks files made by hand, in the format of the runtime."""

import struct
from pathlib import Path

from mpiric.profile import marks_layout as layout

SECOND = 1_000_000_000
INIT_LEFT_NS = 5 * SECOND
INIT_S = 0.25  # time in MPI_Init


def marks_file(
    directory: Path,
    rank: int = 0,
    *,
    world: int = 2,
    job: int = 7,
    state: int = 4,
    flags: int = 0,
    begun_s: float = 1000.0,
    finalized_s: float | None = None,
    crossings: tuple[tuple[float, int, int], tuple[float, int, int]] | None = None,
    times_s: tuple[float, ...] = (),
    stride: int = 1,
    results: tuple[bytes, ...] = (),
    has_tables: bool = True,
) -> Path:
    """Write the file of a rank; ``crossings`` are s since MPI_Init, calls and bytes, half of them sends."""

    def since(seconds: float) -> int:
        return INIT_LEFT_NS + round(seconds * SECOND)

    at_marks = [
        [since(at_s), calls - calls // 2, size - size // 2, calls // 2, size // 2]
        for at_s, calls, size in crossings or ()
    ] or [[0] * 5, [0] * 5]
    tables = (
        layout.MARK_COMMUNICATOR.pack(4, 0).ljust(8 * layout.COMMUNICATOR_COUNT, b"\0")
        + layout.MODULE.pack(b"lmp").ljust(64 * layout.MODULE_COUNT, b"\0")
        + b"".join(results).ljust(layout.RESULT.size * layout.RESULT_COUNT, b"\0")
    )
    times_ns = [since(at_s) for at_s in times_s]
    head = layout.HEAD.pack(
        layout.FILE_MAGIC, layout.VERSION, state, layout.HEAD.size + has_tables * len(tables), rank, world,
        flags, 0, job, round(begun_s * SECOND), INIT_LEFT_NS - round(INIT_S * SECOND), INIT_LEFT_NS,
        0 if finalized_s is None else since(finalized_s), 10, 20,
        *at_marks[0], *at_marks[1], *at_marks[1][1:],
        20, 1 + len(times_ns) * stride, stride, len(times_ns),
        *times_ns, *[0] * (layout.TIME_COUNT - len(times_ns)),
        1, 1, len(results), 0, b"MPI_Allreduce@lmp+0x48f2@4.0:10,20",
    )  # fmt: skip
    path = directory / f"rank-{rank}.n1.{100 + rank + job}.marks"
    path.write_bytes(head + (tables if has_tables else b""))
    return path


def doubles(
    *values: float, offset: int = 0x48F2, module: int = 0, results: int = 20, digest: int = 0xABCD
) -> bytes:
    """Return a row of results whose latest values are these numbers."""
    last = struct.pack(f"<{len(values)}d", *values)
    return layout.RESULT.pack(
        offset, module, 0, b"MPI_Allreduce", results, digest, 1, 8, len(last), 0, last[: layout.LAST_BYTES]
    )
