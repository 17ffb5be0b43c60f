"""The choice of the calls that are marks: the rarest even collective of all ranks, else the rarest send."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from mpiric.model.pace import KeyPace, MarkKey, RankPace, RunPace
from mpiric.tuning.marks.evenness import LEAST_CALLS, is_even

_COLLECTIVES = frozenset(
    "barrier bcast gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv alltoallw reduce "
    "allreduce reduce_scatter reduce_scatter_block scan exscan".split()
)
_SENDS = frozenset("send bsend ssend rsend sendrecv sendrecv_replace start startall".split())
_LATE_BY, _LATE_SHARE = 2, 0.02  # calls that ranks looked at at different moments may differ by, the larger


@dataclass(frozen=True)
class MarkChoice:
    """The key whose calls are marks, None with a sentence that says why there is none."""

    key: MarkKey | None
    why: str
    on_rank_0_alone: bool = False  # master and workers: the others make no such calls, or as it happens
    few_calls: bool = False  # none comes often enough to count anything: there is no MPI in the loop


def choose_key(pace: RunPace) -> MarkChoice:
    """Choose from one run of the original, seen to its end or not."""
    first = pace.first_rank
    if first is None:
        return MarkChoice(None, "rank 0 left nothing of its calls")
    others = [rank for rank in pace.ranks if rank.rank != 0]
    for kind, name in ((is_collective, "collective of all ranks"), (is_send, "send")):
        found = _rarest(first, others, pace.world_size, collective=kind is is_collective)
        if found is not None:
            choice, on_all = found
            why = f"the rarest {name} that comes evenly, {choice.calls} times in {first.seen_s:.3g} s"
            return MarkChoice(choice.key, why, on_rank_0_alone=not on_all)
    made = max((each.calls for each in first.keys if may_be_mark(each.key.function)), default=0)
    late = max((calls_after(each, first.seen_s / 2) for each in first.keys), default=0)
    why = "no collective of all ranks and no send comes evenly"
    if made < LEAST_CALLS:
        why = f"no call came more than {made} times in {first.seen_s:.3g} s"
    return MarkChoice(None, why, few_calls=late < LEAST_CALLS)


def calls_after(pace: KeyPace, time_s: float) -> int:
    """How many calls came after a time, as far as the times that are kept tell."""
    return pace.stride * sum(at_s >= time_s for at_s in pace.times_s)


def _rarest(
    first: RankPace, others: list[RankPace], world_size: int, *, collective: bool
) -> tuple[KeyPace, bool] | None:
    """The key, and whether all ranks make its calls equally often."""
    wanted = [
        each
        for each in first.keys
        if (
            is_collective(each.key.function) and each.key.ranks == world_size
            if collective
            else is_send(each.key.function)
        )
        and is_even(each.times_s, each.stride, first.seen_s)
    ]
    alike = [(each, _made_by_all(each, others)) for each in wanted]
    # A collective that only some ranks call from this place is no mark of all.
    chosen = [(each, on_all) for each, on_all in alike if on_all or not collective]
    return min(chosen, key=lambda pair: (not pair[1], pair[0].calls, pair[0].key), default=None)


def _made_by_all(pace: KeyPace, others: Iterable[RankPace]) -> bool:
    late_by = max(_LATE_BY, _LATE_SHARE * pace.calls)
    return all(
        (own := rank.of(pace.key)) is not None and abs(own.calls - pace.calls) <= late_by for rank in others
    )


def without_places(pace: RunPace) -> RunPace:
    """The same run with calls told apart by function and communicator only: places change with a rebuild."""
    return merge_keys(pace, lambda key: replace(key, place=""))


def with_own_places(pace: RunPace) -> RunPace:
    """The same run without places in an MPI library, as those of Fortran's layer: others have others."""
    return merge_keys(pace, own_key)


def without_key(pace: RunPace, key: MarkKey) -> RunPace:
    """Return the same run without the calls of one key."""
    ranks = tuple(
        replace(rank, keys=tuple(pace_ for pace_ in rank.keys if pace_.key != key)) for rank in pace.ranks
    )
    return replace(pace, ranks=ranks)


def own_key(key: MarkKey) -> MarkKey:
    """The key, without a place that lies in an MPI library."""
    return replace(key, place="") if key.place.startswith("libmpi") or not key.place else key


def merge_keys(pace: RunPace, key_of: Callable[[MarkKey], MarkKey]) -> RunPace:
    """The same run with keys renamed; those of one name become one."""
    ranks = tuple(replace(rank, keys=tuple(_merged(rank.keys, key_of))) for rank in pace.ranks)
    return replace(pace, ranks=ranks)


def _merged(paces: Iterable[KeyPace], key_of: Callable[[MarkKey], MarkKey]) -> Iterable[KeyPace]:
    groups: dict[MarkKey, list[KeyPace]] = defaultdict(list)
    for each in paces:
        groups[key_of(each.key)].append(each)
    for key, group in groups.items():
        if len(group) == 1:
            yield replace(group[0], key=key)
            continue
        # One of several strides cannot be thinned to a common one: the coarsest samples all of them evenly.
        stride = max(each.stride for each in group)
        times = sorted(time_s for each in group for time_s in each.times_s[:: stride // each.stride])
        yield KeyPace(key, sum(each.calls for each in group), stride, tuple(times))


def may_be_mark(function: str) -> bool:
    """Whether as many calls are made in every run of the same work: not of polls, waits and receives."""
    return is_collective(function) or is_send(function)


def is_collective(function: str) -> bool:
    """Whether all ranks of a communicator make this call together; blocking, nonblocking or persistent."""
    stem = _stem(function)
    return stem in _COLLECTIVES or (stem.startswith("i") and stem[1:] in _COLLECTIVES)


def is_send(function: str) -> bool:
    """Whether the call sends a message or starts persistent ones."""
    stem = _stem(function)
    return stem in _SENDS or (stem.startswith("i") and stem[1:] in _SENDS)


def _stem(function: str) -> str:
    """The name without what it has in common with others; functions of large counts, as mpi4py calls, too."""
    return function.removeprefix("MPI_").removesuffix("_c").lower()
