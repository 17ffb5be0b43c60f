"""Libraries that can replace another one under an unchanged program: allocators and BLAS."""

import re

from mpiric.host.facts.globbing import matching
from mpiric.host.facts.linker import linker_cache
from mpiric.host.host import Host

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
    for directory in _more_directories(host):
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


def _more_directories(host: Host) -> tuple[str, ...]:
    user = [part for part in host.environ.get("LD_LIBRARY_PATH", "").split(":") if part.startswith("/")]
    conda = host.environ.get("CONDA_PREFIX", "")
    return (*user, *((f"{conda}/lib",) if conda else ()))
