"""The MPI libraries that can be brought from PyPI, in versions known to work together with mpiric.

Every one gets a prefix of its own: the wheels own the same names (``bin/mpiexec``, ``lib/libmpi.so.12``,
``include/mpi.h``) and overwrite one another in a common environment.
"""

from mpiric.model.mpi_package import MpiPackage
from mpiric.mpis._implementation import implementations


def packages() -> dict[str, MpiPackage]:
    """Registry key → package of the implementations that have one, in alphabetical order."""
    found = {name: each.package for name, each in implementations().items()}
    return {name: package for name, package in sorted(found.items()) if package is not None}
