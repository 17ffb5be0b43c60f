"""Check that all native parts for distribution run with the oldest supported C library.

Reads the existing trees of ``make native-portable`` and wheels in ``dist``. A part is wrong if it needs newer
symbols of glibc, a library other than glibc's and MPI's, or another processor. Parts of ``make setup`` are
for this system's glibc; they are wrong if they call functions that the oldest supported glibc lacks, because
such a source cannot be built for it.
"""

import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile

from mpiric.host.facts.elf import read_elf, read_imported_symbols

FLOOR = (2, 17)  # equal to MPIRIC_GLIBC in cmake/Portable.cmake and the tag of the wheel
PLATFORM = (
    "libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1"
)
ALLOWED = frozenset((*PLATFORM.split(), "libmpi.so.12", "libmpi.so.40", "libmpi_abi.so.1"))

LOCAL = Path("src/mpiric/_native")
# Called by GNU's libraries of C and C++, in whose place Zig has its own; and names that were macros before.
BY_COMPILER = frozenset(
    "__cxa_thread_atexit_impl __libc_single_threaded _dl_find_object arc4random getentropy".split()
    + "stat stat64 lstat lstat64 fstat fstat64 fstatat fstatat64 mknod mknodat".split()
)


def mistakes(root: Path, processor: str) -> Iterator[str]:
    """Return a line for each fault of the ELF files below a directory."""
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


def newer_names(library: str) -> set[str]:
    """Return the names that a C library has only in versions after the floor."""
    first: dict[str, tuple[int, ...]] = {}
    with Path(library).open("rb") as stream:
        elf = ELFFile(stream)
        defined = elf.get_section_by_name(".gnu.version_d").iter_versions()
        releases = {version["vd_ndx"]: next(names).name for version, names in defined}
        symbols = elf.get_section_by_name(".dynsym").iter_symbols()
        for symbol, version in zip(
            symbols, elf.get_section_by_name(".gnu.version").iter_symbols(), strict=True
        ):
            index = version["ndx"]
            release = releases.get(index & 0x7FFF, "") if isinstance(index, int) else ""
            if release.startswith("GLIBC_2.") and symbol["st_shndx"] != "SHN_UNDEF":
                since = tuple(map(int, release.removeprefix("GLIBC_").split(".")))
                first[symbol.name] = min(since, first.get(symbol.name, since))
    return {name for name, since in first.items() if since > FLOOR}


def local_mistakes() -> Iterator[str]:
    """Return a line for each call of this system's parts that the oldest C library lacks."""
    loaded = (line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines())
    newer = newer_names(next(path for path in loaded if path.endswith("/libc.so.6")))
    for path in sorted(LOCAL.rglob("*")):
        for name in sorted(read_imported_symbols(str(path)) & newer - BY_COMPILER):
            yield f"{path}: {name} is not in glibc {'.'.join(map(str, FLOOR))}"


def main() -> int:
    """Print the mistakes; 1 when there are any."""
    faults = [
        f"{tree}: {mistake}"
        for tree in sorted(Path("build/portable").glob("*/tree"))
        for mistake in mistakes(tree, tree.parent.name)
    ]
    faults += local_mistakes()
    for wheel in sorted(Path("dist").glob("*manylinux*.whl")):
        with tempfile.TemporaryDirectory() as directory, zipfile.ZipFile(wheel) as packed:
            packed.extractall(directory)
            processor = wheel.stem.partition("manylinux_2_17_")[2]
            faults += [f"{wheel}: {mistake}" for mistake in mistakes(Path(directory), processor)]
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
