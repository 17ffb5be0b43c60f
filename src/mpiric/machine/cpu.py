"""Microarchitecture of the CPU in archspec's names, from the text of /proc/cpuinfo.

The rule is archspec's: the deepest target whose vendor and features match. It is repeated here because
archspec only reads the machine it runs on, not the text of another host.
"""

import re

from archspec.cpu import TARGETS, Microarchitecture

from mpiric.host.host import Host
from mpiric.model.machine import Cpu


def read_cpu(host: Host) -> Cpu:
    """Return the CPU of a host; the names are generic if the kernel reports too little."""
    return parse_cpuinfo(host.read_text("/proc/cpuinfo") or "")


def parse_cpuinfo(text: str) -> Cpu:
    """Return the CPU that /proc/cpuinfo describes; its first processor represents all others."""
    facts: dict[str, str] = {}
    for line in text.splitlines():
        key, separator, value = line.partition(":")
        if separator:
            facts.setdefault(key.strip(), value.strip())
    family = _family(facts)
    vendor = facts.get("vendor_id") or _arm_vendor(facts.get("CPU implementer", ""))
    kernel_features = set((facts.get("flags") or facts.get("Features") or "").split())
    # archspec knows the other names under which the kernel prints some features.
    features = tuple(sorted(Microarchitecture("", [], vendor or "generic", kernel_features, {}).features))
    fitting = [target for target in TARGETS.values() if _fits(target, family, vendor, features, facts)]
    generic = max((t for t in fitting if t.vendor == "generic"), key=_depth, default=None)
    part = facts.get("CPU part", "")
    by_part = [t for t in fitting if part and t.cpu_part == part]
    better = [t for t in by_part or fitting if generic is None or t > generic]
    target = max(better, key=_depth, default=generic)
    model = facts.get("model name") or facts.get("cpu") or facts.get("uarch") or ""
    return Cpu(
        target=target.name if target else family,
        generic=generic.name if generic else family,
        vendor=vendor or "generic",
        model=re.sub(r"\s+", " ", model),
        features=features,
    )


def _family(facts: dict[str, str]) -> str:
    if "flags" in facts:
        return "x86_64"
    if "CPU implementer" in facts:
        return "aarch64"
    if "POWER" in facts.get("cpu", ""):
        return "ppc64le"
    return "riscv64" if facts.get("isa", "").startswith("rv64") else ""


def _arm_vendor(code: str) -> str:
    vendors: dict[str, str] = _arm_vendors()
    return vendors.get(code, code)


def _arm_vendors() -> dict[str, str]:
    from archspec.cpu.schema import TARGETS_JSON

    vendors: dict[str, str] = TARGETS_JSON["conversions"]["arm_vendors"]
    return vendors


def _fits(
    target: Microarchitecture, family: str, vendor: str, features: tuple[str, ...], facts: dict[str, str]
) -> bool:
    root = TARGETS.get(family)
    if root is None or (target != root and root not in target.ancestors):
        return False
    if family == "ppc64le":
        power = re.search(r"POWER(\d+)", facts["cpu"])
        return power is not None and target.generation <= int(power[1])
    if family == "riscv64":
        name = facts.get("uarch", "").rpartition(",")[2].replace("-", "")
        return target.vendor == "generic" or target.name == name
    if family == "aarch64" and target.vendor == "generic" and target != root:
        return False  # the kernel does not report the version of the architecture
    return target.vendor in {vendor, "generic"} and set(target.features) <= set(features)


def _depth(target: Microarchitecture) -> tuple[int, int]:
    return len(target.ancestors), len(target.features)
