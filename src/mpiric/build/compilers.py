"""Recognition of compilers, and their flags for CPU targets."""

import re
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from mpiric.build.targets import generic_features
from mpiric.host.packaged import packaged_names, packaged_table
from mpiric.model.errors import MpiricError

# Specific families before the general ones.
_ORDER = ("aocc", "cray", "oneapi", "intel", "nvhpc", "clang", "gcc")


# Code for one length of SVE vectors is wrong on a CPU with another, and HWCAP does not tell the length.
VECTOR_LENGTH = "-msve-vector-bits="


class CompilerFamily(NamedTuple):
    """Properties of a family of compilers, from ``data/compilers``."""

    name: str
    facts: Mapping[str, Any]

    def flag_list(self, key: str) -> tuple[str, ...]:
        """Return a list of flags, empty if the family has none."""
        return tuple(str(word) for word in self.facts.get(key, ()))

    @property
    def module_output(self) -> str:
        """Option before the directory of Fortran modules."""
        return str(self.facts.get("module_output", "-J"))


class Identity(NamedTuple):
    """Identity of a compiler according to its own output."""

    family: str
    version: str
    machine: str  # "x86_64", "aarch64"

    @property
    def label(self) -> str:
        """Name and version, as recorded in objects."""
        return f"{self.family} {self.version}"


def families() -> dict[str, CompilerFamily]:
    """Return all families, derived ones before the general ones."""
    stems = set(packaged_names("build/data/compilers"))
    ordered = [name for name in _ORDER if name in stems] + sorted(stems.difference(_ORDER))
    return {name: family(name) for name in ordered}


def family(name: str) -> CompilerFamily:
    """Return a family without reading the others."""
    return CompilerFamily(name, packaged_table(f"build/data/compilers/{name}"))


def recognise(banner: str, machine: str) -> Identity | None:
    """Return the compiler that printed a banner, None if it is unknown."""
    for name, family in families().items():
        for pattern in family.facts["recognise"]:
            match = re.search(pattern, banner, re.MULTILINE)
            if match:
                return Identity(name, match["version"].rstrip("."), machine)
    return None


def target_flags(identity: Identity, target: str) -> tuple[str, ...]:
    """Return the compiler's flags for a target, by archspec. Raises MpiricError with alternatives."""
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
        hint=_alternatives(compiler, target),
    )


def _reason(refusal: str) -> str:
    bracket = re.search(r"\[(.*)\]", refusal)
    return bracket[1] if bracket else refusal


def _alternatives(compiler: str, target: str) -> str:
    """Return versions of the compiler or a similar target that would work."""
    import archspec.cpu

    entry = archspec.cpu.TARGETS[target]
    versions = [
        str(compiler_entry.get("versions", "")) for compiler_entry in entry.compilers.get(compiler, [])
    ]
    near = [str(a) for a in entry.ancestors if a.compilers.get(compiler)]
    near.sort(key=lambda name: -len(generic_features(name)))
    able = f"{compiler} versions that can: {', '.join(versions)}; " if versions else ""
    return able + (f"the closest target it knows is {near[0]}" if near else "take another compiler")


def predefined_macros(output: str) -> tuple[str, ...]:
    """Return the names of the macros in the output of ``-dM -E``."""
    return tuple(re.findall(r"^#define (\w+)", output, re.MULTILINE))
