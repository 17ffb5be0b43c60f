"""Variables that live as long as the process and may change: few, and each in the struct of its owner."""

import re
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

NATIVE = Path(__file__).parents[2] / "src/mpiric/_native"
WRITABLE = (".data", ".bss", ".tdata", ".tbss")  # .data.rel.ro is constant once the library is loaded
OURS = re.compile(r"_ZZ?N[KVr]*6mpiric|mpiric_|_ZZ\d+mpiric_|_ZN12_GLOBAL__N_1(5state|3own)")
GUARD = "_ZGV"  # guard of a variable that is initialised when its function is first called

# Largest numbers of such variables. They may only fall.
CEILINGS = {
    "mpich/libmpiric.so": 38,
    "openmpi/libmpiric.so": 40,
    "standard/libmpiric.so": 38,
    "any/libmpiric-allocator.so": 2,
    "translate/mpich-openmpi/libmpi.so.12": 40,
}


def mutable_globals(library: Path) -> list[str]:
    """Return the mangled names of the runtime's writable variables, thread-local ones included."""
    with library.open("rb") as file:
        elf = ELFFile(file)
        sections = [section.name for section in elf.iter_sections()]
        return sorted(
            symbol.name
            for symbol in elf.get_section_by_name(".symtab").iter_symbols()
            if symbol["st_info"]["type"] in ("STT_OBJECT", "STT_TLS")
            and isinstance(symbol["st_shndx"], int)
            and sections[symbol["st_shndx"]] in WRITABLE
            and OURS.match(symbol.name)
        )


@pytest.mark.parametrize("library", CEILINGS)
def test_there_are_no_more_mutable_globals_than_the_ceiling(library):
    names = mutable_globals(NATIVE / library)
    assert len(names) <= CEILINGS[library], "\n".join(names)
