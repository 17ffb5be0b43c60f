"""The runtime exports exactly the functions that the spec wraps and the library has."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from tools.generate.mpi.load import read_functions
from tools.generate.mpi.render import render as render_functions
from tools.generate.native import main as generate
from tools.generate.posix import render as render_posix

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "src/mpiric/_native"
FAMILIES = {
    "mpich": ("mpich", "mpi.h", "libmpi.so.12"),
    "openmpi": ("openmpi", "mpi.h", "libmpi.so.40"),
    "standard": ("mpich", "mpi_abi.h", "libmpi_abi.so.1"),
}


def wrapped() -> set[str]:
    return {function.name for function in read_functions()}


def unwrapped() -> set[str]:
    ledger = tomllib.loads((ROOT / "spec/mpi/exceptions.toml").read_text())
    return set(ledger["not_wrapped"])


def exported(library: Path) -> set[str]:
    with library.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym")
        return {
            symbol.name
            for symbol in symbols.iter_symbols()
            if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["bind"] in ("STB_GLOBAL", "STB_WEAK")
        }


def declared(prefix: Path, header: str) -> set[str]:
    """Return the functions of a preprocessed header."""
    done = subprocess.run(
        ["g++", "-E", "-P", "-xc++", f"-I{prefix}/include", "-include", header, "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {f"MPI_{name}" for name in re.findall(r"\bPMPI_(\w+)\s*\(", done.stdout)}


def of_layers(family: str) -> set[str]:
    """Return the names that the Fortran layer of a family calls in its library and the runtime exports."""
    source = ROOT / f"src/runtime/order/layer_{family}.cpp"
    return set(
        re.findall(r"^MPIRIC_EXPORTED .* \*?(\w+)\(", source.read_text(), re.M) if source.is_file() else ()
    )


@pytest.fixture(params=FAMILIES)
def family(request, mpi_prefix):
    prefix, header, library = FAMILIES[request.param]
    runtime = NATIVE / request.param / "libmpiric.so"
    if not runtime.is_file():
        pytest.skip(f"not built: {runtime}")
    return runtime, declared(mpi_prefix(prefix), header), mpi_prefix(prefix) / "lib" / library


def test_only_changed_sources_are_rewritten(tmp_path):
    generate(tmp_path)
    table, notes = tmp_path / "runtime/symbols/functions.inc", tmp_path / "runtime/wrap/notes.inc"
    text, written_ns = table.read_text(), notes.stat().st_mtime_ns
    table.write_text("")
    (tmp_path / "runtime/wrap/stale.inc").write_text("")
    generate(tmp_path)
    assert table.read_text() == text
    assert notes.stat().st_mtime_ns == written_ns
    assert not (tmp_path / "runtime/wrap/stale.inc").exists()


def test_files_define_exactly_their_handwritten_functions():
    ledger = tomllib.loads((ROOT / "spec/mpi/exceptions.toml").read_text())["handwritten"]
    for name, functions in ledger.items():
        source = (ROOT / f"src/runtime/wrap/hw_{name}.cpp").read_text()
        assert set(re.findall(r'extern "C" int w_(MPI_\w+)\(', source)) == set(functions)


def test_handwritten_substitutions_match_the_spec():
    ledger = tomllib.loads((ROOT / "spec/mpi/exceptions.toml").read_text())["substitution"]
    source = (ROOT / "src/runtime/order/hw_substitution.cpp").read_text()
    cases = re.findall(r"(?:case Function::|MPIRIC_BEFORE\()(MPI_\w+)[:,]", source)
    assert set(cases) == set(ledger["by_hand"])
    table = render_functions()["symbols/functions.inc"]
    generic = set(re.findall(r"\((MPI_\w+), \w+, \w+, \w+, 0x[1-9a-f]", table))
    assert "MPI_Allreduce" in generic
    assert not generic & {*ledger["by_hand"], *ledger["kept"]}


@pytest.mark.requires("g++")
def test_every_function_of_the_header_is_wrapped_or_excluded(family):
    _, functions, _ = family
    assert functions - wrapped() - unwrapped() == set()


@pytest.mark.requires("g++")
def test_exactly_the_wrapped_functions_are_exported(family):
    runtime, functions, _ = family
    expected = {prefix + name for name in functions & wrapped() for prefix in ("", "P")}
    posix = set(re.findall(r"^MPIRIC_POSIX\((\w+)", render_posix(), re.M))
    assert exported(runtime) == expected | posix | of_layers(runtime.parent.name) | {"dlopen", "H5Fcreate"}


@pytest.mark.requires("g++")
def test_library_has_every_exported_function(family):
    runtime, _, library = family
    functions = {name for name in exported(runtime) if re.match("P?MPI_", name)}
    assert functions - exported(library) == set()


@pytest.mark.requires("g++")
def test_runtime_needs_only_libc(family):
    runtime, _, _ = family
    with runtime.open("rb") as file:
        dynamic = next(part for part in ELFFile(file).iter_sections() if isinstance(part, DynamicSection))
        needed = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
    assert needed <= {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
