"""Write pins.toml: versions and checksums of mpiric's direct and indirect dependencies on PyPI.

Packaging systems without a solver (EasyBuild) install these. It queries PyPI through pip, so run it by hand
when a dependency is new or pins have become old; recipes are rendered from pins.toml.
"""

import json
import subprocess
import sys
from collections.abc import Iterator

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.generate._target import ROOT
from tools.generate.packaging.project import PINNED_PLATFORMS, PINS

from mpiric.host.packaged import parse_toml

_HEAD = "# Written by tools/generate/packaging/pin.py from pyproject.toml and PyPI.\n"


def wanted_by(python: str, lines: list[str]) -> Iterator[str]:
    """Dependencies that one Python needs, without markers: pip evaluates those for its own Python."""
    for requirement in map(Requirement, lines):
        marker, requirement.marker = requirement.marker, None
        if marker is None or marker.evaluate({**default_environment(), "python_version": python}):
            yield str(requirement)


def report(requirements: list[str], python: str, processor: str) -> list[dict]:
    """Return the wheels that pip would install for a Python version and processor."""
    platforms = [f"manylinux_2_{minor}_{processor}" for minor in (17, 27, 28)]
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    command += ["--only-binary=:all:", "--target=/nowhere", "--report=-", f"--python-version={python}"]
    command += [word for platform in platforms for word in ("--platform", platform)]
    done = subprocess.run([*command, *requirements], check=True, stdout=subprocess.PIPE)
    distributions: list[dict] = json.loads(done.stdout)["install"]
    return distributions


def in_order(installed: dict[str, dict]) -> Iterator[str]:
    """Sort names of distributions after their dependencies."""
    done: set[str] = set()

    def visit(name: str) -> Iterator[str]:
        if name in done:
            return
        done.add(name)
        for line in installed[name]["metadata"].get("requires_dist", []):
            needed = Requirement(line)
            is_needed = needed.marker is None or needed.marker.evaluate(
                {**default_environment(), "extra": ""}
            )
            if is_needed and canonicalize_name(needed.name) in installed:
                yield from visit(canonicalize_name(needed.name))
        yield name

    for name in sorted(installed):
        yield from visit(name)


def main() -> None:
    """Pin what the oldest Python gets, for every Python and processor."""
    dependencies = parse_toml((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "dependencies"
    ]
    versions: dict[str, dict] = {}
    files: dict[str, dict[str, tuple[str, str]]] = {}
    for platform in PINNED_PLATFORMS:
        python, _, processor = platform.partition("-")
        needed = {canonicalize_name(Requirement(line).name): line for line in wanted_by(python, dependencies)}
        useless = {canonicalize_name(Requirement(line).name) for line in dependencies} - needed.keys()
        fixed = [f"{name}=={versions[name]['metadata']['version']}" for name in versions.keys() - useless]
        for one in report([*needed.values(), *fixed], python, processor):
            name = canonicalize_name(one["metadata"]["name"])
            versions.setdefault(name, one)
            url, checksum = (
                one["download_info"]["url"],
                one["download_info"]["archive_info"]["hashes"]["sha256"],
            )
            files.setdefault(name, {})[platform] = (url.rpartition("/")[2], checksum)
    lines = [_HEAD]
    for name in in_order(versions):
        lines.append(f'[{name}]\nversion = "{versions[name]["metadata"]["version"]}"\n')
        lines.append(f"[{name}.files]  # Python and processor: wheel, sha256\n")
        lines += [
            f'"{platform}" = ["{file}", "{checksum}"]\n' for platform, (file, checksum) in files[name].items()
        ]
        lines.append("\n")
    PINS.write_text("".join(lines).rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
