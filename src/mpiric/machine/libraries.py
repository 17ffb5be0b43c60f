"""Libraries that can replace another under an unchanged program: allocators and BLAS."""

import re

from mpiric.host.facts.globbing import matching
from mpiric.host.facts.linker import linker_cache
from mpiric.host.host import Host

_ALLOCATORS = (
    ("jemalloc", r"libjemalloc\.so\.\d+"),
    ("tcmalloc", r"libtcmalloc_minimal\.so\.\d+"),
    ("tcmalloc", r"libtcmalloc\.so\.\d+"),  # the same with a heap profiler, for want of the other
    ("mimalloc", r"libmimalloc\.so\.\d+(\.\d+)*"),
)

# Debian keeps every BLAS of the one interface in a directory of its own, as `libblas.so.3`.
_DEBIAN = "/usr/lib/*-linux-gnu/*/libblas.so.3"
_DEBIAN_NAMES = {"blas": "reference", "libblas": "reference"}
_MKL = ("/opt/intel/oneapi/mkl/*/lib/libmkl_rt.so*", "/opt/intel/mkl/lib/intel64/libmkl_rt.so*")


def read_allocators(host: Host) -> tuple[tuple[str, str], ...]:
    """Name and path of each allocator that can be preloaded; the dynamic linker's own first."""
    known = list(linker_cache(host))
    for directory in _more_directories(host):
        known += [(name, f"{directory}/{name}") for name in host.list_dir(directory)]
    found: dict[str, str] = {}
    for label, pattern in _ALLOCATORS:
        paths = [path for name, path in known if re.fullmatch(pattern, name)]
        if paths:
            found.setdefault(label, paths[0])
    return tuple(found.items())


def read_blas_libraries(host: Host) -> tuple[tuple[str, str], ...]:
    """Name and path of each library with the reference BLAS interface under the name ``libblas.so.3``.

    MKL is listed by its ``libmkl_rt``, which has the same functions under another name.
    """
    found: dict[str, str] = {}
    for path in matching(host, _DEBIAN):
        directory = path.split("/")[-2]
        found.setdefault(_DEBIAN_NAMES.get(directory, directory), path)
    root = host.environ.get("MKLROOT", "")
    patterns = [f"{root}/lib/libmkl_rt.so*", f"{root}/lib/intel64/libmkl_rt.so*"] if root else []
    for pattern in [*patterns, *_MKL]:
        for path in matching(host, pattern):
            found.setdefault("mkl", path)
    return tuple(found.items())


def _more_directories(host: Host) -> tuple[str, ...]:
    user = [part for part in host.environ.get("LD_LIBRARY_PATH", "").split(":") if part.startswith("/")]
    conda = host.environ.get("CONDA_PREFIX", "")
    return (*user, *((f"{conda}/lib",) if conda else ()))
