"""MPI libraries that can be installed from PyPI, as sets of wheels."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class WheelPart:
    """Files to install from one wheel, selected by path prefix in its data scheme (``bin/…``, ``lib/…``)."""

    distribution: str  # "impi-rt"
    version: str
    sha256: tuple[
        str, ...
    ] = ()  # hashes of the wheels, one per processor architecture; empty: pip checks none
    moves: Mapping[str, str] = field(
        default_factory=lambda: {"": ""}
    )  # path prefix in the wheel → path prefix in the installation

    @property
    def requirement(self) -> str:
        """Return the requirement for pip's command line and for messages."""
        return f"{self.distribution}=={self.version}"

    @property
    def requirement_line(self) -> str:
        """Return the requirement with the hashes that pip accepts, as a line of a requirements file."""
        return " ".join([self.requirement, *(f"--hash=sha256:{digest}" for digest in self.sha256)])


@dataclass(frozen=True)
class MpiPackage:
    """MPI library that is installed into its own prefix."""

    implementation: str  # name of a module in mpis/
    parts: tuple[WheelPart, ...]
    substitutions: Mapping[str, str] = field(
        default_factory=dict
    )  # replacements in the scripts in bin/, text → text
    fallbacks: Mapping[str, str] = field(
        default_factory=dict
    )  # link → target, if the system lacks the library

    @property
    def version(self) -> str:
        """Return the version of the first wheel, which is the library's version."""
        return self.parts[0].version

    @property
    def label(self) -> str:
        """Return the name of the prefix and of the library in it."""
        return f"{self.implementation}-{self.version}"
