import sys

import archspec.cpu
import pytest

from mpiric.host.facts.local import LocalHost
from mpiric.machine.system import parse_cpuinfo, read_cpu

ZEN2 = """processor : 0
vendor_id\t: AuthenticAMD
model name\t: AMD EPYC 7742 64-Core Processor
flags\t\t: {flags}
"""


def _flags(target: str) -> str:
    return " ".join(sorted(archspec.cpu.TARGETS[target].features))


def test_the_generation_is_the_deepest_that_fits():
    cpu = parse_cpuinfo(ZEN2.format(flags=_flags("zen2")))
    assert (cpu.target, cpu.generic, cpu.vendor) == ("zen2", "x86_64_v3", "AuthenticAMD")
    assert cpu.model == "AMD EPYC 7742 64-Core Processor"


def test_another_vendors_generation_never_fits():
    cpu = parse_cpuinfo(ZEN2.format(flags=_flags("icelake")))
    assert cpu.target not in {"icelake", "skylake_avx512"}
    assert cpu.generic == "x86_64_v4"


@pytest.mark.parametrize("target", ["nehalem", "sandybridge", "haswell", "skylake_avx512", "icelake"])
def test_intel_generations_are_named_by_their_flags(target: str):
    text = f"vendor_id : GenuineIntel\nflags : {_flags(target)}\n"
    assert parse_cpuinfo(text).target == target


def test_arm_is_named_by_implementer_and_part():
    features = _flags("neoverse_n1")
    text = f"processor : 0\nFeatures : {features}\nCPU implementer : 0x41\nCPU part : 0xd0c\n"
    assert parse_cpuinfo(text).target == "neoverse_n1"


def test_power_is_named_by_its_number():
    assert parse_cpuinfo("processor : 0\ncpu : POWER9, altivec supported\n").target == "power9le"


def test_an_empty_file_names_nothing():
    assert parse_cpuinfo("").target == ""


@pytest.mark.skipif(sys.platform != "linux", reason="archspec reads /proc/cpuinfo on Linux only")
def test_the_cpu_has_its_archspec_name():
    assert read_cpu(LocalHost()).target == archspec.cpu.host().name
