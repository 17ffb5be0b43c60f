"""Why a curve bends: efficiencies of two recorded sizes in the terms of the POP model."""

from mpiric.lab.directory_runs import Recorded
from mpiric.model.amount import share
from mpiric.model.scaling import Factors, Size, SizeResult

_NOTICED = 0.97  # ratio of a factor at two sizes below which it is a cause
_FILES = 0.05  # growth of the share of file operations that is a cause


def factors_of(size: Size, recorded: Recorded) -> Factors:
    """Return the efficiencies of a recorded run."""
    profile = recorded.profile
    efficiencies = profile.efficiencies
    time_s = sum(rank.wall_s for rank in profile.ranks)
    files = sum(rank.io_s for rank in profile.ranks) / time_s if time_s else 0.0
    return Factors(
        size,
        efficiencies.load_balance,
        efficiencies.serialisation,
        efficiencies.transfer,
        files,
        efficiencies.parallel,
    )


def causes_of(
    small: SizeResult, large: SizeResult, before: Factors, after: Factors, *, is_weak: bool
) -> list[str]:
    """Return the causes of the loss of efficiency from the smaller to the larger size, the largest first.

    The loss is the product of the changes of load balance, serialisation, transfer and useful time; the last
    one is what remains of the measured efficiency.
    """
    efficiency = large.efficiency.value / small.efficiency.value
    useful = after.useful / before.useful if before.useful else 1.0
    losses = {
        "load balance": _ratio(after.load_balance, before.load_balance),
        "waiting": _ratio(after.serialisation, before.serialisation),
        "transfer": _ratio(after.transfer, before.transfer),
        "computing": efficiency / useful if useful else 1.0,
    }
    sentences = {
        "load balance": "ranks have unequal work: some compute longer, and the others wait for them",
        "waiting": "ranks wait in MPI for one another or for late messages (serialisation)",
        "transfer": "messages take a larger share of the time: transfer between ranks",
        "computing": _computing(small.size, large.size, before, after, is_weak=is_weak),
    }
    ordered = sorted((ratio, name) for name, ratio in losses.items() if ratio < _NOTICED)
    return [f"{sentences[name]} (efficiency × {ratio:.2f})" for ratio, name in ordered]


def _computing(small: Size, large: Size, before: Factors, after: Factors, *, is_weak: bool) -> str:
    """Return why the time outside MPI grows."""
    if after.files - before.files > _FILES:
        return f"file operations take {share(after.files)} of the time instead of {share(before.files)}"
    more = "computing takes more time" if is_weak else "computing takes more core time"
    if large.cores / large.nodes > small.cores / small.nodes:
        return (
            f"{more} in total. Either the cores of a node share memory bandwidth and clock frequency, or "
            "every rank repeats a serial part; the same number of ranks on more nodes shows which"
        )
    return f"{more} in total: every rank repeats a serial part"


def _ratio(after: float, before: float) -> float:
    return after / before if before else 1.0
