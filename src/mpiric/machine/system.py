"""Operating system, CPU, network interfaces and installed libraries of a machine.

The microarchitecture has archspec's names, and the rule is archspec's: the deepest target whose vendor and
features match. It is repeated here because archspec only reads the machine it runs on, not the text of
another host.
"""

import re

from archspec.cpu import TARGETS, Microarchitecture

from mpiric.host.files import linker_cache, matching
from mpiric.host.host import Host
from mpiric.model.amount import number_of
from mpiric.model.machine import Cpu, Nic

_SCHEDULERS = (
    ("slurm", "sinfo"),
    ("slurm", "srun"),
    ("pbs", "pbsnodes"),
    ("lsf", "bjobs"),
    ("flux", "flux"),
    ("sge", "qhost"),
)


def read_host_name(host: Host) -> str:
    """Return the kernel's name of this node."""
    return (host.read_text("/proc/sys/kernel/hostname") or host.environ.get("HOSTNAME", "")).strip()


def read_kernel(host: Host) -> str:
    """Return the release of the running kernel."""
    return (host.read_text("/proc/sys/kernel/osrelease") or "").strip()


def read_system(host: Host) -> str:
    """Return the name of the distribution."""
    text = host.read_text("/etc/os-release") or host.read_text("/usr/lib/os-release") or ""
    match = re.search(r"^PRETTY_NAME=[\"']?([^\"'\n]*)", text, re.MULTILINE)
    return match[1] if match else ""


def read_libc(host: Host) -> str:
    """Return name and version of the C library, such as ``glibc 2.36`` or ``musl 1.2.4``."""
    answer = host.run(["getconf", "GNU_LIBC_VERSION"])
    if answer.status == 0 and answer.stdout.strip():
        return answer.stdout.strip()
    answer = host.run(["ldd", "--version"])
    match = re.search(r"musl.*?Version (\S+)", answer.stdout + answer.stderr, re.DOTALL)
    return f"musl {match[1]}" if match else ""


def read_scheduler(host: Host) -> str:
    """Return the batch system whose commands are installed, "" for none."""
    return next((name for name, command in _SCHEDULERS if host.which(command)), "")


def read_container(host: Host) -> str:
    """Return the engine of the container in which this process runs, "" for none."""
    if name := host.environ.get("container", ""):
        return name
    if host.environ.get("APPTAINER_CONTAINER") or host.environ.get("SINGULARITY_CONTAINER"):
        return "apptainer"
    if host.is_file("/.dockerenv"):
        return "docker"
    if host.is_file("/run/.containerenv"):
        return "podman"
    groups = host.read_text("/proc/self/cgroup") or ""
    return next((name for name in ("docker", "kubepods", "lxc", "libpod") if f"/{name}" in groups), "")


_ALLOCATORS = (
    ("jemalloc", r"libjemalloc\.so\.\d+"),
    ("tcmalloc", r"libtcmalloc_minimal\.so\.\d+"),
    ("tcmalloc", r"libtcmalloc\.so\.\d+"),  # includes a heap profiler; used if the minimal one is missing
    ("mimalloc", r"libmimalloc\.so\.\d+(\.\d+)*"),
)

# Debian installs each BLAS with this interface in its own directory, as `libblas.so.3`.
_DEBIAN = "/usr/lib/*-linux-gnu/*/libblas.so.3"
_DEBIAN_NAMES = {"blas": "reference", "libblas": "reference"}
_MKL = ("/opt/intel/oneapi/mkl/*/lib/libmkl_rt.so*", "/opt/intel/mkl/lib/intel64/libmkl_rt.so*")


def read_allocators(host: Host) -> tuple[tuple[str, str], ...]:
    """Return name and path of each allocator that can be preloaded; paths of the dynamic linker first."""
    libraries = list(linker_cache(host))
    user = [part for part in host.environ.get("LD_LIBRARY_PATH", "").split(":") if part.startswith("/")]
    conda = host.environ.get("CONDA_PREFIX", "")
    for directory in (*user, *((f"{conda}/lib",) if conda else ())):
        libraries += [(name, f"{directory}/{name}") for name in host.list_dir(directory)]
    allocators: dict[str, str] = {}
    for label, pattern in _ALLOCATORS:
        paths = [path for name, path in libraries if re.fullmatch(pattern, name)]
        if paths:
            allocators.setdefault(label, paths[0])
    return tuple(allocators.items())


def read_blas_libraries(host: Host) -> tuple[tuple[str, str], ...]:
    """Return name and path of each library with the BLAS interface of ``libblas.so.3``.

    MKL is listed as ``libmkl_rt``, which provides the same functions under another file name.
    """
    libraries: dict[str, str] = {}
    for path in matching(host, _DEBIAN):
        directory = path.split("/")[-2]
        libraries.setdefault(_DEBIAN_NAMES.get(directory, directory), path)
    root = host.environ.get("MKLROOT", "")
    patterns = [f"{root}/lib/libmkl_rt.so*", f"{root}/lib/intel64/libmkl_rt.so*"] if root else []
    for pattern in [*patterns, *_MKL]:
        for path in matching(host, pattern):
            libraries.setdefault("mkl", path)
    return tuple(libraries.items())


def read_cpu(host: Host) -> Cpu:
    """Return the CPU of a host; the names are generic if the kernel reports too little."""
    return parse_cpuinfo(host.read_text("/proc/cpuinfo") or "")


def parse_cpuinfo(text: str) -> Cpu:
    """Return the CPU that /proc/cpuinfo describes; its first processor represents all others."""
    facts: dict[str, str] = {}
    for line in text.splitlines():
        key, separator, value = line.partition(":")
        if separator:
            facts.setdefault(key.strip(), value.strip())
    if "flags" in facts:
        family = "x86_64"
    elif "CPU implementer" in facts:
        family = "aarch64"
    elif "POWER" in facts.get("cpu", ""):
        family = "ppc64le"
    else:
        family = "riscv64" if facts.get("isa", "").startswith("rv64") else ""
    vendor = facts.get("vendor_id") or _arm_vendor(facts.get("CPU implementer", ""))
    kernel_features = set((facts.get("flags") or facts.get("Features") or "").split())
    # archspec knows the other names under which the kernel prints some features.
    features = tuple(sorted(Microarchitecture("", [], vendor or "generic", kernel_features, {}).features))
    fitting = [target for target in TARGETS.values() if _fits(target, family, vendor, features, facts)]
    generic = max((t for t in fitting if t.vendor == "generic"), key=_depth, default=None)
    part = facts.get("CPU part", "")
    by_part = [t for t in fitting if part and t.cpu_part == part]
    better = [t for t in by_part or fitting if generic is None or t > generic]
    target = max(better, key=_depth, default=generic)
    model = facts.get("model name") or facts.get("cpu") or facts.get("uarch") or ""
    return Cpu(
        target=target.name if target else family,
        generic=generic.name if generic else family,
        vendor=vendor or "generic",
        model=re.sub(r"\s+", " ", model),
        features=features,
    )


def _arm_vendor(code: str) -> str:
    vendors: dict[str, str] = _arm_vendors()
    return vendors.get(code, code)


def _arm_vendors() -> dict[str, str]:
    from archspec.cpu.schema import TARGETS_JSON

    vendors: dict[str, str] = TARGETS_JSON["conversions"]["arm_vendors"]
    return vendors


def _fits(
    target: Microarchitecture, family: str, vendor: str, features: tuple[str, ...], facts: dict[str, str]
) -> bool:
    root = TARGETS.get(family)
    if root is None or (target != root and root not in target.ancestors):
        return False
    if family == "ppc64le":
        power = re.search(r"POWER(\d+)", facts["cpu"])
        return power is not None and target.generation <= int(power[1])
    if family == "riscv64":
        name = facts.get("uarch", "").rpartition(",")[2].replace("-", "")
        return target.vendor == "generic" or target.name == name
    if family == "aarch64" and target.vendor == "generic" and target != root:
        return False  # the kernel does not report the version of the architecture
    return target.vendor in {vendor, "generic"} and set(target.features) <= set(features)


def _depth(target: Microarchitecture) -> tuple[int, int]:
    return len(target.ancestors), len(target.features)


_NET = "/sys/class/net"
_RDMA = "/sys/class/infiniband"

# ARPHRD_* numbers of <linux/if_arp.h>.
_TYPES = {"1": "ethernet", "32": "ipoib", "772": "loopback"}


def read_nics(host: Host) -> tuple[Nic, ...]:
    """Return the interfaces of the kernel's network stack, then the RDMA devices."""
    addresses = host.addresses()
    interfaces = tuple(_interface(host, name, addresses.get(name, ())) for name in host.list_dir(_NET))
    devices = tuple(_rdma_device(host, name) for name in host.list_dir(_RDMA))
    return tuple(nic for nic in interfaces if nic.kind) + devices


def _interface(host: Host, name: str, addresses: tuple[str, ...]) -> Nic:
    def text(part: str) -> str:
        return (host.read_text(f"{_NET}/{name}/{part}") or "").strip()

    kind = _TYPES.get(text("type"), "")
    if kind == "ethernet":
        driver = host.real_path(f"{_NET}/{name}/device/driver").rpartition("/")[2]
        kind = (
            "slingshot"
            if driver.startswith("cxi")
            else ("virtual" if "/devices/virtual/" in host.real_path(f"{_NET}/{name}") else "ethernet")
        )
    speed = text("speed")
    return Nic(
        name=name,
        kind=kind,
        speed_mbit=number_of(speed),  # -1 or unreadable if the kernel does not know it
        mtu=number_of(text("mtu")),
        # Loopback and tunnels report "unknown" although they carry traffic.
        up=text("operstate") in {"up", "unknown"},
        addresses=addresses,
        numa_node=_node(text("device/numa_node")),
    )


def _rdma_device(host: Host, name: str) -> Nic:
    def text(part: str) -> str:
        return (host.read_text(f"{_RDMA}/{name}/{part}") or "").strip()

    rate = re.match(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) Gb/sec", text("ports/1/rate"))
    link = text("ports/1/link_layer")
    return Nic(
        name=name,
        kind=_rdma_kind(
            name, host.real_path(f"{_RDMA}/{name}/device/driver").rpartition("/")[2], text("node_type"), link
        ),
        speed_mbit=int(float(rate[1]) * 1000) if rate else 0,
        mtu=0,
        up="ACTIVE" in text("ports/1/state"),
        addresses=(),
        numa_node=_node(text("device/numa_node")),
    )


def _rdma_kind(name: str, driver: str, node_type: str, link: str) -> str:
    """Return the kind of an adapter; adapters with the kernel's verbs interface need different libraries."""
    if name.startswith("hfi1"):
        return "omni-path"
    if name.startswith("qib"):
        return "truescale"
    if driver == "efa" or name.startswith("efa"):
        return "efa"
    if "RNIC" in node_type:
        return "iwarp"
    return "roce" if link == "Ethernet" else "infiniband"


def _node(text: str) -> int:
    return number_of(text, -1)
