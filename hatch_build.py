"""Builds the native parts into wheels, and what a build needs into source distributions; asks no network.

MPIRIC_NATIVE says which native parts a wheel gets:
``portable`` (default)  for every Linux since glibc 2.17, by Zig from PyPI; MPIRIC_ARCH: for another processor
``local``               for this system and later ones, by its own compiler (CC, CXX)
``off``                 none: pure Python, and what needs a native part says at use how to get it
MPIRIC_RUNTIME=WHEEL takes the libraries that are preloaded into programs from a portable wheel of this
version, so that they enter containers with an older C library than that of ``local``.
MPIRIC_MPICH_PREFIX and MPIRIC_OPENMPI_PREFIX name prefixes with other headers than those in third_party.
MPIRIC_DIGESTS=off notes no digests of the native parts: for packaging systems that change their files
afterwards (run paths, strip), which mpiric would else refuse to use.
MPIRIC_CHARTS=off leaves out the library that draws the charts of reports; they have tables then.
An editable install takes what `make setup` builds.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_COMMANDS = {"mpiric": "main", "mpiric-cc": "cc", "mpiric-cxx": "cxx", "mpiric-fc": "fc"}  # in mpiric.cli
_SWITCH = "MPIRIC_NATIVE"
_KINDS = ("portable", "local", "off")
_PROCESSORS = ("x86_64", "aarch64")
_OFF = f"set {_SWITCH}=off for mpiric without native parts"
_HEADERS = {  # of the MPIs whose ABI families the native parts are built for
    "MPIRIC_MPICH_PREFIX": ("third_party/mpich", "mpi_abi.h"),
    "MPIRIC_OPENMPI_PREFIX": ("third_party/openmpi", "mpi.h"),
}
_CHARTS = "src/mpiric/report/library/echarts.min.js"
_MANIFEST = "manifest.json"  # as cmake/manifest.py writes it
_ZIG = "ziglang==0.17.1"  # as in tools/setup/native-portable


class NativeParts(BuildHookInterface):
    """What hatchling calls around the making of a source distribution or a wheel."""

    @property
    def _kind(self) -> str:
        kind = os.environ.get(_SWITCH, "") or _KINDS[0]
        if kind not in _KINDS:
            self._stop(f"{_SWITCH} is {kind!r}", f"it can be {', '.join(_KINDS)}")
        return kind

    def dependencies(self) -> list[str]:
        """Names the programs that the build will run."""
        if self.target_name != "wheel" or self._kind == "off":
            return []
        programs = ["cmake>=3.25", "ninja>=1.11"]
        return (
            [*programs, _ZIG] if self._kind == "portable" and not os.environ.get("MPIRIC_ZIG") else programs
        )

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Look whether everything is there, build, and give the wheel the platform it is for."""
        if version == "editable":
            build_data["shared_scripts"] = self._commands_in_python()
            return
        if os.environ.get("MPIRIC_CHARTS") != "off":
            hint = "run 'make setup', or set MPIRIC_CHARTS=off for reports with tables only"
            self._need(_CHARTS, "the chart library of reports", hint)
        if self.target_name == "sdist" or self._kind != "off":
            for variable, (_, header) in _HEADERS.items():
                hint = f"run 'make headers', build from the source distribution, or {_OFF}"
                self._need(f"{self._prefix(variable)}/include/{header}", "a header of MPI", hint)
        if self.target_name == "sdist":
            return
        if self._kind == "off":
            build_data["shared_scripts"] = self._commands_in_python()
            return
        arch = os.environ.get("MPIRIC_ARCH") or os.uname().machine
        if arch not in _PROCESSORS:
            hint = f"{_SWITCH}=portable builds for {' and '.join(_PROCESSORS)}; else {_OFF}"
            self._stop(f"there are no native parts for {arch}", hint)
        native = self._build(arch)
        system = "manylinux_2_17" if self._kind == "portable" else "linux"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{system}_{arch}"
        build_data["force_include"][str(native)] = "mpiric/_native"
        build_data["shared_scripts"] = self._commands_from(native)

    def _commands_in_python(self) -> dict[str, str]:
        """The commands where no native ones are; in an editable install `make setup` replaces them."""
        place = Path(self.root) / "build/commands"
        place.mkdir(parents=True, exist_ok=True)
        for name, module in _COMMANDS.items():
            (place / name).write_text(f"#!python\nfrom mpiric.cli.{module} import main\n\nmain()\n")
            (place / name).chmod(0o755)
        return {str(place / name): name for name in _COMMANDS}

    def _commands_from(self, native: Path) -> dict[str, str]:
        place = native.parent / "commands"
        place.mkdir(exist_ok=True)
        for name in _COMMANDS:
            shutil.copy(native / "any/mpiric-front", place / name)
        return {str(place / name): name for name in _COMMANDS}

    def _build(self, arch: str) -> Path:
        """Build and install the native parts into a tree of their own; src/mpiric/_native may be in use."""
        build = (
            Path(self.root) / "build/local"
        )  # as deep as `make setup` builds: ccache then knows the sources
        words = [f"-D{variable}={self._prefix(variable)}" for variable in _HEADERS]
        words.append(f"-DPython3_EXECUTABLE={sys.executable}")
        if self._kind == "portable":
            build = Path(self.root) / "build/portable" / arch
            words += ["--toolchain", f"{self.root}/cmake/Portable.cmake"]
            words += [f"-DMPIRIC_ARCH={arch}", f"-DMPIRIC_ZIG={self._zig()}"]
        elif arch != os.uname().machine:
            self._stop(f"MPIRIC_ARCH is {arch!r}", f"only {_SWITCH}=portable builds for another processor")
        shutil.rmtree(build / "tree", ignore_errors=True)
        for step in (
            ["-S", self.root, "-B", str(build), "-G", "Ninja", *words],
            ["--build", str(build)],
            ["--install", str(build), "--strip", "--prefix", str(build / "tree")],
        ):
            self._run([self._program("cmake"), *step])
        if self._kind == "local" and (wheel := os.environ.get("MPIRIC_RUNTIME")):
            self._take_runtimes(Path(wheel), build / "tree")
        if os.environ.get("MPIRIC_DIGESTS") == "off":
            forget_digests(build / "tree" / _MANIFEST)
        return build / "tree"

    def _take_runtimes(self, wheel: Path, tree: Path) -> None:
        """Replace each family's runtime by the wheel's, and its digest."""
        if not wheel.name.startswith(f"mpiric-{self.metadata.version}-") or not wheel.is_file():
            self._stop(f"MPIRIC_RUNTIME is {wheel}", f"name a wheel of mpiric {self.metadata.version}")
        manifest = tree / _MANIFEST
        facts = json.loads(manifest.read_text())
        with zipfile.ZipFile(wheel) as packed:
            for name in (name for name in packed.namelist() if Path(name).name == "libmpiric.so"):
                own = name.partition("_native/")[2]
                (tree / own).write_bytes(packed.read(name))
                facts["sha256"][own] = hashlib.sha256(packed.read(name)).hexdigest()
        manifest.write_text(json.dumps(facts, indent=1) + "\n")

    def _prefix(self, variable: str) -> Path:
        """The prefix of one MPI's headers; a source distribution carries those of this tree."""
        given = os.environ.get(variable, "") if self.target_name == "wheel" else ""
        return Path(given or Path(self.root) / _HEADERS[variable][0])

    def _zig(self) -> str:
        if given := os.environ.get("MPIRIC_ZIG"):
            return given
        try:
            import ziglang
        except ImportError:
            local = f"set {_SWITCH}=local for this system's compiler"
            self._stop("Zig is not there", f"install {_ZIG}, {local}, or {_OFF}")
        return str(Path(ziglang.__file__).with_name("zig"))

    def _program(self, name: str) -> str:
        found = shutil.which(name)
        if found is None:
            self._stop(f"{name} is not there", f"install it, or {_OFF}")
        return str(found)

    def _need(self, path: str, what: str, hint: str) -> None:
        if not (Path(self.root) / path).is_file():
            self._stop(f"{what} is not there ({path})", hint)

    def _run(self, argv: list[str]) -> None:
        try:
            subprocess.run(argv, check=True, stdout=sys.stderr)
        except (OSError, subprocess.CalledProcessError) as error:
            self._stop(f"the native parts could not be built: {error}", _OFF)

    def _stop(self, why: str, hint: str) -> None:
        """End the build with a sentence; nothing is ever left out silently."""
        self.app.abort(f"mpiric: {why}\nhint: {hint}")


def forget_digests(manifest: Path) -> None:
    """Leave the digests of native parts out of what they say of themselves."""
    facts = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**facts, "sha256": {}}, indent=1) + "\n")
