"""Names of mpiric's own algorithms, which are part of the runtime."""

from functools import lru_cache
from pathlib import Path

from mpiric.host.installation.native import native_part
from mpiric.host.packaged import parse_toml


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
