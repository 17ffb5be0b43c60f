"""Drivers of MPI-IO that a library was built with: ROMIO's by its tables, OMPIO's by `ompi_info`.

A driver that is not there cannot be asked for: `MPI_File_open` fails where one is forced.
"""

import re

from mpiric.host.facts.globbing import matching
from mpiric.host.host import Host

NAMES = ("ufs", "nfs", "lustre", "gpfs", "panfs", "daos", "pvfs2", "xfs", "quobytefs")
# ROMIO's table of drivers holds the prefix of file names of each ("lustre:"), which the linker may store
# as the end of a longer one ("panfs:" for "nfs:"): then the name of its functions is looked for.
ASK_DRIVERS = """\
import mmap, sys
names = sys.argv[1].split(",")
for path in sys.argv[2:]:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        for name in names:
            table = b"ADIO_" + name.upper().encode() + b"_operations"
            if image.find(b"\\0" + name.encode() + b":\\0") >= 0 or image.find(table) >= 0:
                print(name)
"""
_COMPONENT = re.compile(r"^mca:fs:(\w+):", re.MULTILINE)
TIMEOUT_S = 10.0


def file_drivers(host: Host, library: str, directory: str, information: str) -> tuple[str, ...]:
    """Names of the drivers of a library and of the ROMIO component beside it, in the order of `NAMES`."""
    images = [library, *matching(host, f"{directory}/openmpi*/mca_io_romio*.so")]
    words = [host.python, "-I", "-c", ASK_DRIVERS, ",".join(NAMES), *images]
    answer = host.run_cached(words, images, timeout_s=TIMEOUT_S)
    found = {*answer.stdout.split(), *_COMPONENT.findall(information)}
    return tuple(name for name in (*NAMES, *sorted(found - set(NAMES))) if name in found)
