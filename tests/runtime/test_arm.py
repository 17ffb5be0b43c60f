"""The runtime for AArch64, cross-compiled from the same sources; its unit tests run under QEMU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from tests.runtime.test_exports import FAMILIES, NATIVE, exported
from tests.runtime.test_units import HERE, PROGRAMS, RUNTIME, compile_units, includes, sources

SYSROOT = "/usr/aarch64-linux-gnu"
PREFIX = "aarch64-linux-gnu-"

pytestmark = [
    pytest.mark.requires(f"{PREFIX}g++", f"{PREFIX}gcc", "qemu-aarch64"),
    pytest.mark.sweep,
]


@pytest.mark.timeout(1800)
@pytest.mark.requires("mpi:mpich", "mpi:openmpi")
def test_every_family_exports_the_same_names_on_arm(mpi_prefix, tmp_path):
    cmake = Path(sys.executable).parent / "cmake"
    settings = {
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "CMAKE_CXX_COMPILER": f"{PREFIX}g++",
        "CMAKE_ASM_COMPILER": f"{PREFIX}gcc",
        "Python3_EXECUTABLE": sys.executable,
        "MPIRIC_MPICH_PREFIX": mpi_prefix("mpich"),
        "MPIRIC_OPENMPI_PREFIX": mpi_prefix("openmpi"),
    }
    definitions = [f"-D{name}={value}" for name, value in settings.items()]
    subprocess.run([cmake, "-S", RUNTIME, "-B", tmp_path, "-G", "Unix Makefiles", *definitions], check=True)
    jobs = os.environ.get("JOBS", "2")
    subprocess.run([cmake, "--build", tmp_path, "-j", jobs], check=True)
    for family in FAMILIES:
        library = tmp_path / family / "libmpiric.so"
        with library.open("rb") as file:
            assert ELFFile(file).get_machine_arch() == "AArch64"
        native = NATIVE / family / "libmpiric.so"
        if native.is_file():
            assert exported(library) == exported(native)


@pytest.mark.requires("header:doctest/doctest.h")
@pytest.mark.parametrize(
    "program",
    [unit for unit in PROGRAMS if unit.id != "test_readable"],  # QEMU has no process_vm_readv
)
def test_unit_on_arm(program, generated, mpi_prefix, tmp_path):
    binary = tmp_path / program.stem
    doctest = ["-idirafter", "/usr/include", HERE / "doctest_main.cpp"]
    arguments = [
        f"-I{RUNTIME}/base/arch/aarch64",
        f"-I{generated}",
        *includes(program, mpi_prefix),
        *sources(program),
        *doctest,
    ]
    compile_units(f"{PREFIX}g++", *arguments, "-o", binary)
    done = subprocess.run(["qemu-aarch64", "-L", SYSROOT, binary], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
