"""Which compiler a command is, what it can build, and how it spells a CPU target."""

import re
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from mpiric.build.targets import generic_features
from mpiric.host.packaged import packaged_names, packaged_table
from mpiric.model.errors import MpiricError

_ORDER = ("aocc", "cray", "oneapi", "intel", "nvhpc", "clang", "gcc")  # the special ones before the general


# Code for one length of SVE vectors is wrong on a CPU with another, and HWCAP does not tell the length.
VECTOR_LENGTH = "-msve-vector-bits="


class CompilerFamily(NamedTuple):
    """What is known of a family of compilers, from ``data/compilers``."""

    name: str
    facts: Mapping[str, Any]

    def words(self, key: str) -> tuple[str, ...]:
        """A list of flags, empty when the family has none."""
        return tuple(str(word) for word in self.facts.get(key, ()))

    @property
    def module_output(self) -> str:
        """The flag before the directory in which Fortran modules are written."""
        return str(self.facts.get("module_output", "-J"))


class Identity(NamedTuple):
    """A compiler as it introduced itself."""

    family: str
    version: str
    machine: str  # "x86_64", "aarch64"

    @property
    def label(self) -> str:
        """Name and version, as recorded in what it builds."""
        return f"{self.family} {self.version}"


def families() -> dict[str, CompilerFamily]:
    """Every family that has a file, the special ones before the general ones they descend from."""
    stems = set(packaged_names("build/data/compilers"))
    ordered = [name for name in _ORDER if name in stems] + sorted(stems.difference(_ORDER))
    return {name: family(name) for name in ordered}


def family(name: str) -> CompilerFamily:
    """One family: a compilation needs no other."""
    return CompilerFamily(name, packaged_table(f"build/data/compilers/{name}"))


def recognise(banner: str, machine: str) -> Identity | None:
    """The compiler behind what ``--version`` printed, None for one nobody has described."""
    for name, family in families().items():
        for pattern in family.facts["recognise"]:
            found = re.search(pattern, banner, re.MULTILINE)
            if found:
                return Identity(name, found["version"].rstrip("."), machine)
    return None


def target_flags(identity: Identity, target: str) -> tuple[str, ...]:
    """How this compiler is told to build for a target, by archspec; an error names what would know it."""
    import archspec.cpu

    facts = family(identity.family).facts
    compiler = str(facts["archspec"])
    short = ".".join(identity.version.split(".")[:2])
    refusal = ""
    for version in (identity.version, short):  # archspec reads "up to 12.2" as excluding 12.2.0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                flags = archspec.cpu.TARGETS[target].optimization_flags(compiler, version)
        except archspec.cpu.UnsupportedMicroarchitecture as error:
            refusal = str(error)
            continue
        if flags:
            return tuple(flag for flag in flags.split() if not flag.startswith(VECTOR_LENGTH))
    if target in facts.get("baseline", {}):
        return tuple(facts["baseline"][target])
    raise MpiricError(
        f"{identity.label} cannot build for {target}" + (f" ({_reason(refusal)})" if refusal else ""),
        hint=_who_can(compiler, target),
    )


def _reason(refusal: str) -> str:
    bracket = re.search(r"\[(.*)\]", refusal)
    return bracket[1] if bracket else refusal


def _who_can(compiler: str, target: str) -> str:
    """Which version of the compiler, or which nearby target, would do."""
    import archspec.cpu

    entry = archspec.cpu.TARGETS[target]
    versions = [str(known.get("versions", "")) for known in entry.compilers.get(compiler, [])]
    near = [str(a) for a in entry.ancestors if a.compilers.get(compiler)]
    near.sort(key=lambda name: -len(generic_features(name)))
    able = f"{compiler} versions that can: {', '.join(versions)}; " if versions else ""
    return able + (f"the closest target it knows is {near[0]}" if near else "take another compiler")


def predefined_macros(output: str) -> tuple[str, ...]:
    """Names of the macros in what ``-dM -E`` prints."""
    return tuple(re.findall(r"^#define (\w+)", output, re.MULTILINE))
