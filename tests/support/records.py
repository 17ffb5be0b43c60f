"""Records made by hand, whose derived numbers can be computed mentally."""

from mpiric.model.record import (
    CallCell,
    CommunicatorRow,
    FileUse,
    Peer,
    RankRecord,
    RankState,
    ReceiveTiming,
    Record,
    Region,
    Timeline,
    TrafficKind,
)

CLASSES = {"MPI_Init": "manage", "MPI_Send": "send", "MPI_Recv": "receive", "MPI_Allreduce": "collective"}
WORLD = CommunicatorRow(99, 0, 2, 0, 0, False, False, True, "MPI_COMM_WORLD")


def cell(
    function: str, calls: int, bytes_: int, time_s: float, *, size_bin: int = 0, waited_s: float = 0.0
) -> CallCell:
    mean = time_s / calls if calls else 0.0
    histogram = (0,) * 32
    return CallCell(function, 0, 0, size_bin, calls, bytes_, calls, time_s, mean, mean, waited_s, histogram)


def rank(number: int, wall_s: float, *cells: CallCell, **changed: object) -> RankRecord:
    values = {
        "rank": number,
        "state": RankState.FINALIZED,
        "job": 1,
        "begin_unix_s": 0.0,
        "wall_s": wall_s,
        "thread_level": 0,
        "cells": cells,
        "communicators": (WORLD,),
        "peers": (),
        "regions": (Region("(program)", 1, wall_s),),
        "files": (),
        "sites": (),
        "receives": ReceiveTiming(0, 0, 0, 0),
        "timeline": Timeline(0.0),
        "facts": {"host": "n1", "affinity": str(number)},
        "lost": {},
        **changed,
    }
    return RankRecord(**values)


def record(*ranks: RankRecord, world_size: int | None = None) -> Record:
    return Record(world_size or len(ranks), CLASSES, ranks)


def sent(to: int | None, messages: int, bytes_: int, kind: TrafficKind = TrafficKind.MESSAGE) -> Peer:
    return Peer(to, kind, messages, bytes_)


def file(path: str, **changed: object) -> FileUse:
    numbers = dict.fromkeys(FileUse.__dataclass_fields__, 0)
    return FileUse(**{**numbers, "path": path, "interface": "posix", **changed})
