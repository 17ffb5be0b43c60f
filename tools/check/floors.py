"""Checks that every native part made to be shipped runs with the oldest C library that is promised.

Reads what is there: the trees of ``make native-portable`` and the wheels in ``dist``. A part is wrong that
asks for newer symbols of glibc or a library other than glibc's and MPI's, or that is of another processor.
"""

import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from mpiric.host.facts.elf import read_elf

FLOOR = (2, 17)  # as MPIRIC_GLIBC in cmake/Portable.cmake and the wheel's tag have it
PLATFORM = (
    "libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1"
)
ALLOWED = frozenset((*PLATFORM.split(), "libmpi.so.12", "libmpi.so.40", "libmpi_abi.so.1"))


def mistakes(root: Path, processor: str) -> Iterator[str]:
    """One line for each thing that is wrong with the ELF files below a directory."""
    for path in sorted(root.rglob("*")):
        elf = read_elf(str(path)) if path.is_file() else None
        if elf is None:
            continue
        name = path.relative_to(root)
        if elf.processor != processor:
            yield f"{name}: for {elf.processor}, not {processor}"
        if elf.glibc_needed > FLOOR:
            yield f"{name}: needs glibc {'.'.join(map(str, elf.glibc_needed))}"
        for library in sorted({*elf.needed} - ALLOWED):
            yield f"{name}: needs {library}"
        if elf.search_path:
            yield f"{name}: looks for libraries in {':'.join(elf.search_path)}"


def main() -> int:
    """Print the mistakes; 1 when there are any."""
    found = [
        f"{tree}: {mistake}"
        for tree in sorted(Path("build/portable").glob("*/tree"))
        for mistake in mistakes(tree, tree.parent.name)
    ]
    for wheel in sorted(Path("dist").glob("*manylinux*.whl")):
        with tempfile.TemporaryDirectory() as directory, zipfile.ZipFile(wheel) as packed:
            packed.extractall(directory)
            processor = wheel.stem.partition("manylinux_2_17_")[2]
            found += [f"{wheel}: {mistake}" for mistake in mistakes(Path(directory), processor)]
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
