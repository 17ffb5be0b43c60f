"""Operating system, C library, scheduler and container of a host."""

import re

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
