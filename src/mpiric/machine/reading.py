"""Host → Machine."""

from mpiric.host.host import Host
from mpiric.machine.cgroups import read_cgroup_limits
from mpiric.machine.compilers import read_compilers
from mpiric.machine.cpu import read_cpu
from mpiric.machine.file_systems import read_file_systems
from mpiric.machine.gpus import local_gpus
from mpiric.machine.libraries import read_allocators, read_blas_libraries
from mpiric.machine.limits import read_limits
from mpiric.machine.memory import read_memory
from mpiric.machine.network import read_nics
from mpiric.machine.system import (
    read_container,
    read_host_name,
    read_kernel,
    read_libc,
    read_scheduler,
    read_system,
)
from mpiric.machine.topology import topology_of
from mpiric.model.machine import Machine


def read_machine(host: Host, working_directory: str) -> Machine:
    """Return all facts of a machine; facts that cannot be read are empty. Needs no privileges."""
    topology = topology_of(host)
    cgroup = read_cgroup_limits(host)
    return Machine(
        host_name=read_host_name(host),
        kernel=read_kernel(host),
        system=read_system(host),
        libc=read_libc(host),
        cpu=read_cpu(host),
        topology=topology,
        memory=read_memory(host, cgroup.memory_bytes),
        limits=read_limits(host, cgroup, topology.pus),
        nics=read_nics(host),
        file_systems=read_file_systems(host, working_directory),
        compilers=read_compilers(host),
        scheduler=read_scheduler(host),
        preloads=read_allocators(host),
        blas_libraries=read_blas_libraries(host),
        gpus=len(local_gpus(host)),
        container=read_container(host),
    )
