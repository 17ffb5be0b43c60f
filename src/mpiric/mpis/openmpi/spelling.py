"""Settings of Open MPI for the knobs: MCA parameters, which every launcher passes on in the environment.

Version 5 renamed the shared-memory transport (``vader`` → ``sm``) and moved single copies into the framework
``smsc``.
"""

from collections.abc import Mapping

from mpiric.model.job import Spelling
from mpiric.model.knob import Spell, parse_bytes
from mpiric.model.situation import Situation
from mpiric.mpis import _fabrics
from mpiric.mpis._file_hints import by_ompio_parameters, hint_speller

_COLLECTIVE_COMPONENTS = ("acoll", "adapt", "han", "sm", "tuned", "xhc")
_ABOVE_ALL = "80"  # above the defaults of all built-in components (at most 78)
_SEGMENT_BYTES = {"vader": 4 << 20, "sm": 16 << 20}
_FRAGMENTS = 512  # limit of eager buffers in a rank's free list


def _mca(parameters: dict[str, str], *, unset: tuple[str, ...] = (), note: str = "") -> Spelling:
    return Spelling(
        environment={f"OMPI_MCA_{name}": value for name, value in parameters.items()},
        unset=tuple(f"OMPI_MCA_{name}" for name in unset),
        note=note,
    )


def _shared_memory(situation: Situation) -> str:
    return "sm" if situation.mpi.major >= 5 else "vader"


def _waiting(value: str, situation: Situation) -> Spelling | None:
    if value == "spin":
        return _mca({"mpi_yield_when_idle": "0"})
    if value == "yield":
        return _mca({"mpi_yield_when_idle": "1"})
    if situation.mpi.major < 5:
        return None
    return _mca({"mpi_yield_when_idle": "1", "threads_pthreads_yield_strategy": "nanosleep"})


def _node_transport(value: str, situation: Situation) -> Spelling | None:
    if value == "shared-memory":
        return _mca({}, unset=("btl", "pml"), note="removes the forced transport; Open MPI chooses")
    if situation.nodes > 1:
        return None
    return _mca({"pml": "ob1", "btl": f"self,{_shared_memory(situation)}"}, note="for jobs on one node only")


def _network_library(value: str, situation: Situation) -> Spelling | None:
    if value == "own":
        return _mca({"pml": "ob1"})
    if value == "ucx":
        loose = {"pml": "ucx", "pml_ucx_tls": "any", "pml_ucx_devices": "any"}
        return _mca(loose if situation.mpi.major >= 4 else {"pml": "ucx"})
    if value == "without-ofi":  # does not open libfabric: MPI_Init takes 0.18 s instead of 1.8 s
        return _mca({"mtl": "^ofi", "btl": "^ofi"}) if situation.mpi.major >= 5 else None
    return _mca({"pml": "cm", "mtl": value})


def _single_copy(value: str, situation: Situation) -> Spelling | None:
    if situation.mpi.major < 5:
        return _mca({"btl_vader_single_copy_mechanism": value})
    if value == "emulated":
        return None
    return _mca({"smsc": "^cma,knem,xpmem" if value == "none" else value})


def _ofi_provider(value: str, situation: Situation) -> Spelling:
    """Set a provider; lnx needs the addresses of peers in a table."""
    provider = _fabrics.ofi_provider(value, situation)
    table = {"OMPI_MCA_mtl_ofi_av": "table"} if value == "lnx" else {}
    return Spelling(environment={**provider.environment, **table})


def _network_interface(value: str, situation: Situation) -> Spelling:
    """Restrict the TCP transport to an interface with an IP address; other adapters are left to UCX."""
    fabric = _fabrics.network_interface(value, situation)
    if "FI_TCP_IFACE" not in fabric.environment:
        return fabric
    tcp = {"OMPI_MCA_btl_tcp_if_include": value}
    return Spelling(environment={**tcp, **fabric.environment}, unset=("OMPI_MCA_btl_tcp_if_exclude",))


def _eager_node(value: str, situation: Situation) -> Spelling:
    """Set the eager size with fragments of at least that size and a segment that holds all eager buffers."""
    component, size = _shared_memory(situation), parse_bytes(value)
    segment = max(_SEGMENT_BYTES[component], _FRAGMENTS * size)
    sizes = {
        "eager_limit": size,
        "rndv_eager_limit": max(size, 32768),
        "max_send_size": max(size, 32768),
        "segment_size": segment,
    }
    parameters = {f"btl_{component}_{name}": str(number) for name, number in sizes.items()}
    return _mca(parameters, note=f"each rank keeps up to {segment >> 20} MiB of shared memory for messages")


def _eager_network(value: str, _situation: Situation) -> Spelling:
    size = parse_bytes(value)
    sizes = {"eager_limit": size, "rndv_eager_limit": size, "max_send_size": max(size, 131072)}
    parameters = {f"OMPI_MCA_btl_tcp_{name}": str(number) for name, number in sizes.items()}
    return Spelling(environment={**parameters, **dict.fromkeys(_fabrics.NETWORK_EAGER, str(size))})


def _node_buffers(value: str, situation: Situation) -> Spelling:
    """Set fast boxes (one per peer, polled first) and eager buffers with a segment that holds them."""
    component, count = _shared_memory(situation), int(value)
    return _mca(
        {
            f"btl_{component}_fbox_max": str(count),
            f"btl_{component}_free_list_max": str(16 * count),
            f"btl_{component}_segment_size": str(max(_SEGMENT_BYTES[component], 16 * count * 36864)),
        }
    )


def _memory_copy(value: str, situation: Situation) -> Spelling | None:
    limit = {"memmove": "2147483647", "memcpy": "0"}.get(value)
    return _mca({f"btl_{_shared_memory(situation)}_memcpy_limit": limit}) if limit else None


def _collectives(value: str, situation: Situation) -> Spelling | None:
    if value == "without-hcoll":
        return _mca({"coll_hcoll_enable": "0"})
    if value == "ucc":
        return _mca({"coll_ucc_enable": "1", "coll_ucc_priority": _ABOVE_ALL})
    if value not in _COLLECTIVE_COMPONENTS or (value in ("acoll", "xhc") and situation.mpi.major < 6):
        return None
    return _mca({f"coll_{value}_priority": _ABOVE_ALL})


def _mpi_io_library(value: str, situation: Situation) -> Spelling | None:
    if value == "romio":
        return _mca({"io": "romio341" if situation.mpi.major >= 5 else "romio321"})
    return _mca({"io": "ompio"}) if value == "ompio" else None


SPELLERS: Mapping[str, Spell] = {
    **_fabrics.SPELLERS,
    "waiting": _waiting,
    "node-transport": _node_transport,
    "network-library": _network_library,
    "single-copy": _single_copy,
    "ofi-provider": _ofi_provider,
    "network-interface": _network_interface,
    "eager-node": _eager_node,
    "eager-network": _eager_network,
    "node-buffers": _node_buffers,
    "memory-copy": _memory_copy,
    "collective-component": _collectives,
    "mpi-io": hint_speller(by_ompio_parameters),
    "mpi-io-library": _mpi_io_library,
}
