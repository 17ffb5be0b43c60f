"""HPE Cray MPICH, an MPICH derivative without a launcher of its own.

Transcribed from its manual page intro_mpi(3); not seen on a machine here. It is built on MPICH's ch4 but
documents only variables of its own. The manual promises that ``MPICH_OFI_VERBOSE`` and
``MPICH_OFI_NIC_VERBOSE`` name provider and adapters, and not how: what is looked for are these names.
"""

import re
from collections.abc import Mapping

from mpiric.model.capabilities import Capabilities, CollectiveComponents
from mpiric.model.fabric import PairClass, Path, Words
from mpiric.model.knob import parse_bytes
from mpiric.model.mpi_library import AbiFamily
from mpiric.model.situation import Situation
from mpiric.model.spelling import Spelling
from mpiric.mpis import _ch4, _fabrics
from mpiric.mpis._implementation import Implementation, Speller

_PROVIDER = re.compile(
    r"\bprovider(?: name)?\s*[:= ]\s*'?(cxi|verbs(?:;ofi_rxm)?|tcp(?:;ofi_rxm)?|psm2|efa)\b", re.I
)
_ADAPTER = re.compile(r"\b(cxi\d+|hsn\d+|mlx5_\d+)\b")


def _recognise(text: str) -> str | None:
    """``MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)``."""
    match = re.search(r"CRAY MPICH version (\S+)", text)
    return match[1] if match else None


def _recognise_launcher(text: str) -> str | None:
    """``mpiexec version 1.2.12`` of the PBS/PALS launcher prints nothing of the library."""
    match = re.search(r"(?:^|\n)(?:mpiexec|aprun) version (\d[\w.]*)", text)
    return match[1] if match else None


def _transports(_version_text: str, information: str) -> tuple[str, ...]:
    """The path of the library names its network, which the version text does not."""
    match = re.search(r"/mpich/[\d.]+/(ofi|ucx)/", information)
    return (match[1], "shm") if match else ("shm",)


def _connections(text: str) -> Words:
    """Provider and adapters."""
    lines = "\n".join(line for line in text.splitlines() if "PE " in line or "MPICH" in line or "OFI" in line)
    provider, adapters = _PROVIDER.search(lines), tuple(dict.fromkeys(_ADAPTER.findall(lines)))
    if not provider and not adapters:
        return Words()
    name = provider[1] if provider else "cxi" if adapters[0].startswith("cxi") else ""
    return Words("ch4, netmod ofi", {PairClass.OTHER_NODE: Path(name, adapters)}, (), name)


def _single_copy(value: str, _situation: Situation) -> Spelling | None:
    mode = {"xpmem": "XPMEM", "cma": "CMA", "none": "NONE"}.get(value)
    return Spelling(environment={"MPICH_SMP_SINGLE_COPY_MODE": mode}) if mode else None


def _collectives(value: str, _situation: Situation) -> Spelling | None:
    switch = {"shared-memory": "1", "messages": "0"}.get(value)
    return Spelling(environment={"MPICH_SHARED_MEM_COLL_OPT": switch}) if switch else None


def _single_copy_threshold(value: str, _situation: Situation) -> Spelling:
    return Spelling(environment={"MPICH_SMP_SINGLE_COPY_SIZE": str(parse_bytes(value))})


def _eager_network(value: str, _situation: Situation) -> Spelling:
    """The cxi provider of libfabric has the limit: matching in the adapter up to it, rendezvous above."""
    return Spelling(environment={"FI_CXI_RDZV_THRESHOLD": str(parse_bytes(value))})


def _matching(value: str, _situation: Situation) -> Spelling | None:
    mode = {"hardware": "hardware", "library": "software", "provider": "hybrid"}.get(value)
    return Spelling(environment={"FI_CXI_RX_MATCH_MODE": mode}) if mode else None


def _gpu_buffers(_value: str, _situation: Situation) -> Spelling:
    return Spelling(environment={"MPICH_GPU_SUPPORT_ENABLED": "0"})


def _collective_io(value: str, _situation: Situation) -> Spelling | None:
    switch = {"buffered": "enable", "individual": "disable"}.get(value)
    hints = f"*:romio_cb_write={switch}:romio_cb_read={switch}"
    return Spelling(environment={"MPICH_MPIIO_HINTS": hints}) if switch else None


_SPELLERS: Mapping[str, Speller] = {
    **_fabrics.spellers(),
    "single-copy": _single_copy,
    "single-copy-threshold": _single_copy_threshold,
    "collective-component": _collectives,
    "eager-network": _eager_network,
    "matching": _matching,
    "gpu-buffers": _gpu_buffers,
    "collective-io": _collective_io,
}


def _capabilities(_version: str, _transports: tuple[str, ...]) -> Capabilities:
    return Capabilities(
        always_shares_memory=True,
        node_settings=(_ch4.NO_LOCAL,),
        single_copy=("cma", "none"),
        looks_for_gpu_buffers=True,
        has_one_network=True,
        matching=("provider", "library", "hardware"),
        collectives=CollectiveComponents(on_node=("messages", "shared-memory")),
        io_signs=("MPICH_MPIIO_HINTS", "MPICH_MPIIO_STATS", "MPICH_MPIIO_TIMERS"),
        collective_io=("buffered", "individual"),
    )


IMPLEMENTATION = Implementation(
    title="Cray MPICH",
    family=AbiFamily.MPICH,
    libraries=("libmpi_*.so.12", "libmpi.so.12"),
    compilers={"c": ("mpicc",), "cxx": ("mpicxx",), "fortran": ("mpifort", "mpif90")},
    recognise=_recognise,
    dialect=lambda _version: "srun",  # the site decides, not the version
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
