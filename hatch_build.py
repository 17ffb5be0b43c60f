"""Builds the native parts into wheels made from a checkout, when a compiler is there.

Without one the wheel is pure Python; what needs a native part says at use how to get it. An editable
install takes what `make setup` builds.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_COMMANDS = {"mpiric": "main", "mpiric-cc": "cc", "mpiric-cxx": "cxx", "mpiric-fc": "fc"}  # in mpiric.cli
_FAMILIES = {"mpich": "MPIRIC_MPICH_PREFIX", "openmpi": "MPIRIC_OPENMPI_PREFIX"}


class NativeParts(BuildHookInterface):
    """What hatchling calls around the making of a wheel."""

    @property
    def _wanted(self) -> bool:
        compilers = os.environ.get("CXX", "g++"), os.environ.get("CC", "gcc")
        return self.target_name == "wheel" and all(shutil.which(name) for name in compilers)

    def dependencies(self) -> list[str]:
        """CMake and Ninja, asked for only where they will be used."""
        return ["cmake>=3.25", "ninja>=1.11"] if self._wanted else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and give the wheel the platform it is for."""
        build_data["shared_scripts"] = self._commands_in_python()
        if version == "editable":
            return
        self._bring_charts()
        if not self._wanted:
            return
        native = Path(self.root) / "build/wheel/tree"  # not src/mpiric/_native, which may be in use
        try:
            self._build(native)
        except (OSError, subprocess.CalledProcessError, UnavailableError) as error:
            self.app.display_warning(f"mpiric: built without its native parts: {error}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-linux_{os.uname().machine}"
        build_data["force_include"][str(native)] = "mpiric/_native"
        front = native / "any/mpiric-front"
        for name in _COMMANDS:
            shutil.copy(front, native.parent / name)
        front.unlink()
        build_data["shared_scripts"] = {str(native.parent / name): name for name in _COMMANDS}

    def _commands_in_python(self) -> dict[str, str]:
        """The commands where no native ones are; in an editable install `make setup` replaces them."""
        place = Path(self.root) / "build/commands"
        place.mkdir(parents=True, exist_ok=True)
        for name, module in _COMMANDS.items():
            (place / name).write_text(f"#!python\nfrom mpiric.cli.{module} import main\n\nmain()\n")
            (place / name).chmod(0o755)
        return {str(place / name): name for name in _COMMANDS}

    def _bring_charts(self) -> None:
        """The library that draws the charts of reports; without it they have tables only."""
        try:
            subprocess.run(
                ["tools/setup/charts"],
                cwd=self.root,
                check=True,
                stdout=sys.stderr,
                env={**os.environ, "PYTHON": sys.executable},
            )
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"mpiric: built without the charts of reports: {error}")

    def _build(self, native: Path) -> None:
        build = Path(self.root) / "build/wheel"
        tree = (
            f"{self.root}/build/wheel-native"  # as deep as `make setup` builds: ccache then knows the sources
        )
        prefixes = [f"-D{variable}={self._prefix(name, build)}" for name, variable in _FAMILIES.items()]
        shutil.rmtree(native, ignore_errors=True)
        for step in (
            ["-S", self.root, "-B", tree, "-G", "Ninja", *prefixes],
            ["--build", tree],
            ["--install", tree, "--strip", "--prefix", str(native)],
        ):
            subprocess.run([_cmake(), *step], check=True, stdout=sys.stderr)

    def _prefix(self, name: str, build: Path) -> Path:
        """The headers of one MPI: a prefix that is there already, else one of this build's own."""
        source = Path(self.root) / "src"
        sys.path.insert(0, str(source))
        try:
            from mpiric.host.installation.prefixes import install_package, installed_prefixes
            from mpiric.model.errors import MpiricError
            from mpiric.mpis import packages

            package = packages()[name]
            present = installed_prefixes(os.environ).get(package.label)
            try:
                return present or install_package(package, build / "mpi")
            except MpiricError as error:
                raise UnavailableError(error.message) from error
        finally:
            sys.path.remove(str(source))


class UnavailableError(Exception):
    """Headers of an MPI cannot be had."""


def _cmake() -> str:
    found = shutil.which("cmake")
    if found is None:
        raise UnavailableError("cmake is not there")
    return found
