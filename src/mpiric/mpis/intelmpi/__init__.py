"""Intel MPI Library; see its developer reference at https://www.intel.com."""

import re
from dataclasses import replace

from mpiric.model.mpi_library import (
    AbiFamily,
    Capabilities,
    CollectiveComponents,
    MpiPackage,
    NodeSetting,
    WheelPart,
)
from mpiric.mpis import _ch4
from mpiric.mpis._implementation import Implementation, Installation, Surroundings
from mpiric.mpis.intelmpi.connections import ASK, recognise_connections
from mpiric.mpis.intelmpi.spelling import SPELLERS
from mpiric.mpis.intelmpi.tuning_files import FILES, export
from mpiric.mpis.mpich import WHEEL as MPICH_WHEEL

# The wheel requires a `libfabric` that PyPI does not have, and loads any `libfabric.so.1` that the loader
# finds. Debian's is preferred (it selects tcp;ofi_rxm; the one of the MPICH wheel falls back to `sockets`);
# without one, lib/ links to the copy in the directory that Intel's installer uses.
_PACKAGE = MpiPackage(
    "intelmpi",
    (
        WheelPart(
            "impi-rt",
            "2021.19.0",
            ("708b4336c9d303a3d807b58054c502ed4f716dfb074dfa48904180b46d14bb40",),
        ),
        WheelPart(
            "impi-devel",
            "2021.19.0",
            ("50efbbc6eb3c41681fac95d2e9443af128d73b6bfbb61d827d894f93bab4b6ad",),
        ),
        replace(MPICH_WHEEL, moves={"lib/mpich/libfabric": "opt/mpi/libfabric/lib/libfabric"}),
    ),
    substitutions={
        "I_MPI_SUBSTITUTE_INSTALLDIR": '$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)',
        "__EXEC_PREFIX_TO_BE_FILLED_AT_INSTALL_TIME__": "${prefix}",
    },
    fallbacks={"lib/libfabric.so.1": "../opt/mpi/libfabric/lib/libfabric.so.1"},
)


def _recognise(text: str) -> str | None:
    """Parse ``Intel(R) MPI Library 2021.19.0 for Linux* OS``; old versions print ``2019 Update 9``."""
    match = re.search(r"Intel\(R\) MPI Library (?:Version )?(\d[\w.]*(?: Update \d+)?)", text)
    return _dotted(match[1]) if match else None


def _recognise_launcher(text: str) -> str | None:
    """Parse ``Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929``."""
    match = re.search(r"Intel\(R\) MPI Library for Linux\*? OS, Version (\d[\w. ]*?)(?: Build|$|\n)", text)
    return _dotted(match[1]) if match else None


def _dotted(version: str) -> str:
    """Write updates of old releases as a second number."""
    return version.strip().replace(" Update ", ".")


def _surroundings(installation: Installation) -> Surroundings:
    """Set I_MPI_ROOT, its directories, and an existing libfabric.

    Intel's packages have one below ``opt/mpi/libfabric``; the PyPI wheel has none. Without it, ranks abort in
    MPI_Init even on one node.
    """
    environment = {"I_MPI_ROOT": installation.prefix}
    path = [installation.library_dir]
    fabric = installation.libfabric_dirs[0] if installation.libfabric_dirs else ""
    if fabric and fabric != installation.library_dir:
        path.append(fabric)
    if fabric in installation.provider_dirs:
        environment["FI_PROVIDER_PATH"] = f"{fabric}/prov"
    return Surroundings(environment, tuple(path), (f"{installation.prefix}/bin",))


def _capabilities(_version: str, _transports: tuple[str, ...]) -> Capabilities:
    return Capabilities(
        can_sleep=True,
        waiting_switches=("I_MPI_WAIT_MODE", "I_MPI_THREAD_YIELD"),
        has_node_only_transport=True,
        node_settings=(_ch4.NO_LOCAL, NodeSetting("I_MPI_FABRICS", ("shm",))),
        single_copy=("cma", "none"),
        memory_copies=("avx512", "avx2", "sse"),
        only_over_libfabric=True,
        own_providers=("mlx",),  # provider on top of UCX
        provider_variables=("I_MPI_OFI_PROVIDER", "FI_PROVIDER"),
        tcp_only={"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": "{interface}"},
        collectives=CollectiveComponents(on_node=("messages", "shared-memory")),
        mpi_io="romio",
        drivers_switch="I_MPI_FILESYSTEM",
    )


IMPLEMENTATION = Implementation(
    title="Intel MPI",
    family=AbiFamily.MPICH,
    libraries=("libmpi.so.12",),
    # Wrappers of GNU compilers come first: Intel's compilers need not be installed.
    compilers={
        "c": ("mpicc", "mpigcc", "mpiicx", "mpiicc"),
        "cxx": ("mpigxx", "mpicxx", "mpiicpx", "mpiicpc"),
        "fortran": ("mpif90", "mpifc", "mpiifx", "mpiifort"),
    },
    recognise=_recognise,
    dialect=lambda _version: "intelmpi",
    transports=lambda _version_text, _information: ("ofi", "shm"),  # always, since 2019
    capabilities=_capabilities,
    spellers=lambda _version: SPELLERS,
    surroundings=_surroundings,
    launchers=("mpiexec.hydra", "mpiexec", "mpirun"),
    recognise_launcher=_recognise_launcher,
    modules=r"(^|/)(impi|intel-?mpi|intel-oneapi-mpi|oneapi/mpi|mpi/20\d\d)",
    home_variables=("I_MPI_ROOT", "EBROOTIMPI"),
    prefixes=("/opt/intel/oneapi/mpi/*", "/opt/intel/impi/*"),
    spack_names=("intel-oneapi-mpi", "intel-mpi"),
    package=_PACKAGE,
    prefix="I_MPI_",
    shared_prefixes=("MPIR_CVAR_",),
    variables=("I_MPI_",),
    ask_connections=ASK,
    connections=recognise_connections,
    export=export,
    export_files=FILES,
)
