"""Project data in recipes, from pyproject.toml and the package's version."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

from mpiric.host.packaged import parse_toml

SYSTEMS = ("conda", "spack", "guix")
PINS = Path(__file__).with_name("pins.toml")
PINNED_PLATFORMS = tuple(  # Python and processor
    f"3.{minor}-{processor}" for minor in range(10, 14) for processor in ("x86_64", "aarch64")
)
_NAMES: Mapping[str, Mapping[str, str]] = {  # exceptions to a system's naming rule
    "clustershell": {"guix": "clustershell"},
}
_RULES = {"conda": "{}", "spack": "py-{}", "guix": "python-{}"}


@dataclass(frozen=True)
class Dependency:
    """Entry of ``dependencies``."""

    name: str  # lower case
    minimum: str  # smallest version; "" if any
    python_below: str = ""  # only with an older Python than that

    def called(self, system: str) -> str:
        """The name that a packaging system has for it."""
        return _NAMES.get(self.name, {}).get(system) or _RULES[system].format(self.name)

    @property
    def python_until(self) -> str:
        """The last minor version of Python that needs it: 3.11 → 3.10."""
        major, _, minor = self.python_below.partition(".")
        return f"{major}.{int(minor) - 1}" if self.python_below else ""


@dataclass(frozen=True)
class Pin:
    """Distribution in the version for systems without a solver."""

    name: str
    version: str
    files: Mapping[str, tuple[str, str]]  # Python and processor: wheel, sha256

    @property
    def everywhere(self) -> tuple[str, str] | None:
        """The one wheel of every Python and processor."""
        return next(iter(self.files.values())) if len({*self.files.values()}) == 1 else None


@dataclass(frozen=True)
class Project:
    """The project as packaging systems see it."""

    name: str
    version: str
    summary: str
    license: str
    python_least: str
    keywords: tuple[str, ...]
    dependencies: tuple[Dependency, ...]
    build_dependencies: tuple[Dependency, ...]
    commands: tuple[str, ...]


def read_project(root: Path) -> Project:
    """Read a checkout. Raises ValueError for a dependency that recipes have no words for."""
    text = parse_toml((root / "pyproject.toml").read_text(encoding="utf-8"))
    facts = text["project"]
    return Project(
        name=facts["name"],
        version=_version(root / text["tool"]["hatch"]["version"]["path"]),
        summary=facts["description"],
        license=facts["license"],
        python_least=facts["requires-python"].removeprefix(">="),
        keywords=tuple(facts["keywords"]),
        dependencies=tuple(_dependency(line) for line in facts["dependencies"]),
        build_dependencies=tuple(_dependency(line) for line in text["build-system"]["requires"]),
        commands=tuple(_assigned(root / "hatch_build.py", "_COMMANDS")),
    )


def read_pins(project: Project) -> tuple[Pin, ...]:
    """Read pins.toml, sorted after dependencies. Raises ValueError if a distribution is missing."""
    text = parse_toml(PINS.read_text(encoding="utf-8"))
    for dependency in project.dependencies:
        if dependency.name not in text or Version(text[dependency.name]["version"]) < Version(
            dependency.minimum or "0"
        ):
            raise ValueError(f"{dependency.name} is not pinned: run python -m tools.generate.packaging.pin")
    return tuple(
        Pin(name, pin["version"], {on: tuple(file) for on, file in pin["files"].items()})
        for name, pin in text.items()
    )


def _dependency(line: str) -> Dependency:
    requirement = Requirement(line)
    versions = [(entry.operator, entry.version) for entry in requirement.specifier]
    if [operator for operator, _ in versions] not in ([], [">="]) or requirement.extras:
        raise ValueError(f"{line}: recipes know 'name' and 'name>=version' only")
    marker, below = str(requirement.marker or ""), ""
    if marker:
        start, _, below = marker.partition(" < ")
        if start != "python_version":
            raise ValueError(f"{line}: recipes know the marker python_version < 'x' only")
    return Dependency(requirement.name.lower(), versions[0][1] if versions else "", below.strip("\"'"))


def _version(path: Path) -> str:
    version: str = _assigned(path, "__version__")
    return version


def _assigned(path: Path, name: str) -> Any:
    """The literal that a module assigns to a name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    values = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    )
    return ast.literal_eval(next(values))
