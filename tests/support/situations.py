"""Situations for the tests of knobs: machines of three shapes, jobs with each MPI implementation."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tests.support.written_files import writing

from mpiric.launchers import dialects
from mpiric.model.job import Job, LaunchOption, Meaning, Segment
from mpiric.model.machine import (
    Cache,
    Core,
    Cpu,
    Limits,
    Machine,
    Memory,
    Nic,
    NumaNode,
    Pages,
    Topology,
)
from mpiric.model.mpi_library import AbiFamily, MpiLibrary
from mpiric.model.rank_order import RankOrderChoice, RankOrders
from mpiric.model.situation import EVERYTHING, Allowed, HostNames, Observation, RankSeen, Situation, Tuner
from mpiric.mpis import with_capabilities

GIB = 1 << 30


def machine(packages: int = 1, cores: int = 2, *, thp: str = "madvise", huge_free: int = 0) -> Machine:
    """Return a machine with ``packages`` sockets, each a NUMA node with ``cores`` cores without SMT."""
    total = packages * cores
    per_package = [tuple(range(p * cores, (p + 1) * cores)) for p in range(packages)]
    return Machine(
        host_name="n1",
        kernel="6.1",
        system="Debian GNU/Linux 12 (bookworm)",
        libc="glibc 2.36",
        cpu=Cpu("icelake", "x86_64_v4", "GenuineIntel", "Xeon", ("avx2", "avx512f", "fma")),
        topology=Topology(
            cores=tuple(Core(i, i // cores, i // cores, (i,)) for i in range(total)),
            numa_nodes=tuple(NumaNode(i, 16 * GIB, pus) for i, pus in enumerate(per_package)),
            caches=tuple(Cache(3, "unified", 32 << 20, 64, pus) for pus in per_package),
        ),
        memory=Memory(64 * GIB, 60 * GIB, 0, 0, Pages(4096, thp, "madvise", 2 << 20, huge_free, huge_free)),
        limits=Limits(tuple(range(total)), 0.0, -1, 1024),
        nics=(
            Nic("lo", "loopback", 0, 65536, up=True, addresses=("127.0.0.1",)),
            Nic("eth0", "ethernet", 1000, 1500, up=True, addresses=("10.0.0.1",)),
            Nic("ib0", "infiniband", 100_000, 4092, up=True, addresses=("10.1.0.1",)),
        ),
        scheduler="slurm",
        gpus=packages - 1,
        preloads=(("jemalloc", "/usr/lib/libjemalloc.so.2"), ("tcmalloc", "/usr/lib/libtcmalloc.so.4")),
        blas_libraries=(("blis", "/usr/lib/blis/libblas.so.3"), ("openblas", "/usr/lib/ob/libblas.so.3")),
    )


_FAMILIES = {"openmpi": AbiFamily.OPENMPI}
_DIALECTS = {"intelmpi": "intelmpi", "craympich": "srun"}


def mpi(implementation: str, version: str) -> MpiLibrary:
    """Return a library of this implementation with all components compiled in."""
    dialect = ("openmpi4" if version < "5" else "openmpi5") if implementation == "openmpi" else "hydra"
    prefix = f"/opt/{implementation}-{version}"
    library = MpiLibrary(
        implementation=implementation,
        version=version,
        abi_families=(_FAMILIES.get(implementation, AbiFamily.MPICH),),
        prefix=prefix,
        library=f"{prefix}/lib/libmpi.so",
        soname="libmpi.so.12",
        launcher=f"{prefix}/bin/mpiexec",
        dialect=_DIALECTS.get(implementation, dialect),
        found_by="opt",
        transports=("knem", "ofi", "shm", "tcp", "ucx", "vader", "xpmem"),
        environment={"MPI_HOME": prefix},
        library_path=(f"{prefix}/lib",),
    )
    return with_capabilities(library)


MPIS = (
    mpi("mpich", "4.0.2"),
    mpi("mpich", "5.0.2"),
    mpi("openmpi", "4.1.4"),
    mpi("openmpi", "5.0.11"),
    mpi("intelmpi", "2021.19"),
    mpi("mvapich", "2.3.7"),
    mpi("mvapich", "3.0"),
    mpi("craympich", "8.1.28"),
)
BY_LABEL = {library.label: library for library in MPIS}


def rank(number: int, *, libraries: tuple[str, ...] = (), cpus: tuple[int, ...] = (0, 1)) -> RankSeen:
    """Return a rank that computes, has few page faults and maps a C library."""
    return RankSeen(
        rank=number,
        program="/home/u/app",
        cpus_allowed=cpus,
        user_s=1.0,
        system_s=0.01,
        minor_faults=500,
        voluntary_switches=10,
        involuntary_switches=10,
        rss_peak_bytes=64 << 20,
        libraries=("/lib/x86_64-linux-gnu/libc.so.6", *libraries),
    )


def situation(
    library: MpiLibrary = MPIS[1],
    *,
    ranks: int = 2,
    on: Machine | None = None,
    nodes: int = 1,
    options: tuple[LaunchOption, ...] = (),
    inherited: Mapping[str, str] | None = None,
    host_names: HostNames | None = None,
    libraries: tuple[str, ...] = (),
    allowed: Allowed | None = None,
    others: tuple[MpiLibrary, ...] = (),
) -> Situation:
    """Return the situation of a job with ``ranks`` unbound ranks."""
    host = on or machine()
    count = LaunchOption(("-n", str(ranks)), Meaning.RANKS, (str(ranks),))
    launcher_argv = ("mpiexec",)
    job = Job(
        argv=(*launcher_argv, "-n", str(ranks), "./app"),
        dialect=library.dialect,
        launcher=dialects()[library.dialect].traits,
        prefix=(),
        launcher_words=launcher_argv,
        segments=(Segment((count, *options), ("./app",)),),
        working_directory="/home/u",
        environment={"SLURM_JOB_ID": "1", "I_MPI_PMI_LIBRARY": "/usr/lib/libpmi2.so.0"},
    )
    ranks_seen = tuple(rank(i, libraries=libraries, cpus=host.usable_pus) for i in range(ranks))
    return Situation(
        machine=host,
        job=job,
        mpi=library,
        observation=Observation(1.0, ranks_seen, host.usable_cpu_count * nodes),
        allowed=allowed or Allowed(),
        other_libraries=others,
        nodes=nodes,
        inherited=inherited or {},
        read_host_names=lambda: host_names or HostNames(),
        tuner=Tuner("/opt/mpiric/libmpiric.so", "/home/u/some.policy"),
    )


def orders(case: Situation, off_node: float = 0.6) -> RankOrders:
    """Return the rank orders of a tune: one order that reduces the traffic between nodes."""
    choice = RankOrderChoice("mapped", "/home/u/.local/state/mpiric/orders/mapped.txt", off_node, off_node)
    return RankOrders(
        (choice,), "/opt/mpiric/libmpiric.so", case.mpi.abi_families[0], "/opt/mpiric/mpiric-mapper", ""
    )


def all_situations() -> Iterator[Situation]:
    """Yield situations of all implementations on one or more nodes, oversubscribed or not."""
    math = ("/usr/lib/libgomp.so.1", "/usr/lib/libopenblas.so.0", "/usr/lib/libmkl_core.so.2")
    more = (
        "/usr/lib/libblas.so.3",
        "/usr/lib/libblis.so.4",
        "/usr/lib/libucp.so.0",
        "/x/mca_io_ompio.so",
        "/x/libhcoll.so.1",
        "/x/libgfortran.so.5",
    )
    inherited = {
        "UCX_TLS": "tcp",
        "OMPI_MCA_btl": "tcp,self",
        "MPIR_CVAR_NOLOCAL": "1",
        "I_MPI_FABRICS": "ofi",
    }
    for library in MPIS:
        other_libraries = tuple(other for other in MPIS if other is not library)
        for nodes in (1, 4):
            for host in (machine(), machine(2, 8, huge_free=4096)):
                for ranks in (2, 8, 16):
                    for libraries in ((), (*math, *more)):
                        plain = situation(library, ranks=ranks, on=host, nodes=nodes, libraries=libraries)
                        yield replace(
                            plain,
                            allowed=EVERYTHING,
                            other_libraries=other_libraries,
                            rank_orders=orders(plain),
                        )
                        yield replace(plain, allowed=EVERYTHING, inherited=inherited)
        plain_host = machine()
        described = replace(plain_host, topology=replace(plain_host.topology, xml="<topology/>"))
        slow = situation(library, on=described)
        yield replace(slow, hint_directory="/home/u/hints", time_topology=lambda: 1.0)
        hdf5 = ("/x/libhdf5.so.310",)
        driven = replace(library, file_drivers=("ufs", "nfs", "lustre"))
        yield writing(situation(driven, ranks=8, nodes=4, allowed=EVERYTHING, libraries=hdf5))
        if library.dialect != "srun":
            listed = (LaunchOption(("-host", "n1,n2"), Meaning.HOSTS, ("n1,n2",)),)
            names = HostNames("eth0", {"ib0": {"n1": "n1.ipoib", "n2": "n2.ipoib"}})
            yield situation(library, ranks=8, nodes=2, options=listed, host_names=names)
