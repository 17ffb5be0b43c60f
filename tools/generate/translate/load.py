"""Reads spec/abi: the roles of integers, and the values of each ABI family."""

import sys
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ABI = Path(__file__).parents[3] / "spec/abi"
FAMILIES = ("mpich", "openmpi", "standard")
# Type of a handle in C → the word for its class in src/translate.
CLASSES = {
    f"MPI_{name.capitalize()}": name
    for name in (
        "comm",
        "group",
        "datatype",
        "op",
        "request",
        "win",
        "file",
        "info",
        "errhandler",
        "message",
        "session",
    )
}


@dataclass(frozen=True)
class Roles:
    """Roles of integers of the interface."""

    values: dict[str, list[str]]  # role → names of its constants
    bits: dict[str, list[str]]  # the same where they are bits
    kinds: dict[str, str]  # parameter kind of the standard → role
    sizes: list[str]
    instead: dict[str, str] = field(default_factory=dict)  # constant → what a family without it has for it

    @property
    def constants(self) -> list[str]:
        """Every constant, each once."""
        names = [
            name for table in (self.values, self.bits) for constants in table.values() for name in constants
        ]
        return list(dict.fromkeys(names + self.sizes))


@dataclass(frozen=True)
class Family:
    """The values of one ABI family."""

    name: str
    integers: dict[str, int]
    handles: dict[str, dict[str, int | str]]  # class → name → number, or the symbol of an object
    objects: dict[str, int]  # symbol → bytes
    fortran: dict[str, dict[str, int]]  # class → name → Fortran's integer, where it is not the handle itself


@lru_cache(maxsize=1)
def read_roles() -> Roles:
    """The roles."""
    data = tomllib.loads((ABI / "roles.toml").read_text(encoding="utf-8"))
    return Roles(data["roles"], data["bits"], data["kinds"], data["sizes"]["names"], data["instead"])


def read_family(name: str) -> Family:
    """ABI family."""
    data = tomllib.loads((ABI / f"{name}.toml").read_text(encoding="utf-8"))
    return Family(
        name,
        data.get("integers", {}),
        data.get("handles", {}),
        data.get("objects", {}),
        data.get("fortran", {}),
    )


def read_repairs() -> list[Family]:
    """Read constants that libraries of the standard ABI define wrongly, one file per library."""
    return [read_family(f"repairs/{path.stem}") for path in sorted((ABI / "repairs").glob("*.toml"))]


@dataclass(frozen=True)
class Exceptions:
    """Functions translated by hand (by file), and refused functions with the reason."""

    handwritten: dict[str, dict[str, str]]
    refused: dict[str, str]
    without_library: frozenset[str]  # handwritten functions that call no function of the library
    fortran: frozenset[str]  # functions whose binding for Fortran is written by hand

    @property
    def by_hand(self) -> frozenset[str]:
        """Every function that is written by hand."""
        return frozenset(name for file in self.handwritten.values() for name in file)

    def reason(self, function: str) -> str:
        """Why a function is not generated, "" when it is."""
        table = {name: why for file in self.handwritten.values() for name, why in file.items()}
        return {**table, **self.refused}.get(function, "")


@lru_cache(maxsize=1)
def read_exceptions() -> Exceptions:
    """The exceptions."""
    data = tomllib.loads((ABI / "exceptions.toml").read_text(encoding="utf-8"))
    fortran = frozenset(name for names in data["fortran"].values() for name in names)
    return Exceptions(data["handwritten"], data["refused"], frozenset(data["handwritten"]["own"]), fortran)
