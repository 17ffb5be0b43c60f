"""The collective algorithms that MPI libraries let one choose: spec/candidates, a file per implementation."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from mpiric.host.packaged import packaged_names, packaged_table

_DIRECTORY = "algorithms/candidates"
_OF_THE_LIBRARY = ("implementation", "scope", "environment_prefix")  # all other keys are collectives


@dataclass(frozen=True)
class AlgorithmParameter:
    """A number that an algorithm takes: segment size, radix, fan-out."""

    key: str  # as policies have it: "segment"
    variable: str  # MPI_T control variable
    environment: str  # the same before MPI starts
    values: tuple[str, ...]  # worth trying beside the library's own


@dataclass(frozen=True)
class LibraryAlgorithm:
    """One algorithm of one collective in one implementation, and all that must be set to have it."""

    implementation: str  # registry key in mpis/
    collective: str  # "allreduce", "reduce_scatter", ...
    name: str  # as the library's own words have it
    variable: str  # MPI_T control variable that chooses it
    value: str  # what that variable takes
    environment: tuple[tuple[str, str], ...]  # the same before MPI starts, with what goes along
    since: tuple[int, ...] = ()
    until: tuple[int, ...] = ()  # exclusive; empty: to this day
    coarse: bool = False  # worth a trial for a whole program
    parameters: tuple[AlgorithmParameter, ...] = ()  # in alphabetical order of their keys

    def exists_in(self, version: tuple[int, ...]) -> bool:
        """Whether this version of the library has it."""
        return version >= self.since and not (self.until and version >= self.until)


def version_numbers(version: str) -> tuple[int, ...]:
    """``4.0.2rc1`` → (4, 0, 2); what follows the numbers is left away."""
    head = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in head[0].split(".")) if head else ()


@cache
def library_algorithms(implementation: str) -> tuple[LibraryAlgorithm, ...]:
    """Every algorithm of an implementation, of all its versions, in the order of its file."""
    if implementation not in implementations():
        return ()
    return tuple(_algorithms(packaged_table(f"{_DIRECTORY}/{implementation}")))


def algorithms_of(
    implementation: str, collective: str, version: tuple[int, ...]
) -> tuple[LibraryAlgorithm, ...]:
    """What one version of an implementation offers for a collective, in the order of its file."""
    return tuple(
        algorithm
        for algorithm in library_algorithms(implementation)
        if algorithm.collective == collective and algorithm.exists_in(version)
    )


def find_algorithm(
    implementation: str, collective: str, name: str, version: tuple[int, ...]
) -> LibraryAlgorithm | None:
    """The first algorithm of this name that this version has."""
    offered = algorithms_of(implementation, collective, version)
    return next((algorithm for algorithm in offered if algorithm.name == name), None)


def are_chosen_at_start(implementation: str) -> bool:
    """Whether the environment alone chooses this library's algorithms, and never while a program runs."""
    return (
        implementation in implementations()
        and packaged_table(f"{_DIRECTORY}/{implementation}")["scope"] == "environment"
    )


@cache
def implementations() -> tuple[str, ...]:
    """The implementations whose algorithms are known, in alphabetical order."""
    return packaged_names(_DIRECTORY)


def all_algorithms() -> tuple[LibraryAlgorithm, ...]:
    """Every algorithm of every implementation."""
    return tuple(algorithm for name in implementations() for algorithm in library_algorithms(name))


@cache
def coarse_algorithms() -> Mapping[str, tuple[str, ...]]:
    """Collective → names of its algorithms in any library, for collectives with one worth a trial."""
    every = all_algorithms()
    return {
        collective: tuple(dict.fromkeys(each.name for each in every if each.collective == collective))
        for collective in sorted({algorithm.collective for algorithm in every if algorithm.coarse})
    }


def _algorithms(spec: Mapping[str, Any]) -> Iterator[LibraryAlgorithm]:
    prefix = spec["environment_prefix"]
    for collective, table in spec.items():
        if collective in _OF_THE_LIBRARY:
            continue
        for row in table["algorithms"]:
            variable = row.get("variable", table["variable"])
            value = row.get("value", row["name"])
            usual = prefix + variable
            name = usual if "variable" in row else table.get("environment", usual)
            along = {prefix + key: text for key, text in row.get("also", table.get("also", {})).items()}
            yield LibraryAlgorithm(
                spec["implementation"],
                collective,
                row["name"],
                variable,
                value,
                tuple({name: value, **along}.items()),
                version_numbers(row.get("since", "")),
                version_numbers(row.get("until", "")),
                row.get("coarse", False),
                tuple(
                    AlgorithmParameter(
                        key,
                        parameter["variable"],
                        parameter.get("environment", prefix + parameter["variable"]),
                        tuple(parameter["values"]),
                    )
                    for key, parameter in sorted(row.get("parameters", {}).items())
                ),
            )
