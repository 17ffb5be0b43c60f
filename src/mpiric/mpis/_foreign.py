"""Settings of other MPI libraries that a user has set and that do nothing under the one in use."""

from collections.abc import Mapping

from mpiric.model.finding import Finding
from mpiric.model.mpi_library import MpiLibrary
from mpiric.mpis._implementation import implementations

_SHOWN = 5


def foreign_settings(inherited: Mapping[str, str], library: MpiLibrary) -> tuple[Finding, ...]:
    """A finding for each other implementation whose settings are there and which this library ignores."""
    own = implementations().get(library.implementation)
    obeyed = (own.prefix, *own.shared_prefixes) if own else ()
    found = []
    for name, other in implementations().items():
        names = sorted(each for each in inherited if other.prefix and each.startswith(other.prefix))
        if names and other.prefix not in obeyed:
            found.append(
                Finding(
                    "settings-of-another-mpi",
                    f"settings of {name} are without effect under {library.implementation}",
                    ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else ""),
                    f"check that {library.label} is the library meant",
                )
            )
    return tuple(found)
