"""HPE Cray MPICH, an MPICH derivative without its own launcher.

Transcribed from its manual page intro_mpi(3), not tested on a Cray. It is built on MPICH's ch4 but documents
only variables of its own. According to the manual, ``MPICH_OFI_VERBOSE`` and ``MPICH_OFI_NIC_VERBOSE`` print
provider and adapters, in an unspecified format: their names are searched for.
"""

import re
from collections.abc import Mapping

from mpiric.model.amount import version_by
from mpiric.model.fabric import PairClass, TransportPath, TransportReport
from mpiric.model.knob import Spell, in_bytes, word
from mpiric.model.mpi_library import AbiFamily, Capabilities, CollectiveComponents
from mpiric.mpis import _ch4, _fabrics
from mpiric.mpis._file_hints import by_cray_variable, hint_speller
from mpiric.mpis._implementation import Implementation

_PROVIDER = re.compile(
    r"\bprovider(?: name)?\s*[:= ]\s*'?(cxi|verbs(?:;ofi_rxm)?|tcp(?:;ofi_rxm)?|psm2|efa)\b", re.I
)
_ADAPTER = re.compile(r"\b(cxi\d+|hsn\d+|mlx5_\d+)\b")


# ``MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)``.
_recognise = version_by(r"CRAY MPICH version (\S+)")
# ``mpiexec version 1.2.12`` of the PBS/PALS launcher does not name the library.
_recognise_launcher = version_by(r"(?:^|\n)(?:mpiexec|aprun) version (\d[\w.]*)")


def _transports(_version_text: str, information: str) -> tuple[str, ...]:
    """Read the network from the path of the library; the version text does not have it."""
    match = re.search(r"/mpich/[\d.]+/(ofi|ucx)/", information)
    return (match[1], "shm") if match else ("shm",)


def _connections(text: str) -> TransportReport:
    """Return provider and adapters."""
    lines = "\n".join(line for line in text.splitlines() if "PE " in line or "MPICH" in line or "OFI" in line)
    provider, adapters = _PROVIDER.search(lines), tuple(dict.fromkeys(_ADAPTER.findall(lines)))
    if not provider and not adapters:
        return TransportReport()
    name = provider[1] if provider else "cxi" if adapters[0].startswith("cxi") else ""
    return TransportReport("ch4, netmod ofi", {PairClass.OTHER_NODE: TransportPath(name, adapters)}, (), name)


_SPELLERS: Mapping[str, Spell] = {
    **_fabrics.SPELLERS,
    "single-copy": word("MPICH_SMP_SINGLE_COPY_MODE", {"xpmem": "XPMEM", "cma": "CMA", "none": "NONE"}),
    "single-copy-threshold": in_bytes("MPICH_SMP_SINGLE_COPY_SIZE"),
    "collective-component": word("MPICH_SHARED_MEM_COLL_OPT", {"shared-memory": "1", "messages": "0"}),
    # The limit is a variable of libfabric's cxi provider: eager up to it, rendezvous above.
    "async-progress": word("MPICH_ASYNC_PROGRESS", {"on": "1"}),
    "eager-network": in_bytes("FI_CXI_RDZV_THRESHOLD"),
    "mpi-io": hint_speller(by_cray_variable),
}


def _capabilities(_version: str, _transports: tuple[str, ...]) -> Capabilities:
    return Capabilities(
        always_shares_memory=True,
        node_settings=(_ch4.NO_LOCAL,),
        single_copy=("cma", "none"),
        has_one_network=True,
        collectives=CollectiveComponents(on_node=("messages", "shared-memory")),
        mpi_io="romio",
        io_signs=("MPICH_MPIIO_HINTS", "MPICH_MPIIO_STATS", "MPICH_MPIIO_TIMERS"),
    )


IMPLEMENTATION = Implementation(
    title="Cray MPICH",
    family=AbiFamily.MPICH,
    libraries=("libmpi_*.so.12", "libmpi.so.12"),
    compilers={"c": ("mpicc",), "cxx": ("mpicxx",), "fortran": ("mpifort", "mpif90")},
    recognise=_recognise,
    dialect=lambda _version: "srun",  # decided by the site, not by the version
    transports=_transports,
    capabilities=_capabilities,
    spellers=lambda _version: _SPELLERS,
    recognise_launcher=_recognise_launcher,
    system_launchers={"srun": "srun", "aprun": "aprun", "mpiexec": "pals"},
    modules=r"cray-mpich",
    home_variables=("CRAY_MPICH_DIR",),
    prefixes=("/opt/cray/pe/mpich/*/ofi/*/*", "/opt/cray/pe/mpich/*/ucx/*/*"),
    shared_prefixes=("MPIR_CVAR_",),
    variables=("MPICH_",),
    ask_connections={"MPICH_OFI_VERBOSE": "1", "MPICH_OFI_NIC_VERBOSE": "1"},
    connections=_connections,
)
