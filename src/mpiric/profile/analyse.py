"""Analysis of a record: Record → Profile."""

from dataclasses import replace

from mpiric.model.profile import Profile
from mpiric.model.record import RankState, Record
from mpiric.profile import cells, traffic
from mpiric.profile.advise import advise
from mpiric.profile.communicators import by_collective, by_communicator, labels
from mpiric.profile.efficiency import efficiencies
from mpiric.profile.expected import expected_numbers
from mpiric.profile.files import file_totals
from mpiric.profile.numbers import (
    affinity_numbers,
    balance_numbers,
    counter_numbers,
    io_numbers,
    message_numbers,
    system_numbers,
    time_numbers,
)
from mpiric.profile.ranks import rank_uses
from mpiric.profile.sites import site_uses
from mpiric.profile.timeline import excess_numbers, timeline_of
from mpiric.profile.waiting import Waiting

_SHORT_S = 0.1
_IN_MEMORY = "record.in_memory"
_LIBRARY_PREFIX = "library."  # prefix of facts that the library reports


def analyse(record: Record, command: str = "") -> Profile:
    """Analyse a record; ``command`` is the user's command line, if known."""
    waiting, names = Waiting(record), labels(record)
    functions, ranks, files = cells.by_function(record), rank_uses(record), file_totals(record)
    collectives = by_collective(record, names, waiting)
    p2p = traffic.between_ranks(record, traffic.POINT_TO_POINT)
    nodes, places = traffic.nodes_of(record)
    regions = cells.by_region(record)
    efficiency = efficiencies(record, waiting)
    inside = tuple(use for use in functions if use.name not in cells.OUTSIDE)
    numbers = {
        "ranks": record.world_size,
        "wall_s": max((rank.wall_s for rank in ranks), default=0.0),
        **time_numbers(inside, collectives, ranks),
        **message_numbers(record, p2p, places),
        **balance_numbers(ranks, efficiency),
        **system_numbers(record),
        **counter_numbers(record),
        **io_numbers(files, ranks),
        **affinity_numbers(ranks),
    }
    numbers |= expected_numbers(record, waiting, ranks, collectives, numbers)
    # Start-up of the rank that waits least for others in it.
    numbers["start_up_s"] = min(map(cells.outside_s, record.ranks), default=0.0)
    numbers["start_up_share"] = numbers["start_up_s"] / max(1e-9, numbers["start_up_s"] + numbers["wall_s"])
    timeline = timeline_of(record, [region.name for region in regions])
    numbers |= excess_numbers(timeline)
    profile = Profile(
        command=command or _fact(record, "command"),
        mpi=_mpi(record),
        library=_library(record),
        world_size=record.world_size,
        wall_s=numbers["wall_s"],
        mpi_share=numbers["mpi_share"],
        efficiencies=efficiency,
        functions=functions,
        sizes=cells.by_size(record),
        communicators=by_communicator(record, names),
        collectives=collectives,
        regions=regions,
        timeline=timeline,
        ranks=ranks,
        files=files,
        sites=site_uses(record),
        p2p=p2p,
        one_sided=traffic.between_ranks(record, traffic.ONE_SIDED),
        nodes=nodes,
        node_traffic=traffic.between_nodes(p2p, places),
        numbers=numbers,
        notes=_notes(record),
    )
    return replace(profile, advice=advise(profile))


def _fact(record: Record, key: str) -> str:
    return next((rank.facts[key] for rank in record.ranks if key in rank.facts), "")


def _mpi(record: Record) -> str:
    """Return the first words of the library's version: ``Open MPI v4.1.4``, ``MPICH Version: 4.0.2``."""
    parts = _fact(record, "mpi.version").split(",")[0].split()
    return " ".join(parts[:3]) or _fact(record, "mpi.family")


def _library(record: Record) -> dict[str, str]:
    """Return what the library reported to rank 0 through MPI_T about its algorithms and transports."""
    facts = ((key, value) for rank in record.ranks for key, value in rank.facts.items())
    return {
        key.removeprefix(_LIBRARY_PREFIX): value for key, value in facts if key.startswith(_LIBRARY_PREFIX)
    }


def _notes(record: Record) -> tuple[str, ...]:
    notes = []
    if record.ranks and max(rank.wall_s for rank in record.ranks) < _SHORT_S:
        notes.append("the run is very short: counts are exact, but shares of time are unreliable")
    if (threads := max(map(cells.threads_in_mpi, record.ranks), default=1)) > 1:
        notes.append(
            f"up to {threads} threads of a rank are in MPI at once: shares refer to the time of all threads"
        )
    if record.missing:
        notes.append(
            f"{len(record.missing)} of {record.world_size} ranks left no data: {_listed(record.missing)}"
        )
    ended = [rank.rank for rank in record.ranks if rank.state is not RankState.FINALIZED]
    if ended:
        notes.append(f"ranks that did not reach MPI_Finalize (their records are partial): {_listed(ended)}")
    in_memory = {rank.rank: rank.facts[_IN_MEMORY] for rank in record.ranks if _IN_MEMORY in rank.facts}
    if in_memory:
        why = ", ".join(sorted(set(in_memory.values())))
        notes.append(
            f"ranks that could not create a file ({why}) and kept their record in memory: "
            f"{_listed(list(in_memory))}"
        )
    for table in sorted({name for rank in record.ranks for name in rank.lost}):
        lost = sum(rank.lost.get(table, 0) for rank in record.ranks)
        notes.append(f"no space for {lost} entries of {table}: these numbers are too small")
    return tuple(notes)


def _listed(ranks: tuple[int, ...] | list[int], limit: int = 10) -> str:
    text = ", ".join(str(rank) for rank in ranks[:limit])
    return f"{text}, …" if len(ranks) > limit else text
