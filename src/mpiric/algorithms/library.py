"""Collective algorithms that MPI libraries let users choose: spec/candidates, one file per implementation."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from mpiric.host.installation.native import native_part
from mpiric.host.packaged import packaged_names, packaged_table, parse_toml
from mpiric.model.dataclass import dataclass

_DIRECTORY = "algorithms/candidates"
_LIBRARY_KEYS = ("implementation", "scope", "environment_prefix")  # all other keys are collectives


@dataclass(frozen=True)
class AlgorithmParameter:
    """A numeric parameter of an algorithm, such as segment size, radix or fan-out."""

    key: str  # name in algorithm policies, for example "segment"
    variable: str  # MPI_T control variable
    environment: str  # environment variable with the same effect
    values: tuple[str, ...]  # values worth trying in addition to the library's default


@dataclass(frozen=True)
class LibraryAlgorithm:
    """Algorithm of one collective in one implementation, and the settings that select it."""

    implementation: str  # registry key in mpis/
    collective: str  # "allreduce", "reduce_scatter", ...
    name: str  # name in the documentation of the library
    variable: str  # MPI_T control variable that chooses it
    value: str  # value of that variable
    environment: tuple[tuple[str, str], ...]  # environment variables with the same effect
    since: tuple[int, ...] = ()  # first version that has the algorithm
    until: tuple[int, ...] = ()  # first version without it; empty if current versions have it
    coarse: bool = False  # True if it is worth a trial for a complete program
    parameters: tuple[AlgorithmParameter, ...] = ()  # sorted by key

    def exists_in(self, version: tuple[int, ...]) -> bool:
        """Return whether a version of the library has this algorithm."""
        return version >= self.since and not (self.until and version >= self.until)


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version without its suffix: ``4.0.2rc1`` → (4, 0, 2)."""
    head = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in head[0].split(".")) if head else ()


@cache
def library_algorithms(implementation: str) -> tuple[LibraryAlgorithm, ...]:
    """Return the algorithms of all versions of an implementation, in the order of its file."""
    if implementation not in implementations():
        return ()
    return tuple(_algorithms(packaged_table(f"{_DIRECTORY}/{implementation}")))


def algorithms_of(
    implementation: str, collective: str, version: tuple[int, ...]
) -> tuple[LibraryAlgorithm, ...]:
    """Return the algorithms of a collective in one version of an implementation, in file order."""
    return tuple(
        algorithm
        for algorithm in library_algorithms(implementation)
        if algorithm.collective == collective and algorithm.exists_in(version)
    )


def find_algorithm(
    implementation: str, collective: str, name: str, version: tuple[int, ...]
) -> LibraryAlgorithm | None:
    """Return the first algorithm with this name in this version, None if there is none."""
    candidates = algorithms_of(implementation, collective, version)
    return next((algorithm for algorithm in candidates if algorithm.name == name), None)


def are_chosen_at_start(implementation: str) -> bool:
    """Return whether only environment variables, read at start, can choose this library's algorithms."""
    return (
        implementation in implementations()
        and packaged_table(f"{_DIRECTORY}/{implementation}")["scope"] == "environment"
    )


# Scope of a setting → why the runtime cannot change it in a program with MPI_THREAD_MULTIPLE.
_UNDER_THREADS = {
    "process": "their control variable belongs to the process, and would act on the calls of other threads",
    "communicators created afterwards": "a communicator keeps the algorithm that is set when it is created, "
    "and another thread may create one meanwhile",
}


def why_not_under_threads(implementation: str) -> str:
    """Return why the runtime does not choose its algorithms under MPI_THREAD_MULTIPLE, "" without reason."""
    if implementation not in implementations():
        return ""
    return _UNDER_THREADS.get(packaged_table(f"{_DIRECTORY}/{implementation}")["scope"], "")


@cache
def implementations() -> tuple[str, ...]:
    """Return the implementations whose algorithms are known, in alphabetical order."""
    return packaged_names(_DIRECTORY)


def all_algorithms() -> tuple[LibraryAlgorithm, ...]:
    """Return the algorithms of all implementations."""
    return tuple(algorithm for name in implementations() for algorithm in library_algorithms(name))


@cache
def coarse_algorithms() -> Mapping[str, tuple[str, ...]]:
    """Map each collective with an algorithm worth a trial to its algorithm names in any library."""
    algorithms = all_algorithms()
    return {
        collective: tuple(dict.fromkeys(a.name for a in algorithms if a.collective == collective))
        for collective in sorted({algorithm.collective for algorithm in algorithms if algorithm.coarse})
    }


def _algorithms(spec: Mapping[str, Any]) -> Iterator[LibraryAlgorithm]:
    prefix = spec["environment_prefix"]
    for collective, table in spec.items():
        if collective in _LIBRARY_KEYS:
            continue
        for row in table["algorithms"]:
            variable = row.get("variable", table["variable"])
            value = row.get("value", row["name"])
            default_name = prefix + variable
            name = default_name if "variable" in row else table.get("environment", default_name)
            further = {prefix + key: text for key, text in row.get("also", table.get("also", {})).items()}
            yield LibraryAlgorithm(
                spec["implementation"],
                collective,
                row["name"],
                variable,
                value,
                tuple({name: value, **further}.items()),
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


def own_algorithms(collective: str) -> tuple[str, ...]:
    """Return the names of mpiric's own algorithms for a collective, in alphabetical order.

    Raises NotFoundError if the native parts are not installed.
    """
    return names_by_collective().get(collective, ())


@lru_cache
def names_by_collective() -> dict[str, tuple[str, ...]]:
    """Return the algorithm names by collective, as the build of the native parts listed them."""
    names = Path(native_part("own_algorithms.toml")).read_text(encoding="utf-8")
    return {collective: tuple(row) for collective, row in parse_toml(names).items()}
