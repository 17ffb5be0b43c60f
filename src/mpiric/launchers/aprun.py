"""Cray's ``aprun`` (ALPS): short options, some of two letters after one dash.

A plan becomes ranks per NUMA node and depth, or a list of CPUs for each rank: each thread of a rank is bound
to the next CPU of its list, so a core is named by its first hardware thread. Sources: aprun(1) and "Run
Applications Using the aprun Command" (HPE, S-2496); not tested on such a system.
"""

from collections.abc import Sequence

from mpiric.launchers._dialect import Dialect, Grammar, Option, assignment, flags, separate, valued
from mpiric.launchers._emission import PROGRAM, REPEATED, fillings, openmp_variables, shared_variables
from mpiric.launchers._spellers import by_depth, by_word, ranks_per_node
from mpiric.model.amount import version_by
from mpiric.model.job import Meaning, Spelling
from mpiric.model.machine import Level
from mpiric.model.placement import Emission, HugePages, Plan
from mpiric.model.situation import Situation

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
    """Limit the ranks on each NUMA node; by default, ranks fill a node before the next one."""
    nodes = len(situation.machine.topology.numa_nodes)
    ranks = ranks_per_node(situation)
    if value != "spread-numa" or ranks is None or nodes < 2:
        return None
    return Spelling(options=(("-S", str(-(-ranks // nodes))),))


_HUGE = {HugePages.UNSAID: "", HugePages.PREFERRED: "h", HugePages.REQUIRED: "hs"}


def _emit(plan: Plan) -> Emission:
    """Return the options of ``aprun``."""
    request = plan.request
    smt = max(len(core.pus) for core in plan.topology.cores)
    shared = any(len(seat.cores) < plan.threads for seat in plan.seats)
    argv = ["aprun", "-n", str(request.ranks), "-N", str(plan.ranks_per_node), "-d", str(plan.threads)]
    argv += ["-j", str(smt if shared else 1)]
    if request.memory_mib:
        argv += ["-m", f"{request.memory_mib}{_HUGE[request.huge_pages]}"]
    if plan.hosts:
        argv += ["-L", ",".join(plan.hosts)]
    within = all(len({core.numa_node for core in seat.cores}) == 1 for seat in plan.seats)
    # A rank wider than a NUMA node would only get the memory of one node.
    if len(plan.topology.numa_nodes) > 1 and within:
        counts = {node.index: 0 for node in plan.topology.numa_nodes if node.pus}
        for seat in plan.seats:
            counts[seat.numa] += 1
        argv += [*(("-S", str(counts.popitem()[1])) if len(set(counts.values())) == 1 else ()), "-ss"]
    has_full_cores = any(len(thread) > 1 for seat in plan.seats for thread in seat.threads)
    note = "-j 1 names a core by its first hardware thread" if has_full_cores else ""
    return Emission((*argv, "-cc", _planned_binding(plan)), openmp_variables(plan), exact=not note, note=note)


def _planned_binding(plan: Plan) -> str:
    if fillings(plan, (Level.NUMA,)):
        return "depth"
    return ":".join(",".join(str(thread[0]) for thread in seat.threads) for seat in plan.seats)


def _emit_uneven(plans: Sequence[Plan]) -> Emission:
    """Return a section for each kind of node (MPMD) with its own ``-L``, ``-N``, ``-S`` and ``-cc``."""
    first, *more = (_emit(plan) for plan in plans)
    argv = [*first.argv]
    for other in more:
        argv += [PROGRAM, ":", *other.argv[1:]]
    sections = (first, *more)
    notes = dict.fromkeys(filter(None, (*(section.note for section in sections), REPEATED)))
    exact = all(section.exact for section in sections)
    return Emission(tuple(argv), shared_variables(plans), exact=exact, note="; ".join(notes))


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
    binding_words=_BINDING,
    rank_variable="ALPS_APP_PE",
    emit=_emit,
    emit_uneven=_emit_uneven,
)
