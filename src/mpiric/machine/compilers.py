"""Compilers on PATH, each asked for its version."""

import re

from mpiric.host.host import Host
from mpiric.model.machine import Compiler

_C, _CXX, _FORTRAN = "C", "C++", "Fortran"

_NAMES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("gcc", (_C,)),
    ("g++", (_CXX,)),
    ("gfortran", (_FORTRAN,)),
    ("clang", (_C,)),
    ("clang++", (_CXX,)),
    ("flang", (_FORTRAN,)),
    ("flang-new", (_FORTRAN,)),
    ("icx", (_C,)),
    ("icpx", (_CXX,)),
    ("ifx", (_FORTRAN,)),
    ("icc", (_C,)),
    ("icpc", (_CXX,)),
    ("ifort", (_FORTRAN,)),
    ("nvc", (_C,)),
    ("nvc++", (_CXX,)),
    ("nvfortran", (_FORTRAN,)),
    ("amdclang", (_C,)),
    ("amdflang", (_FORTRAN,)),
    ("armclang", (_C,)),
    ("armflang", (_FORTRAN,)),
    ("craycc", (_C,)),
    ("crayCC", (_CXX,)),
    ("crayftn", (_FORTRAN,)),
    ("nvcc", ("CUDA",)),
    ("hipcc", ("HIP",)),
)


def read_compilers(host: Host) -> tuple[Compiler, ...]:
    """The compilers on PATH that answer to ``--version``."""
    found = []
    for name, languages in _NAMES:
        path = host.which(name)
        if path is None:
            continue
        answer = host.run([path, "--version"])
        if answer.status == 0:
            found.append(Compiler(name, version_in(answer.stdout), path, languages))
    return tuple(found)


def version_in(text: str) -> str:
    """The first dotted number that no letter or bracket leads up to: ``gcc (Debian 12.2.0-14) 12.2.0``."""
    bare = re.sub(r"\([^)]*\)", " ", text)
    match = re.search(r"(?<![\w.])v?(\d+\.\d+(?:[.-]\d+)*)", bare)
    return match[1] if match else ""
