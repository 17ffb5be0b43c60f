"""Candidates: the collective algorithms that MPI implementations let one choose."""

import re
from dataclasses import dataclass

from mpiric.model._candidates_table import AT_START, OWN, ROWS


@dataclass(frozen=True)
class Parameter:
    """A number that an algorithm takes: segment size, radix, fan-out."""

    key: str  # as policies have it: "segment"
    variable: str  # MPI_T control variable
    environment: str  # the same before MPI starts
    values: tuple[str, ...]  # worth trying beside the library's own


@dataclass(frozen=True)
class Candidate:
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
    parameters: tuple[Parameter, ...] = ()  # in alphabetical order of their keys

    def exists_in(self, version: tuple[int, ...]) -> bool:
        """Whether this version of the library has it."""
        return version >= self.since and not (self.until and version >= self.until)


CANDIDATES: tuple[Candidate, ...] = tuple(
    Candidate(*row[:-1], tuple(Parameter(*parameter) for parameter in row[-1])) for row in ROWS
)


def version_numbers(version: str) -> tuple[int, ...]:
    """``4.0.2rc1`` → (4, 0, 2); what follows the numbers is left away."""
    head = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in head[0].split(".")) if head else ()


def candidates_of(implementation: str, collective: str, version: tuple[int, ...]) -> tuple[Candidate, ...]:
    """What one version of an implementation offers for a collective, in the order of its file."""
    return tuple(
        candidate
        for candidate in CANDIDATES
        if (candidate.implementation, candidate.collective) == (implementation, collective)
        and candidate.exists_in(version)
    )


def are_chosen_at_start(implementation: str) -> bool:
    """Whether the environment alone chooses this library's algorithms, and never while a program runs."""
    return implementation in AT_START


def own_algorithms(collective: str) -> tuple[str, ...]:
    """The names of mpiric's own algorithms for a collective, in alphabetical order."""
    return tuple(name for of, name in OWN if of == collective)


def collectives() -> tuple[str, ...]:
    """Every collective with a candidate worth a trial for a whole program, in alphabetical order."""
    return tuple(sorted({candidate.collective for candidate in CANDIDATES if candidate.coarse}))
