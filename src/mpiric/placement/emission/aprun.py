"""Cray's ``aprun`` (ALPS): ranks per NUMA node and depth, or a list of CPUs for each rank.

In a list each thread of a rank is bound to the next CPU, so a core is named by its first hardware thread.
Source: aprun(1) and "Run Applications Using the aprun Command" (HPE, S-2496); not run here.
"""

from collections.abc import Sequence

from mpiric.model.core_set import Level
from mpiric.model.placement import Emission, HugePages, Plan
from mpiric.placement.emission._shape import fillings
from mpiric.placement.emission._uneven import PROGRAM, REPEATED, shared_variables
from mpiric.placement.openmp import openmp_variables

_HUGE = {HugePages.UNSAID: "", HugePages.PREFERRED: "h", HugePages.REQUIRED: "hs"}


def emit(plan: Plan) -> Emission:
    """Options of ``aprun``."""
    request = plan.request
    smt = max(len(core.pus) for core in plan.topology.cores)
    shared = any(len(seat.cores) < plan.threads for seat in plan.seats)
    words = ["aprun", "-n", str(request.ranks), "-N", str(plan.ranks_per_node), "-d", str(plan.threads)]
    words += ["-j", str(smt if shared else 1)]
    if request.memory_mib:
        words += ["-m", f"{request.memory_mib}{_HUGE[request.huge_pages]}"]
    if plan.hosts:
        words += ["-L", ",".join(plan.hosts)]
    within = all(len({core.numa_node for core in seat.cores}) == 1 for seat in plan.seats)
    if (
        len(plan.topology.numa_nodes) > 1 and within
    ):  # a wider rank would get the memory of one NUMA node only
        words += [*_per_numa(plan), "-ss"]
    whole = any(len(thread) > 1 for seat in plan.seats for thread in seat.threads)
    note = "-j 1 names a core by its first hardware thread" if whole else ""
    return Emission((*words, "-cc", _binding(plan)), openmp_variables(plan), exact=not note, note=note)


def _per_numa(plan: Plan) -> tuple[str, ...]:
    counts = {node.index: 0 for node in plan.topology.numa_nodes if node.pus}
    for seat in plan.seats:
        counts[seat.numa] += 1
    return ("-S", str(counts.popitem()[1])) if len(set(counts.values())) == 1 else ()


def _binding(plan: Plan) -> str:
    if fillings(plan, (Level.NUMA,)):
        return "depth"
    return ":".join(",".join(str(thread[0]) for thread in seat.threads) for seat in plan.seats)


def emit_uneven(plans: Sequence[Plan]) -> Emission:
    """A section for each kind of node (MPMD): its ``-L``, ``-N``, ``-S`` and ``-cc`` are its own."""
    first, *others = (emit(plan) for plan in plans)
    words = [*first.argv]
    for other in others:
        words += [PROGRAM, ":", *other.argv[1:]]
    every = (first, *others)
    notes = dict.fromkeys(filter(None, (*(each.note for each in every), REPEATED)))
    exact = all(each.exact for each in every)
    return Emission(tuple(words), shared_variables(plans), exact=exact, note="; ".join(notes))
