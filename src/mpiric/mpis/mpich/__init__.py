"""MPICH, the base of several vendors' libraries; see https://www.mpich.org."""

import re

from mpiric.algorithms.library import version_numbers
from mpiric.model.mpi_library import (
    AbiFamily,
    Capabilities,
    CollectiveComponents,
    MpiPackage,
    NodeSetting,
    WheelPart,
)
from mpiric.mpis import _ch4, _fabrics
from mpiric.mpis._implementation import Implementation, major
from mpiric.mpis.mpich.connections import ASK, recognise_connections
from mpiric.mpis.mpich.tuning_files import EMBEDDED_DEFAULTS, FILES, export


def _recognise(text: str) -> str | None:
    """Parse ``MPICH Version:  4.0.2``, the first line of MPICH itself."""
    match = re.match(r"\s*MPICH Version:\s*(\S+)", text)
    return match[1] if match and "CRAY MPICH" not in text else None


def _transports(version_text: str, _information: str) -> tuple[str, ...]:
    """Parse ``MPICH Device: ch4:ucx ofi`` or ``ch3:nemesis``; both have ``shm`` on a node."""
    match = re.search(r"MPICH Device:\s*(.+)", version_text)
    if not match:
        return ()
    device, _, modules = match[1].strip().partition(":")
    if device == "ch3":
        return ("tcp", "shm")
    return (*re.split(r"[ ,]+", modules), "shm") if modules else ("shm",)


def _capabilities(version: str, transports: tuple[str, ...]) -> Capabilities:
    number, has_ofi, has_ucx = major(version), "ofi" in transports, "ucx" in transports
    return Capabilities(
        binds_by_default=False,
        default_binding=("none", "none"),
        can_sleep=number >= 5,
        waiting_switches=_ch4.WAITING_SWITCHES,
        helper_threads=int(has_ucx),
        has_node_only_transport=number >= 5 and has_ucx,
        starts_light=True,
        node_settings=(_ch4.NO_LOCAL, *((NodeSetting("UCX_TLS", _fabrics.UCX_ON_NODE),) if has_ucx else ())),
        single_copy=("none",) if number >= 5 or "xpmem" in transports else (),
        has_single_copy_threshold=number >= 5,
        cells_per_rank=_ch4.CELLS,
        kernel_copy_from_bytes=8 << 10 if number >= 5 else 0,
        eager_cuts_only=number >= 5,  # the kernel copies larger messages in one piece
        sizes_in_force={"eager-node": 8 << 10, "single-copy-threshold": 8 << 10} if number >= 5 else {},
        node_buffers=str(_ch4.CELLS),
        node_buffers_variable=_ch4.NODE_BUFFERS,
        looks_for_gpu_buffers=True,
        mpi_io="romio",
        network_libraries=(*(("ucx",) if has_ucx else ()), "ofi") if has_ofi else (),
        tcp_only={
            "MPIR_CVAR_NOLOCAL": "1",
            "MPIR_CVAR_CH4_NETMOD": "{netmod}",
            "FI_PROVIDER": "sockets,tcp",
            "FI_TCP_IFACE": "{interface}",
            "FI_SOCKETS_IFACE": "{interface}",
            "UCX_NET_DEVICES": "{interface}",
            "UCX_TLS": "tcp,self",
        },
        collectives=CollectiveComponents(
            on_node=("messages", "shared-memory"), without_messages=_ch4.WITHOUT_MESSAGES
        ),
    )


WHEEL = WheelPart(
    "mpich",
    "5.0.2",
    (
        "8fed465ebff269ea2ebac179a25de02671ddf8df476e0f115be089015015cfd4",  # x86_64
        "992ae6ebb0da97d49d7a67000ae8112da9a3825da1bb1e6f1d196428a0410f2d",  # aarch64
    ),
)

IMPLEMENTATION = Implementation(
    title="MPICH",
    family=AbiFamily.MPICH,
    libraries=("libmpich.so.12", "libmpi.so.12"),
    compilers={
        "c": ("mpicc.mpich", "mpicc"),
        "cxx": ("mpicxx.mpich", "mpicxx", "mpic++"),
        "fortran": ("mpifort.mpich", "mpifort", "mpif90"),
        "c_abi": ("mpicc_abi",),
        "cxx_abi": ("mpicxx_abi",),
    },
    recognise=_recognise,
    dialect=lambda _version: "hydra",
    transports=_transports,
    capabilities=_capabilities,
    spellers=lambda version: _ch4.spellers(newer=version_numbers(version) >= (4, 3)),
    is_base=True,
    launchers=("mpiexec.mpich", "mpiexec.hydra", "mpiexec", "mpirun"),
    recognise_launcher=_ch4.recognise_hydra,
    modules=r"mpich",
    home_variables=("MPICH_DIR", "EBROOTMPICH"),
    prefixes=("/opt/mpich*", "/usr/lib64/mpich*"),
    spack_names=("mpich",),
    package=MpiPackage("mpich", (WHEEL,)),
    prefix="MPIR_CVAR_",
    variables=("MPICH_", "MPIR_", "HYDRA_"),
    ask_connections=ASK,
    connections=recognise_connections,
    export=export,
    export_files=FILES,
    embedded_defaults=EMBEDDED_DEFAULTS,
)
