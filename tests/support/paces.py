"""Made-up paces: calls of a key at given times, thinned as the runtime thins them."""

from collections.abc import Mapping, Sequence

from mpiric.model.pace import KeyPace, MarkKey, RankPace, RunPace

KEPT = 64


def key(function: str = "MPI_Allreduce", place: str = "app+0x10", ranks: int = 4, birth: int = 0) -> MarkKey:
    return MarkKey(function, place, ranks, birth)


def key_pace(which: MarkKey, times_s: Sequence[float]) -> KeyPace:
    """Return the pace of all calls of a key; every second time is dropped when 64 are stored."""
    stride = 1
    while len(times_s[::stride]) > KEPT:
        stride *= 2
    return KeyPace(which, len(times_s), stride, tuple(times_s[::stride]))


def run_pace(calls: Mapping[MarkKey, Sequence[float]], seen_s: float, ranks: int = 4) -> RunPace:
    """Return a run in which all ranks make the same calls."""
    paces = tuple(key_pace(which, times) for which, times in calls.items())
    return RunPace(ranks, tuple(RankPace(rank, seen_s, paces) for rank in range(ranks)))


def steps(count: int, each_s: float, start_s: float = 0.0) -> list[float]:
    return [start_s + number * each_s for number in range(count)]
