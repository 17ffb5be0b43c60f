"""MPI-IO drivers in a library: ROMIO's from its tables, OMPIO's from `ompi_info`.

`MPI_File_open` fails if a missing driver is forced.
"""

import re

from mpiric.host.facts.file_search import matching
from mpiric.host.host import Host

NAMES = ("ufs", "nfs", "lustre", "gpfs", "panfs", "daos", "pvfs2", "xfs", "quobytefs")
# ROMIO's table of drivers holds the file-name prefix of each ("lustre:"). The linker may store one as the end
# of a longer one ("panfs:" for "nfs:"); in that case, the names of the driver's functions are searched for.
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
    """Return the names of the drivers in a library and its ROMIO component, in the order of `NAMES`."""
    images = [library, *matching(host, f"{directory}/openmpi*/mca_io_romio*.so")]
    command = [host.python, "-I", "-c", ASK_DRIVERS, ",".join(NAMES), *images]
    answer = host.run_cached(command, images, timeout_s=TIMEOUT_S)
    drivers = {*answer.stdout.split(), *_COMPONENT.findall(information)}
    return tuple(name for name in (*NAMES, *sorted(drivers - set(NAMES))) if name in drivers)
