"""Settings the user has inherited that do harm here, or nothing at all."""

import re
from collections.abc import Callable, Iterator

from mpiric.knobs._reading import (
    cpus_per_node,
    has_adapter,
    in_force,
    is_on,
    is_oversubscribed,
    is_threaded,
    networks,
    ranks_per_node,
    threads_per_rank,
)
from mpiric.knobs._shared_memory import shared_memory_is_off
from mpiric.model.finding import Finding
from mpiric.model.situation import Situation

_ADAPTER_PROVIDERS = ("verbs", "psm2", "psm3", "opx", "mlx", "efa", "cxi", "gni", "bgq")
_ADAPTER_TRANSPORTS = ("rc", "rc_x", "rc_verbs", "rc_mlx5", "dc", "dc_x", "dc_mlx5", "ud", "ud_x", "ib")
_INTERFACES = ("OMPI_MCA_btl_tcp_if_include", "FI_TCP_IFACE", "FI_SOCKETS_IFACE", "UCX_NET_DEVICES")
_LOUD = (("UCX_LOG_LEVEL", ("debug", "trace", "data")), ("FI_LOG_LEVEL", ("debug", "trace")))
_INTERFACE = re.compile(r"([A-Za-z][\w.-]*)(?::\d+)?")
_ALLOCATORS = ("jemalloc", "tcmalloc", "mimalloc")


def _mkl_debug(situation: Situation) -> Iterator[Finding]:
    if value := in_force(situation, "MKL_DEBUG_CPU_TYPE"):
        yield Finding(
            "mkl-debug-cpu-type",
            "MKL_DEBUG_CPU_TYPE has been without effect since MKL 2020 Update 1",
            f"MKL_DEBUG_CPU_TYPE={value}",
            "unset it; MKL_ENABLE_INSTRUCTIONS chooses the code path on Intel's CPUs",
        )


def _provider(situation: Situation) -> Iterator[Finding]:
    for name in ("FI_PROVIDER", "I_MPI_OFI_PROVIDER"):
        value = in_force(situation, name) or ""
        if value.split(";")[0] in _ADAPTER_PROVIDERS and not has_adapter(situation):
            yield Finding(
                "provider-of-another-network",
                "libfabric is set to use a network that this machine does not have",
                f"{name}={value}; interfaces: {', '.join(nic.name for nic in networks(situation)) or 'none'}",
                f"unset {name}",
            )


def _transports(situation: Situation) -> Iterator[Finding]:
    value = in_force(situation, "UCX_TLS") or ""
    if set(value.split(",")) & set(_ADAPTER_TRANSPORTS) and not has_adapter(situation):
        yield Finding(
            "stale-ucx-tls",
            "UCX is set to use transports of a network that this machine does not have",
            f"UCX_TLS={value}",
            "unset UCX_TLS",
        )


def _shared_memory(situation: Situation) -> Iterator[Finding]:
    setting = shared_memory_is_off(situation)
    if setting and ranks_per_node(situation) > 1:
        yield Finding(
            "shared-memory-off",
            "ranks on one node are kept from talking through shared memory",
            setting,
            f"take {setting.split('=')[0]} away, or try the knob node-transport",
        )


def _interface(situation: Situation) -> Iterator[Finding]:
    known = {nic.name for nic in situation.machine.nics}
    for variable in _INTERFACES:
        names = (in_force(situation, variable) or "").split(",")
        named = (_INTERFACE.fullmatch(name) for name in names if name != "all")  # addresses are names too
        wrong = [match[1] for match in named if match and match[1] not in known]
        if wrong and known:
            yield Finding(
                "unknown-interface",
                "a network interface is named that this machine does not have",
                f"{variable}={','.join(names)}; here: {', '.join(sorted(known))}",
                f"unset {variable} or name one of these",
            )


def _threads(situation: Situation) -> Iterator[Finding]:
    requested = (in_force(situation, "OMP_NUM_THREADS") or "").split(",")[0]
    wanted = threads_per_rank(situation) * ranks_per_node(situation)
    if requested.isdigit() and is_threaded(situation) and wanted > (cpus := cpus_per_node(situation)):
        yield Finding(
            "too-many-threads",
            "more threads than CPUs",
            f"OMP_NUM_THREADS={requested} × {ranks_per_node(situation)} ranks on {cpus} CPUs",
            f"OMP_NUM_THREADS={max(1, cpus // ranks_per_node(situation))}",
        )


def _missing_component(situation: Situation) -> Iterator[Finding]:
    can = situation.mpi.capabilities
    for variable in can.component_variables:
        value, framework = in_force(situation, variable) or "", variable.rpartition("_")[2]
        for name in value.split(",") if not value.startswith("^") else ():
            if name in can.removed_components:
                yield Finding(
                    "missing-component",
                    f"{can.title} {situation.mpi.version} has no {framework} component {name}",
                    f"{variable}={value}",
                    f"unset {variable}",
                )


def _allocators(situation: Situation) -> Iterator[Finding]:
    preload = in_force(situation, "LD_PRELOAD") or ""
    names = sorted(
        name for name in situation.inherited if name.startswith("MALLOC_") and name != "MALLOC_CONF"
    )
    if names and any(allocator in preload for allocator in _ALLOCATORS):
        yield Finding(
            "two-allocators",
            "settings of glibc's allocator are without effect: another one is preloaded",
            f"{', '.join(names)} and LD_PRELOAD={preload}",
            f"unset {' '.join(names)}, or LD_PRELOAD",
        )


def _huge_pages(situation: Situation) -> Iterator[Finding]:
    tunables = in_force(situation, "GLIBC_TUNABLES") or ""
    if "glibc.malloc.hugetlb=2" in tunables and not situation.machine.memory.pages.huge_free:
        yield Finding(
            "no-huge-pages-left",
            "reserved huge pages are requested and none are free: it does nothing",
            f"GLIBC_TUNABLES={tunables}, huge pages free: 0",
            "reserve some (sysctl vm.nr_hugepages), or use glibc.malloc.hugetlb=1",
        )


def _waiting(situation: Situation) -> Iterator[Finding]:
    for name in situation.mpi.capabilities.waiting_switches:
        if is_on(situation, name) and not is_oversubscribed(situation):
            yield Finding(
                "waits-needlessly",
                "ranks give their CPU away while they wait although each has its own",
                f"{name}={in_force(situation, name)}",
                f"unset {name}",
            )


def _tuning(situation: Situation) -> Iterator[Finding]:
    if (in_force(situation, "I_MPI_TUNING_MODE") or "").startswith("auto"):
        yield Finding(
            "autotuner-on",
            "Intel MPI tunes while the program runs, which costs time in every run",
            f"I_MPI_TUNING_MODE={in_force(situation, 'I_MPI_TUNING_MODE')}",
            "dump the result once (I_MPI_TUNING_BIN_DUMP), then replay it with I_MPI_TUNING_BIN alone",
        )


def _logging(situation: Situation) -> Iterator[Finding]:
    for name, levels in _LOUD:
        value = (in_force(situation, name) or "").lower()
        if value in levels:
            yield Finding("loud-library", "a library logs every message", f"{name}={value}", f"unset {name}")


_CHECKS: tuple[Callable[[Situation], Iterator[Finding]], ...] = (
    _shared_memory,
    _threads,
    _provider,
    _transports,
    _interface,
    _missing_component,
    _waiting,
    _tuning,
    _huge_pages,
    _allocators,
    _mkl_debug,
    _logging,
)


def inherited_problems(situation: Situation) -> tuple[Finding, ...]:
    """Harmful or useless settings in the user's environment and command line, the costliest kinds first."""
    return tuple(finding for check in _CHECKS for finding in check(situation))
