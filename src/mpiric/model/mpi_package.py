"""MpiPackage: an MPI library that can be brought from PyPI, as the wheels it is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class WheelPart:
    """What is taken from one wheel: files of its data scheme (``bin/…``, ``lib/…``), by where they begin."""

    distribution: str  # "impi-rt"
    version: str
    sha256: tuple[str, ...] = ()  # hashes of the wheels, one per processor; empty: pip checks none
    moves: Mapping[str, str] = field(default_factory=lambda: {"": ""})  # beginning there → beginning here

    @property
    def requirement(self) -> str:
        """The requirement as pip reads it on its command line and in messages."""
        return f"{self.distribution}=={self.version}"

    @property
    def requirement_line(self) -> str:
        """The requirement with the hashes that pip accepts, as a line of a requirements file."""
        return " ".join([self.requirement, *(f"--hash=sha256:{digest}" for digest in self.sha256)])


@dataclass(frozen=True)
class MpiPackage:
    """One MPI library with a prefix of its own."""

    implementation: str  # registry key in mpis/
    parts: tuple[WheelPart, ...]
    substitutions: Mapping[str, str] = field(default_factory=dict)  # in scripts under bin/, text → text
    fallbacks: Mapping[str, str] = field(
        default_factory=dict
    )  # link → target, where the system has no such library

    @property
    def version(self) -> str:
        """Version of the first wheel, which the library's own is."""
        return self.parts[0].version

    @property
    def label(self) -> str:
        """Name of its prefix, and of the library found there."""
        return f"{self.implementation}-{self.version}"
