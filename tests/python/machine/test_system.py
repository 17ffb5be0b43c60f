from tests.support.replay_host import command_key

from mpiric.host.host import Completed, Space
from mpiric.machine.reading import read_compilers, read_file_systems, read_memory, version_in
from mpiric.machine.system import read_allocators, read_blas_libraries, read_libc, read_scheduler

MOUNTS = """/dev/sda1 / ext4 rw 0 0
tmpfs /dev/shm tmpfs rw 0 0
10.0.0.1@o2ib:/lustre /cluster/work lustre rw 0 0
nas:/home /cluster/home nfs4 rw 0 0
/dev/sdb1 /data\\040disk xfs rw 0 0
"""


def test_the_longest_mount_point_holds_the_directory(host_with):
    host = host_with({"/proc/self/mounts": MOUNTS}, spaces={"/cluster/work/me": Space(1000, 400)})
    file_system = read_file_systems(host, "/cluster/work/me")[0]
    assert (file_system.mount_point, file_system.kind, file_system.is_network) == (
        "/cluster/work",
        "lustre",
        True,
    )
    assert (file_system.size_bytes, file_system.free_bytes) == (1000, 400)


def test_a_directory_that_only_begins_alike_is_elsewhere(host_with):
    host = host_with({"/proc/self/mounts": MOUNTS})
    assert read_file_systems(host, "/cluster/workshop")[0].mount_point == "/"


def test_blanks_in_mount_points_are_understood(host_with):
    host = host_with({"/proc/self/mounts": MOUNTS})
    assert read_file_systems(host, "/data disk/run")[0].kind == "xfs"


def test_home_is_listed_once_however_it_is_reached(host_with):
    host = host_with(
        {"/proc/self/mounts": MOUNTS}, environ={"HOME": "/cluster/home/me", "WORK": "/cluster/home/me/w"}
    )
    points = [system.mount_point for system in read_file_systems(host, "/cluster/home/me")]
    assert points.count("/cluster/home") == 1


def test_compiler_versions_are_distinguished_from_package_versions():
    assert version_in("gcc (Debian 12.2.0-14+deb12u1) 12.2.0\n") == "12.2.0"
    assert version_in("Intel(R) oneAPI DPC++/C++ Compiler 2024.1.0 (2024.1.0.20240308)\n") == "2024.1.0"
    assert version_in("\nnvc 24.3-0 64-bit target on x86-64 Linux -tp znver3\n") == "24.3-0"
    assert version_in("Debian clang version 14.0.6\n") == "14.0.6"


def test_a_compiler_that_does_not_answer_is_none(host_with):
    host = host_with(
        {},
        which={"icx": "/opt/icx"},
        commands={command_key(["/opt/icx", "--version"], None): Completed(1, "", "")},
    )
    assert read_compilers(host) == ()


def test_the_page_mode_in_brackets_is_read(host_with):
    host = host_with(
        {
            "/proc/meminfo": "HugePages_Total: 8\nHugePages_Free: 3\nHugepagesize: 2048 kB\n",
            "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "/sys/kernel/mm/transparent_hugepage/defrag": "always defer [defer+madvise] madvise never\n",
        }
    )
    pages = read_memory(host, 0).pages
    assert (pages.transparent, pages.transparent_defrag) == ("madvise", "defer+madvise")
    assert (pages.huge_size_bytes, pages.huge_reserved, pages.huge_free) == (2 << 20, 8, 3)


def test_a_limit_above_the_memory_is_none(host_with):
    host = host_with({"/proc/meminfo": "MemTotal: 1024 kB\n"})
    assert read_memory(host, 1 << 40).limit_bytes == 0


def test_musl_is_distinguished_from_glibc(host_with):
    text = "musl libc (x86_64)\nVersion 1.2.4\nDynamic Program Loader\n"
    host = host_with({}, commands={command_key(["ldd", "--version"], None): Completed(1, "", text)})
    assert read_libc(host) == "musl 1.2.4"


def test_the_scheduler_is_known_by_its_commands(host_with):
    assert read_scheduler(host_with({}, which={"sinfo": "/usr/bin/sinfo"})) == "slurm"
    assert read_scheduler(host_with({})) == ""


def test_allocators_are_found_where_the_linker_looks_and_in_conda(host_with):
    cache = "\tlibjemalloc.so.2 (libc6,x86-64) => /usr/lib/libjemalloc.so.2\n"
    host = host_with(
        {"/c/lib/libmimalloc.so.2": ""},
        environ={"CONDA_PREFIX": "/c"},
        commands={command_key(["/sbin/ldconfig", "-p"], None): Completed(0, cache, "")},
    )
    assert read_allocators(host) == (
        ("jemalloc", "/usr/lib/libjemalloc.so.2"),
        ("mimalloc", "/c/lib/libmimalloc.so.2"),
    )


def test_every_blas_of_one_interface_is_named(host_with):
    base = "/usr/lib/x86_64-linux-gnu"
    host = host_with(
        {
            f"{base}/openblas-pthread/libblas.so.3": "",
            f"{base}/blis-openmp/libblas.so.3": "",
            f"{base}/blas/libblas.so.3": "",
            "/opt/intel/oneapi/mkl/2024.1/lib/libmkl_rt.so.2": "",
        }
    )
    assert dict(read_blas_libraries(host)) == {
        "reference": f"{base}/blas/libblas.so.3",
        "blis-openmp": f"{base}/blis-openmp/libblas.so.3",
        "openblas-pthread": f"{base}/openblas-pthread/libblas.so.3",
        "mkl": "/opt/intel/oneapi/mkl/2024.1/lib/libmkl_rt.so.2",
    }
