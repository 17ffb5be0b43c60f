"""Findings on inherited settings that are harmful or have no effect here."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from mpiric.host.packaged import finding_from
from mpiric.knobs._outputs import missing_locks, output_system, system_of
from mpiric.knobs.transport import shared_memory_is_off
from mpiric.model.errors import Finding
from mpiric.model.situation import FileSetting, Situation

_ADAPTER_PROVIDERS = ("verbs", "psm2", "psm3", "opx", "mlx", "efa", "lnx", "cxi", "gni", "bgq")
_ADAPTER_TRANSPORTS = ("rc", "rc_x", "rc_verbs", "rc_mlx5", "dc", "dc_x", "dc_mlx5", "ud", "ud_x", "ib")
_INTERFACES = ("OMPI_MCA_btl_tcp_if_include", "FI_TCP_IFACE", "FI_SOCKETS_IFACE", "UCX_NET_DEVICES")
_LOUD = (("UCX_LOG_LEVEL", ("debug", "trace", "data")), ("FI_LOG_LEVEL", ("debug", "trace")))
_INTERFACE = re.compile(r"([A-Za-z][\w.-]*)(?::\d+)?")
_finding = partial(finding_from, "knobs/_inherited")
_FILE_CALLS = ("collective_file_calls", "independent_file_calls")
_MANY_MODULES = 10  # compiled modules that a rank has mapped; a program imports many more others
_ALLOCATORS = ("jemalloc", "tcmalloc", "mimalloc")


def _mkl_debug(situation: Situation) -> Iterator[Finding]:
    if value := situation.in_force("MKL_DEBUG_CPU_TYPE"):
        yield _finding("mkl-debug-cpu-type", value=value)


def _provider(situation: Situation) -> Iterator[Finding]:
    interfaces = ", ".join(nic.name for nic in situation.machine.networks) or "none"
    for name in ("FI_PROVIDER", "I_MPI_OFI_PROVIDER"):
        value = situation.in_force(name) or ""
        if value.split(";")[0] in _ADAPTER_PROVIDERS and not situation.has_adapter:
            yield _finding("provider-of-another-network", name=name, value=value, interfaces=interfaces)


def _transports(situation: Situation) -> Iterator[Finding]:
    value = situation.in_force("UCX_TLS") or ""
    if set(value.split(",")) & set(_ADAPTER_TRANSPORTS) and not situation.has_adapter:
        yield _finding("stale-ucx-tls", value=value)


def _shared_memory(situation: Situation) -> Iterator[Finding]:
    setting = shared_memory_is_off(situation)
    if setting and situation.ranks_per_node > 1:
        yield _finding("shared-memory-off", setting=setting, name=setting.split("=")[0])


def _interface(situation: Situation) -> Iterator[Finding]:
    interfaces = {nic.name for nic in situation.machine.nics}
    for variable in _INTERFACES:
        names = (situation.in_force(variable) or "").split(",")
        named = (_INTERFACE.fullmatch(name) for name in names if name != "all")  # addresses are also valid
        wrong = [match[1] for match in named if match and match[1] not in interfaces]
        if wrong and interfaces:
            facts = {"name": variable, "value": ",".join(names), "known": ", ".join(sorted(interfaces))}
            yield _finding("unknown-interface", **facts)


def _threads(situation: Situation) -> Iterator[Finding]:
    requested = (situation.in_force("OMP_NUM_THREADS") or "").split(",")[0]
    ranks, cpus = situation.ranks_per_node, situation.cpus_per_node
    threads = situation.threads_per_rank * ranks
    if requested.isdigit() and situation.is_threaded and threads > cpus:
        fitting = max(1, cpus // ranks)
        yield _finding("too-many-threads", requested=requested, ranks=ranks, cpus=cpus, fitting=fitting)


def _missing_component(situation: Situation) -> Iterator[Finding]:
    can = situation.mpi.capabilities
    for variable in can.component_variables:
        value, framework = situation.in_force(variable) or "", variable.rpartition("_")[2].lower()
        for name in value.split(",") if not value.startswith("^") else ():
            if name in can.removed_components:
                facts = {
                    "mpi": f"{can.title} {situation.mpi.version}",
                    "framework": framework,
                    "component": name,
                }
                yield _finding("missing-component", name=variable, value=value, **facts)


def _allocators(situation: Situation) -> Iterator[Finding]:
    preload = situation.in_force("LD_PRELOAD") or ""
    names = sorted(
        name for name in situation.inherited if name.startswith("MALLOC_") and name != "MALLOC_CONF"
    )
    if names and any(allocator in preload for allocator in _ALLOCATORS):
        yield _finding("two-allocators", names=", ".join(names), preload=preload, to_unset=" ".join(names))


def _huge_pages(situation: Situation) -> Iterator[Finding]:
    tunables = situation.in_force("GLIBC_TUNABLES") or ""
    if "glibc.malloc.hugetlb=2" in tunables and not situation.machine.memory.pages.huge_free:
        yield _finding("no-huge-pages-left", value=tunables)


def _waiting(situation: Situation) -> Iterator[Finding]:
    for name in situation.mpi.capabilities.waiting_switches:
        if situation.is_on(name) and not situation.is_oversubscribed:
            yield _finding("waits-needlessly", name=name, value=situation.in_force(name))


def _tuning(situation: Situation) -> Iterator[Finding]:
    mode = situation.in_force("I_MPI_TUNING_MODE") or ""
    if mode.startswith("auto"):
        yield _finding("autotuner-on", value=mode)


def _logging(situation: Situation) -> Iterator[Finding]:
    for name, levels in _LOUD:
        value = (situation.in_force(name) or "").lower()
        if value in levels:
            yield _finding("loud-library", name=name, value=value)


def _forced_files(situation: Situation) -> Iterator[Finding]:
    if value := situation.in_force("ROMIO_FSTYPE_FORCE"):
        yield _finding("forced-file-system-type", value=value)
    value = situation.in_force("HDF5_USE_FILE_LOCKING") or ""
    if value.lower() in ("false", "0"):
        yield _finding("hdf5-without-locks", value=value)


def _mount(situation: Situation) -> Iterator[Finding]:
    system = output_system(situation)
    if system is None:
        return
    if not system.is_writable:
        yield _finding("mount-read-only", mount=system.mount_point)
    if system.quota_free_bytes == 0:
        yield _finding("quota-used-up", mount=system.mount_point)
    missing = missing_locks(system, situation)
    if missing and (_writes_through_mpi(situation) or situation.observation.loads("libhdf5")):
        yield _finding("mount-without-flock", mount=system.mount_point, kind=system.kind, holds=missing)


def _writes_through_mpi(situation: Situation) -> bool:
    """Return whether files are accessed through MPI according to a record, else whether they may be."""
    behaviour = situation.observation.behaviour
    if behaviour is not None:
        return any(behaviour.numbers.get(name, 0) for name in _FILE_CALLS)
    return any(name.startswith("mpi_file_") for name in situation.observation.mpi_calls)


def _imports(situation: Situation) -> Iterator[Finding]:
    """Report Python modules on a shared file system: each rank requests each of them."""
    first = next(iter(situation.observation.ranks), None)
    if first is None or (not situation.observation.loads("libpython") and "python" not in first.program):
        return
    systems = [system_of(path, situation) for path in first.libraries]
    shared = [system for system in systems if system is not None and system.is_network]
    if len(shared) >= _MANY_MODULES:
        mount = Counter(system.mount_point for system in shared).most_common(1)[0][0]
        ranks = situation.rank_count
        yield _finding("imports-from-network", modules=len(shared), mount=mount, ranks=ranks)


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
    _forced_files,
    _mount,
    _imports,
    _mkl_debug,
    _logging,
)


def inherited_problems(situation: Situation) -> tuple[Finding, ...]:
    """Return harmful or useless settings of the user, the costliest first.

    They come from the command line, the environment, or files that the libraries read.
    """
    files = {
        name: setting for name, setting in situation.in_files.items() if situation.in_force(name) is None
    }
    in_files = {name: setting.value for name, setting in files.items()}
    everything = replace(situation, inherited={**in_files, **situation.inherited})
    return tuple(_with_places(finding, files) for check in _CHECKS for finding in check(everything))


def _with_places(finding: Finding, files: Mapping[str, FileSetting]) -> Finding:
    """Name the file and line of each setting of the evidence that comes from a file."""
    evidence, fix = finding.evidence, finding.fix
    for name, setting in files.items():
        written = f"{name}={setting.value}"
        if written in evidence:
            evidence = evidence.replace(written, f"{setting.name} = {setting.value} in {setting.place}")
            fix = fix.replace(f"unset {name}", f"remove {setting.name} from {setting.place}")
    return replace(finding, evidence=evidence, fix=fix)
