"""The versions that ELF files ask for and offer."""

import platform
import sys
from pathlib import Path

import pytest

from mpiric.host.facts.elf import read_elf


@pytest.fixture
def libc() -> str:
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = {line.split()[-1] for line in lines if line.endswith("/libc.so.6")}
    if not paths:
        pytest.skip("this Python uses another C library than glibc")
    return paths.pop()


def test_glibc_says_its_release(libc):
    release = tuple(map(int, platform.libc_ver()[1].split(".")))
    assert read_elf(libc).glibc_offered == release


def test_a_program_says_its_processor_and_needs_no_newer_glibc_than_it_runs_with(libc):
    program = read_elf(sys.executable)
    assert (program.bits, program.processor) == (64, platform.machine())
    assert () < program.glibc_needed <= read_elf(libc).glibc_offered
    assert program.glibc_offered == ()
