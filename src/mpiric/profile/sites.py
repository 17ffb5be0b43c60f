"""Places in the program that MPI is called from."""

from collections import defaultdict

from mpiric.model.profile import SiteUse
from mpiric.model.record import Record


def site_uses(record: Record) -> tuple[SiteUse, ...]:
    """By return address, the most expensive first.

    Addresses are as mapped in the rank: ranks that map the program elsewhere have places of their own.
    """
    sums: dict[tuple[int, str], list[float]] = defaultdict(lambda: [0, 0, 0.0])
    for rank in record.ranks:
        for site in rank.sites:
            total = sums[site.address, site.function]
            total[0] += site.calls
            total[1] += site.bytes
            total[2] += site.time_s
    uses = [
        SiteUse(f"{address:#x}", function, int(calls), int(moved), time_s)
        for (address, function), (calls, moved, time_s) in sums.items()
    ]
    return tuple(sorted(uses, key=lambda use: (-use.time_s, use.place)))
