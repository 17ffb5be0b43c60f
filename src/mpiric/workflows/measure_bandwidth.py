"""How many cores, and how far apart, draw the whole bandwidth of a NUMA node: STREAM's triad over subsets."""

import json
from collections.abc import Callable

from mpiric.host.host import Host
from mpiric.host.native import native_part
from mpiric.model.errors import MpiricError
from mpiric.model.machine import Core, Machine
from mpiric.model.placement import Bandwidth
from mpiric.placement.grounds import Grounds, Level
from mpiric.placement.saturation import saturation_of, sweep

Say = Callable[[str], None]

_REPEATS = 10  # the best of which counts, as STREAM reports it
_LIMIT_S = 120.0


def measure_bandwidth(host: Host, machine: Machine, say: Say) -> tuple[Bandwidth, ...]:
    """On the largest NUMA node, then the whole node with the winner's cores and with all of them.

    Raises MpiricError when the probe fails: bandwidth that was not measured is not made up.
    """
    usable = set(machine.usable_pus)
    cores = tuple(core for core in machine.topology.cores if usable.intersection(core.pus))
    domains = [domain.cores for domain in Grounds(machine.topology, cores).domains(Level.NUMA)]
    largest = max(domains, key=len)
    found = [
        _measured(host, largest[::spacing][:number], usable, spacing, "numa", say)
        for number, spacing in sweep(len(largest))
    ]
    best = saturation_of(tuple(found))
    if len(domains) > 1 and best:
        some = [core for domain in domains for core in domain[:: best.spacing][: best.cores]]
        found.append(_measured(host, tuple(some), usable, best.spacing, "node", say))
        if len(some) < len(cores):
            found.append(_measured(host, cores, usable, 1, "node", say))
    return tuple(found)


def _measured(
    host: Host, cores: tuple[Core, ...], usable: set[int], spacing: int, domain: str, say: Say
) -> Bandwidth:
    pus = [str(next(pu for pu in core.pus if pu in usable)) for core in cores]
    done = host.run([native_part("probe-stream"), "--repeats", str(_REPEATS), *pus], timeout_s=_LIMIT_S)
    if done.status != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise MpiricError(
            f"memory bandwidth of {len(cores)} cores cannot be measured: {last}",
            hint="give a measurement of this machine with --bandwidth FILE",
        )
    mb_s = float(json.loads(done.stdout)["triad_mb_s"])
    say(f"{len(cores)} cores of a {domain}, spacing {spacing}: {mb_s:.0f} MB/s")
    return Bandwidth(len(cores), spacing, mb_s, domain)
