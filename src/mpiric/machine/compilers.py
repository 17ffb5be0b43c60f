"""Compilers on PATH and their versions."""

import re

from mpiric.host.host import Host
from mpiric.host.packaged import packaged_table
from mpiric.model.machine import Compiler


def read_compilers(host: Host) -> tuple[Compiler, ...]:
    """Return the compilers on PATH that support ``--version``."""
    compilers = []
    for name, languages in packaged_table("machine/compilers").items():
        path = host.which(name)
        if path is None:
            continue
        answer = host.run([path, "--version"])
        if answer.status == 0:
            compilers.append(Compiler(name, version_in(answer.stdout), path, tuple(languages)))
    return tuple(compilers)


def version_in(text: str) -> str:
    """Return the version number in the output of a compiler: ``gcc (Debian 12.2.0-14) 12.2.0``."""
    bare = re.sub(r"\([^)]*\)", " ", text)
    match = re.search(r"(?<![\w.])v?(\d+\.\d+(?:[.-]\d+)*)", bare)
    return match[1] if match else ""
