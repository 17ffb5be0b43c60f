"""Settings that are right without a run: rules in _defaults.toml, whose conditions are defined here."""

from collections.abc import Callable, Iterator, Mapping

from mpiric.algorithms.library import version_numbers
from mpiric.host.packaged import packaged_table
from mpiric.knobs.libraries import binding_in_force
from mpiric.model.dataclass import dataclass
from mpiric.model.mpi_library import MpiLibrary
from mpiric.model.situation import Situation

_NEWEST = "9999"


@dataclass(frozen=True)
class DefaultRule:
    """Rule for one MPI library: the value of a knob, or variables where no knob has the setting."""

    name: str
    knob: str
    value: str
    variables: Mapping[str, str]
    omit: tuple[str, ...]  # variables of the knob that scripts use for other purposes
    unless: tuple[str, ...]  # settings of the user that decide the same
    reason: str
    source: str
    cost: str  # possible disadvantage
    row: str  # row of benchmarks/results/env.md that proves it


def _ranks_exceed_cpus(situation: Situation, _threads: int) -> bool:
    """Compare ranks with CPUs, not with a limit of CPU time: a rank with its own CPU continues at once."""
    return situation.ranks_per_node > len(situation.machine.usable_pus)


def _others_would_start(situation: Situation, threads: int) -> bool:
    """Return whether libraries would start another number of threads: one for each CPU of the rank."""
    return threads != len(situation.machine.usable_pus)


def _threads_have_cpus(situation: Situation, threads: int) -> bool:
    return threads == 1 or binding_in_force(situation.mpi, situation) not in ("core", "hwthread")


# Conditions on a situation and the number of threads for each rank.
_CONDITIONS: Mapping[str, Callable[[Situation, int], bool]] = {
    "more ranks than CPUs": _ranks_exceed_cpus,
    "another number of threads would start": _others_would_start,
    "threads of a rank have CPUs": _threads_have_cpus,
    "one node": lambda situation, _: situation.nodes == 1,
    "only IP networks": lambda situation, _: not situation.has_adapter,
}


def default_rules(
    situation: Situation, threads: int = 0, requested: frozenset[str] = frozenset()
) -> Iterator[DefaultRule]:
    """Yield the rules that hold in a situation.

    ``threads``: threads of each rank, 0 for as many as it has CPUs. ``requested``: names of rules that only
    apply on request.
    """
    threads = threads or situation.cpus_per_rank
    for name, entry in packaged_table("knobs/_defaults").items():
        if entry.get("only_when_asked") and name not in requested:
            continue
        if not all(_CONDITIONS[condition](situation, threads) for condition in entry["when"]):
            continue
        case = next((case for case in entry["for"] if _is_for(case, situation.mpi)), None)
        if case is not None:
            yield DefaultRule(
                name=name,
                knob=entry.get("knob", ""),
                value=case.get("value", "").format(threads=threads),
                variables=case.get("set", {}),
                omit=tuple(entry.get("omit", ())),
                unless=tuple(entry.get("unless", ())),
                reason=entry["reason"],
                source=entry["source"],
                cost=entry["cost"],
                row=case["row"],
            )


def _is_for(case: Mapping[str, str], library: MpiLibrary) -> bool:
    """Return whether a case was measured with a library of this version."""
    if "mpi" not in case:
        return True
    since, before = version_numbers(case.get("since", "0")), version_numbers(case.get("before", _NEWEST))
    return case["mpi"] == library.implementation and since <= version_numbers(library.version) < before
