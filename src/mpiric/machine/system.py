"""Operating system and installed libraries of a machine."""

import re

from mpiric.host.facts.file_search import linker_cache, matching
from mpiric.host.host import Host

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
