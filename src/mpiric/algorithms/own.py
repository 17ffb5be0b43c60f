"""The names of mpiric's own algorithms, which the runtime carries."""

from mpiric.host.packaged import packaged_table


def own_algorithms(collective: str) -> tuple[str, ...]:
    """The names of mpiric's own algorithms for a collective, in alphabetical order."""
    return tuple(packaged_table("algorithms/own").get(collective, ()))
