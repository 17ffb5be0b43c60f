"""Rewrite spec/abi/<family>.toml from the header of an MPI of that family.

For maintainers, when a family has new constants: pass FAMILY=HEADER. For Open MPI, whose predefined objects
are data, append a comma and its library, and another comma and the directory of ``mpif-handles.h``, whose
integers represent them in Fortran. Only facts are taken: names, values, sizes.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .load import ABI, CLASSES, read_roles

# MPI_COMM_WORLD ((MPI_Comm)0x44000000), and Open MPI's OMPI_PREDEFINED_GLOBAL(MPI_Comm, ompi_mpi_comm_world)
_NUMBER = re.compile(r"^\s*#\s*define\s+MPI_(\w+)\s+\(?\((MPI_\w+)\)\s*\(?(0x[0-9a-fA-F]+|0)\b", re.MULTILINE)
_OBJECT = re.compile(
    r"^\s*#\s*define\s+MPI_(\w+)\s+OMPI_PREDEFINED_GLOBAL\(\s*(MPI_\w+),\s*(\w+)\s*\)", re.MULTILINE
)
_ALIAS = re.compile(r"^\s*#\s*define\s+MPI_(\w+)\s+MPI_(\w+)\s*$", re.MULTILINE)
_FORTRAN = re.compile(r"^\s*parameter\s*\(MPI_(\w+)=(\d+)\)", re.MULTILINE | re.IGNORECASE)


def handles(header: str) -> dict[str, dict[str, str]]:
    """Class → name → value of the predefined handles, as TOML."""
    constants: dict[str, dict[str, str]] = {name: {} for name in CLASSES.values()}
    for pattern, quote in ((_NUMBER, ""), (_OBJECT, '"')):
        for name, kind, value in pattern.findall(header):
            if kind in CLASSES:
                constants[CLASSES[kind]][name] = f"{quote}{value}{quote}"
    for name, other in _ALIAS.findall(header):
        for entries in constants.values():
            if other in entries:
                entries.setdefault(name, entries[other])
    return constants


def full_name(constant: str, identifiers: set[str]) -> str:
    """The name in a header of a constant of a role; extensions of one family have theirs in full."""
    if constant.startswith(("MPIX_", "OMPI_")):
        return constant
    return f"MPIX_{constant}" if f"MPIX_{constant}" in identifiers else f"MPI_{constant}"


def integers(header: Path, names: list[str]) -> dict[str, int]:
    """The values of those constants that the header has, asked of the compiler."""
    compiler = ["gcc", f"-I{header.parent}"]
    text = subprocess.run([*compiler, "-E", "-dD", header], check=True, capture_output=True, text=True).stdout
    identifiers = set(re.findall(r"\b(?:MPIX?|OMPI)_\w+", text))
    full_names = {
        name: full_name(name, identifiers) for name in names if full_name(name, identifiers) in identifiers
    }
    lines = "".join(f'printf("{name} %lld\\n", (long long){full});' for name, full in full_names.items())
    program = f'#include "{header}"\n#include <stdio.h>\nint main(void) {{ {lines} return 0; }}\n'
    with tempfile.TemporaryDirectory() as directory:
        source, binary = Path(directory) / "ask.c", Path(directory) / "ask"
        source.write_text(program, encoding="utf-8")
        subprocess.run([*compiler, "-c", source, "-o", f"{binary}.o"], check=True)
        subprocess.run(
            ["gcc", f"{binary}.o", "-o", binary, "-Wl,--unresolved-symbols=ignore-all"], check=True
        )
        answer = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    return {name: int(value) for name, value in (line.split() for line in answer.splitlines())}


def sizes(library: str, symbols: set[str]) -> dict[str, int]:
    """Bytes of data symbols of a library."""
    table = subprocess.run(
        ["readelf", "-W", "--dyn-syms", library], check=True, capture_output=True, text=True
    ).stdout
    rows = (line.split() for line in table.splitlines())
    return {row[7]: int(row[2]) for row in rows if len(row) == 8 and row[7] in symbols}


def fortran(directory: Path, predefined: dict[str, dict[str, str]]) -> list[str]:
    """Class → name → Fortran's integer, as lines of TOML."""
    text = "".join(
        (directory / name).read_text(encoding="utf-8") for name in ("mpif-handles.h", "mpif-io-handles.h")
    )
    numbers = dict(_FORTRAN.findall(text))
    lines = []
    for kind, entries in predefined.items():
        shared = [f"{name} = {numbers[name]}" for name in entries if name in numbers]
        lines += [f"[fortran.{kind}]", *shared, ""] if shared else []
    return lines


def render(header: Path, library: str, fortran_headers: str) -> str:
    """The file of one family."""
    predefined = handles(header.read_text(encoding="utf-8", errors="replace"))
    values = integers(header, read_roles().constants)
    lines = ["# Written by tools/generate/translate/import_headers.py: predefined handles and integers.", ""]
    lines += ["[integers]", *(f"{name} = {value}" for name, value in values.items()), ""]
    for kind, entries in predefined.items():
        lines += [f"[handles.{kind}]", *(f"{name} = {value}" for name, value in entries.items()), ""]
    if library:
        objects = {value.strip('"') for entries in predefined.values() for value in entries.values()}
        lines += [
            "[objects]",
            *(f"{name} = {size}" for name, size in sorted(sizes(library, objects).items())),
            "",
        ]
    if fortran_headers:
        lines += fortran(Path(fortran_headers), predefined)
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    """Write the named files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="+", metavar="FAMILY=HEADER[,LIBRARY[,FORTRAN]]")
    for word in parser.parse_args().families:
        family, _, where = word.partition("=")
        header, library, fortran_headers = [*where.split(","), "", ""][:3]
        text = render(Path(header).resolve(), library, fortran_headers)
        (ABI / f"{family}.toml").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
