"""hydra of Intel MPI: the same options and more; it binds by variables.

A plan becomes a list of masks, one per rank of a node: ``I_MPI_PIN_DOMAIN=[m1,…,mn]``, hexadecimal, with the
numbers of the kernel; or ``I_MPI_PIN_PROCESSOR_LIST`` for one hardware thread per rank.
Source: Intel MPI Library Developer Reference, "Global Hydra Options" and "Process Pinning".
"""

from collections.abc import Sequence
from re import fullmatch
from shlex import split

from mpiric.launchers._dialect import (
    Dialect,
    Option,
    Scope,
    Speller,
    Words,
    flags,
    placement_above,
    valued,
    words,
)
from mpiric.launchers._emission import PROGRAM, REPEATED, hosts_with_ranks, openmp_variables, shared_variables
from mpiric.launchers._spellers import route_speller
from mpiric.launchers.hydra import GRAMMAR, HOSTS, OPTIONS, SPELLINGS, WRITE, write_in_segment
from mpiric.model.amount import count_of, version_by
from mpiric.model.job import Meaning, Spelling
from mpiric.model.machine import pu_mask
from mpiric.model.placement import Emission, Plan
from mpiric.model.situation import Situation

_DOMAINS = {"core": "core", "l3": "cache3", "numa": "numa", "package": "socket"}
_ORDERS = {"compact": "compact", "spread-numa": "scatter", "spread-package": "scatter"}


def _variables(**variables: str) -> Spelling:
    """Write variables as options, so that values of several knobs are joined before they are set."""
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
    """Set the size of domains, which is counted in hardware threads."""
    if not count_of(value):
        return None
    return _variables(I_MPI_PIN="1", I_MPI_PIN_DOMAIN=f"{value}:compact")


def _as_variables(speller: Speller) -> Speller:
    """Return a speller that sets plain variables; None for options other than ``-genv``."""

    def spell(situation: Situation, value: str) -> Spelling | None:
        spelling = speller(situation, value)
        if spelling is None or any(argv[0] != "-genv" for argv in spelling.options):
            return None
        return Spelling(environment={argv[1]: argv[2] for argv in spelling.options})

    return spell


def _merge(meaning: Meaning, under: str, over: str) -> str | None:
    """Merge values of a pinning variable: off and wide domains stay, a single core is replaced."""
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
    """Write the binding as variables of the ranks, which Intel MPI uses for pinning."""
    name, value = ("I_MPI_PIN", "0") if values[0] == "none" else ("I_MPI_PIN_DOMAIN", values[0])
    return ("-genv", name, value)


def _emit(plan: Plan) -> Emission:
    """Return the options of ``mpiexec`` and the variables."""
    argv = ["mpiexec", "-n", str(plan.request.ranks), "-ppn", str(plan.ranks_per_node)]
    if plan.hosts:
        argv += ["-hosts", ",".join(plan.hosts)]
    return Emission(tuple(argv), {"I_MPI_PIN": "1", **_pinning(plan), **openmp_variables(plan)})


def _pinning(plan: Plan) -> dict[str, str]:
    if all(len(seat.pus) == 1 for seat in plan.seats):
        return {"I_MPI_PIN_PROCESSOR_LIST": ",".join(str(seat.pus[0]) for seat in plan.seats)}
    return {"I_MPI_PIN_DOMAIN": "[" + ",".join(pu_mask(seat.pus) for seat in plan.seats) + "]"}


def _emit_uneven(plans: Sequence[Plan]) -> Emission:
    """Return a section for each host, with its pinning as a variable of the section ("Process Pinning")."""
    argv = ["mpiexec"]
    for plan in plans:
        for host, count in hosts_with_ranks([plan]):
            argv += [PROGRAM, ":"] if len(argv) > 1 else []
            argv += ["-host", host, "-n", str(count)]
            argv += [word for name, value in _pinning(plan).items() for word in ("-env", name, value)]
    return Emission(tuple(argv), {"I_MPI_PIN": "1", **shared_variables(plans)}, note=REPEATED)


DIALECT = Dialect(
    name="intelmpi",
    launcher_names=words("mpirun mpiexec mpiexec.hydra mpiexec.impi mpirun.impi"),
    grammar=GRAMMAR,
    options=(
        *(option for option in OPTIONS if "ppn" not in option.names),
        Option(
            ("ppn", "perhost", "grr"), 1, Meaning.RANKS_PER_NODE, variable="I_MPI_PERHOST", scope=Scope.LAUNCH
        ),
        Option(("rr",), 0, Meaning.RANKS_PER_NODE, implied="1", scope=Scope.LAUNCH),
        Option(("cpu-bind",), 1, Meaning.BINDING),
        Option(("s",), 1, Meaning.STDIN),
        *flags("aps mps gdb gdb-ia tv tva trace trace-imbalance trace-pt2pt trace-collectives check_mpi"),
        *flags("check-mpi check ilp64 silent-abort nolocal print-rank-map prepend-timestamp prot noconf"),
        *flags("ordered-output pmi-aggregate pmi-noaggregate V v6"),
        *valued("genvexcl path gdb-args gdba gtool gtoolfile hosts-group tune tmpdir gpath gwdir r rsh"),
        *valued("bootstrap-exec-args pmi-connect branch-count use-app-topology"),
        *valued("binding bind-to map-by membind"),  # accepted and ignored
    ),
    recognise_version=version_by(r"Intel\(R\) MPI Library[^\n]*?Version (\S+)"),
    write={
        **WRITE,
        Meaning.BINDING: _write_binding,
        Meaning.THREADS_PER_RANK: lambda values: ("-genv", "I_MPI_PIN_DOMAIN", f"{values[0]}:compact"),
    },
    write_in_segment=write_in_segment,
    merge=_merge,
    spellings={
        "binding": _binding,
        "mapping": _mapping,
        "threads-per-rank": _threads,
        "launch-route": route_speller,
        **SPELLINGS,
    },
    in_scripts={"binding": _as_variables(_binding), "mapping": _as_variables(_mapping)},
    process_manager="pmi2",
    process_manager_needs="I_MPI_PMI_LIBRARY",
    file_words=split,
    hosts=HOSTS,
    binding_words={"none": "none", **_DOMAINS},
    inherits_cpus=True,
    rank_variable="PMI_RANK",
    emit=_emit,
    emit_uneven=_emit_uneven,
)
