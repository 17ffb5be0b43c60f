"""Cray's ``aprun`` (ALPS): short options, some of two letters after one dash.

Source: aprun(1) and "Run Applications Using the aprun Command" (HPE, S-2496); not run here.
"""

from mpiric.launchers._banner import version_by
from mpiric.launchers._dialect import Dialect, Grammar, Option, flags, valued
from mpiric.launchers._placement import by_word, ranks_per_node
from mpiric.model.count import count_of
from mpiric.model.job import Meaning
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


def _threads(_situation: Situation, value: str) -> Spelling | None:
    return Spelling(options=(("-d", value), ("-cc", "depth"))) if count_of(value) else None


DIALECT = Dialect(
    name="aprun",
    launcher_names=("aprun",),
    grammar=Grammar(equals=True, long_after_one_dash=True, attached_values=True, flags_together=True),
    options=_OPTIONS,
    recognise_version=version_by(r"aprun \(ALPS\) (\S+)"),
    write={
        Meaning.RANKS: lambda values: ("-n", *values),
        Meaning.RANKS_PER_NODE: lambda values: ("-N", *values),
        Meaning.THREADS_PER_RANK: lambda values: ("-d", *values),
        Meaning.HOSTS: lambda values: ("-L", *values),
        # aprun passes on all of its own environment.
        Meaning.ENVIRONMENT: lambda values: ("-e", "=".join(values)) if len(values) == 2 else (),
        Meaning.BINDING: lambda values: ("-cc", *values),
    },
    spellings={
        "binding": by_word(_BINDING, lambda word: ("-cc", word)),
        "mapping": _mapping,
        "threads-per-rank": _threads,
    },
    neutral=True,
    environment_in_every_segment=True,
    binding_words=_BINDING,
)
