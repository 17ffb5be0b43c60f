"""Cray's ``aprun`` (ALPS): short options, some of two letters after one dash.

A plan is ranks per NUMA node and depth, or a list of CPUs for each rank: each thread of a rank is bound to
the next CPU of its list, so a core is named by its first hardware thread.
Source: aprun(1) and "Run Applications Using the aprun Command" (HPE, S-2496); not run here.
"""

from collections.abc import Sequence

from mpiric.launchers._dialect import Dialect, Grammar, Option, assignment, flags, separate, valued
from mpiric.launchers._openmp import openmp_variables
from mpiric.launchers._placement import by_depth, by_word, ranks_per_node
from mpiric.launchers._shape import fillings
from mpiric.launchers._uneven import PROGRAM, REPEATED, shared_variables
from mpiric.model.banner import version_by
from mpiric.model.core_set import Level
from mpiric.model.job import Meaning
from mpiric.model.placement import Emission, HugePages, Plan
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_BINDING = {"none": "none", "core": "cpu", "numa": "numa_node"}

_OPTIONS = (
    Option(("n", "pes"), 1, Meaning.RANKS),
    Option(("N", "pes-per-node"), 1, Meaning.RANKS_PER_NODE),
    Option(("d", "cpus-per-pe"), 1, Meaning.THREADS_PER_RANK),
    Option(("L", "node-list"), 1, Meaning.HOSTS),
    Option(("l", "node-list-file"), 1, Meaning.HOSTFILE),
    Option(("e", "environment-override"), 1, Meaning.ENVIRONMENT),
    Option(("cc", "cpu-binding"), 1, Meaning.BINDING),
    Option(("S", "pes-per-numa-node"), 1, Meaning.MAPPING),
    Option(("ss", "strict-memory-containment"), 0, Meaning.MEMORY_BINDING, implied="strict"),
    *flags("b bypass-app-transfer B batch-args C reconnect P pipes T sync-output q quiet z zone-sort"),
    *flags("help h version V"),
    *valued("a architecture cp cpu-binding-file D debug F access-mode j cpus-per-cu m memory-per-pe"),
    *valued("p protection-domain r specialized-cpus R relaunch sl numa-node-list sn numa-nodes-per-node"),
    *valued("t cpu-time-limit mpmd-env w"),
)


def _mapping(situation: Situation, value: str) -> Spelling | None:
    """Ranks fill a NUMA node before the next unless their number on each is limited."""
    nodes = len(situation.machine.topology.numa_nodes)
    ranks = ranks_per_node(situation)
    if value != "spread-numa" or ranks is None or nodes < 2:
        return None
    return Spelling(options=(("-S", str(-(-ranks // nodes))),))


_HUGE = {HugePages.UNSAID: "", HugePages.PREFERRED: "h", HugePages.REQUIRED: "hs"}


def _emit(plan: Plan) -> Emission:
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
    # A rank wider than a NUMA node would get the memory of one only.
    if len(plan.topology.numa_nodes) > 1 and within:
        words += [*_per_numa(plan), "-ss"]
    whole = any(len(thread) > 1 for seat in plan.seats for thread in seat.threads)
    note = "-j 1 names a core by its first hardware thread" if whole else ""
    return Emission(
        (*words, "-cc", _planned_binding(plan)), openmp_variables(plan), exact=not note, note=note
    )


def _per_numa(plan: Plan) -> tuple[str, ...]:
    counts = {node.index: 0 for node in plan.topology.numa_nodes if node.pus}
    for seat in plan.seats:
        counts[seat.numa] += 1
    return ("-S", str(counts.popitem()[1])) if len(set(counts.values())) == 1 else ()


def _planned_binding(plan: Plan) -> str:
    if fillings(plan, (Level.NUMA,)):
        return "depth"
    return ":".join(",".join(str(thread[0]) for thread in seat.threads) for seat in plan.seats)


def _emit_uneven(plans: Sequence[Plan]) -> Emission:
    """A section for each kind of node (MPMD): its ``-L``, ``-N``, ``-S`` and ``-cc`` are its own."""
    first, *others = (_emit(plan) for plan in plans)
    words = [*first.argv]
    for other in others:
        words += [PROGRAM, ":", *other.argv[1:]]
    every = (first, *others)
    notes = dict.fromkeys(filter(None, (*(each.note for each in every), REPEATED)))
    exact = all(each.exact for each in every)
    return Emission(tuple(words), shared_variables(plans), exact=exact, note="; ".join(notes))


DIALECT = Dialect(
    name="aprun",
    launcher_names=("aprun",),
    grammar=Grammar(equals=True, long_after_one_dash=True, attached_values=True, flags_together=True),
    options=_OPTIONS,
    recognise_version=version_by(r"aprun \(ALPS\) (\S+)"),
    write={
        **separate(
            {
                Meaning.RANKS: "-n",
                Meaning.RANKS_PER_NODE: "-N",
                Meaning.THREADS_PER_RANK: "-d",
                Meaning.HOSTS: "-L",
                Meaning.BINDING: "-cc",
            }
        ),
        Meaning.ENVIRONMENT: assignment("-e"),
    },
    spellings={
        "binding": by_word(_BINDING, lambda word: ("-cc", word)),
        "mapping": _mapping,
        "threads-per-rank": by_depth("-d", "-cc"),
    },
    neutral=True,
    environment_in_every_segment=True,
    binding_words=_BINDING,
    emit=_emit,
    emit_uneven=_emit_uneven,
)
