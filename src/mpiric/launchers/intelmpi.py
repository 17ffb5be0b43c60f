"""Intel MPI's hydra: the same options with more of its own; pins by variables.

Source: Intel MPI Library Developer Reference, "Global Hydra Options" and "Process Pinning".
"""

from re import fullmatch

from mpiric.launchers._banner import version_by
from mpiric.launchers._dialect import Dialect, Option, Words, flags, placement_above, valued
from mpiric.launchers._hydra import GRAMMAR, OPTIONS, WRITE
from mpiric.launchers._route import route_speller
from mpiric.launchers._words import words
from mpiric.model.count import count_of
from mpiric.model.job import Meaning
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling

_DOMAINS = {"core": "core", "l3": "cache3", "numa": "numa", "package": "socket"}
_ORDERS = {"compact": "compact", "spread-numa": "scatter", "spread-package": "scatter"}


def _variables(**variables: str) -> Spelling:
    """As options, so that those of several knobs are joined before they become variables."""
    return Spelling(options=tuple(("-genv", name, value) for name, value in variables.items()))


def _binding(_situation: Situation, value: str) -> Spelling | None:
    if value == "none":
        return _variables(I_MPI_PIN="0")
    if value == "hwthread":
        return _variables(I_MPI_PIN="1", I_MPI_PIN_CELL="unit", I_MPI_PIN_DOMAIN="1")
    return _variables(I_MPI_PIN="1", I_MPI_PIN_DOMAIN=_DOMAINS[value]) if value in _DOMAINS else None


def _mapping(situation: Situation, value: str) -> Spelling | None:
    if value == "node-round-robin":
        return Spelling(options=(("-perhost", "1"),)) if situation.nodes > 1 else None
    return _variables(I_MPI_PIN_ORDER=_ORDERS[value]) if value in _ORDERS else None


def _threads(_situation: Situation, value: str) -> Spelling | None:
    """Domains are measured in hardware threads."""
    if not count_of(value):
        return None
    return _variables(I_MPI_PIN="1", I_MPI_PIN_DOMAIN=f"{value}:compact")


def _merge(meaning: Meaning, under: str, over: str) -> str | None:
    """Two values of one pinning variable: off stays off, a wide domain stays wide, a core gives way."""
    if meaning is not Meaning.ENVIRONMENT:
        return placement_above(meaning, under, over)
    pair = {under, over}
    if pair == {"0", "1"}:
        return "0"
    sized = [value for value in (under, over) if fullmatch(r"\d+:compact", value)]
    levels = [value for value in (under, over) if value in _DOMAINS.values()]
    if len(sized) == 1 and len(levels) == 1:
        return sized[0] if levels[0] == "core" else levels[0]
    return None


def _write_binding(values: Words) -> Words:
    """As variables of the ranks, the way Intel MPI pins."""
    name, value = ("I_MPI_PIN", "0") if values[0] == "none" else ("I_MPI_PIN_DOMAIN", values[0])
    return ("-genv", name, value)


DIALECT = Dialect(
    name="intelmpi",
    launcher_names=words("mpirun mpiexec mpiexec.hydra mpiexec.impi mpirun.impi"),
    grammar=GRAMMAR,
    options=(
        *(option for option in OPTIONS if "ppn" not in option.names),
        Option(("ppn", "perhost", "grr"), 1, Meaning.RANKS_PER_NODE, variable="I_MPI_PERHOST"),
        Option(("rr",), 0, Meaning.RANKS_PER_NODE, implied="1"),
        Option(("cpu-bind",), 1, Meaning.BINDING),
        Option(("s",), 1, Meaning.STDIN),
        *flags("aps mps gdb gdb-ia tv tva trace trace-imbalance trace-pt2pt trace-collectives check_mpi"),
        *flags("check-mpi check ilp64 silent-abort nolocal print-rank-map prepend-timestamp prot noconf"),
        *flags("ordered-output pmi-aggregate pmi-noaggregate V v6"),
        *valued("genvexcl path gdb-args gdba gtool gtoolfile hosts-group tune tmpdir gpath gwdir r rsh"),
        *valued("bootstrap-exec-args pmi-connect branch-count use-app-topology"),
        *valued("binding bind-to map-by membind"),  # taken and ignored
    ),
    recognise_version=version_by(r"Intel\(R\) MPI Library[^\n]*?Version (\S+)"),
    write={
        **WRITE,
        Meaning.BINDING: _write_binding,
        Meaning.THREADS_PER_RANK: lambda values: ("-genv", "I_MPI_PIN_DOMAIN", f"{values[0]}:compact"),
    },
    merge=_merge,
    spellings={
        "binding": _binding,
        "mapping": _mapping,
        "threads-per-rank": _threads,
        "launch-route": route_speller,
    },
    host_file_format="hydra",
    binding_words={"none": "none", **_DOMAINS},
)
