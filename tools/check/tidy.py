"""Run clang-tidy on mpiric's C++ sources, except units that passed before and have not changed.

Sources that CMake compiles together (unity builds: the sources of a folder) are checked together, because
reading headers is most of the work. A unit has not changed if its sources, their headers of mpiric, its
compile command and the rules are the same; passed units are listed in build/tidy. A source compiled for
several ABI families is checked once.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/lint"  # configured, never built
CACHE = ROOT / "build/native/CMakeCache.txt"
PASSED = ROOT / "build/tidy"
ROOMS = ("probes", "runtime", "front", "mapper", "translate")
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def main() -> int:
    """Print what clang-tidy finds; the exit status says whether it found anything."""
    configure()
    pending = {unit: key for unit in units() if not (PASSED / (key := key_of(unit))).exists()}
    PASSED.mkdir(parents=True, exist_ok=True)
    largest_first = sorted(pending, key=lambda unit: -sum(path.stat().st_size for path in unit.sources))
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        complaints = list(pool.map(complaint, largest_first, map(pending.__getitem__, largest_first)))
    print("\n".join(text for text in complaints if text))
    return 1 if any(complaints) else 0


@dataclass(frozen=True)
class Unit:
    """Unit of a compile command: ``file``, and the hand-written ``sources`` in it."""

    file: Path
    sources: tuple[Path, ...]
    entry: str  # entry of compile_commands.json


def configure() -> None:
    """Let CMake write the compile commands, without the compiler's own form of precompiled headers."""
    prefixes = re.findall(r"^(MPIRIC_\w+_PREFIX:PATH=.*)$", CACHE.read_text(), re.MULTILINE)
    tools = Path(sys.executable).parent
    ninja = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}"]
    options = ["-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", *(f"-D{prefix}" for prefix in prefixes)]
    cmake = [tools / "cmake", "-S", ROOT, "-B", BUILD, *ninja, *options]
    subprocess.run(cmake, check=True, stdout=subprocess.DEVNULL)


def units() -> list[Unit]:
    """Units that together hold every hand-written source of our rooms."""
    units: list[Unit] = []
    known_files: set[Path] = set()
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        sources = tuple(path for path in members(file) if is_ours(path))
        if not known_files.issuperset(sources):
            units.append(Unit(file, sources, json.dumps(entry)))
            known_files.update(sources)
    return units


def members(file: Path) -> list[Path]:
    """Return the sources of a compiled file: the file, or its parts if CMake wrote it for a unity build."""
    if BUILD not in file.parents:
        return [file]
    return [Path(name) for name in _INCLUDE.findall(file.read_text())]


def is_ours(source: Path) -> bool:
    """Check whether a file is a hand-written source of this repository."""
    parts = source.relative_to(ROOT).parts if source.is_relative_to(ROOT) else ()
    return parts[:1] == ("src",) and parts[1] in ROOMS and source.suffix != ".S" and "generated" not in parts


def key_of(unit: Unit) -> str:
    """Digest of everything that decides what clang-tidy says of a unit."""
    digest = hashlib.sha256(unit.entry.encode() + (ROOT / ".clang-tidy").read_bytes())
    for path in sorted(
        {*unit.sources, *(header for source in unit.sources for header in headers_of(source))}
    ):
        digest.update(path.read_bytes())
    return f"{unit.file.stem}-{digest.hexdigest()[:24]}"


def headers_of(source: Path) -> set[Path]:
    """Headers of ours that a source includes, directly or not, looked up by name in every room."""
    headers: set[Path] = set()
    frontier = [source]
    while frontier:
        for name in _INCLUDE.findall(frontier.pop().read_text()):
            for header in (ROOT / "src").glob(f"*/**/{Path(name).name}"):
                if header not in headers:
                    headers.add(header)
                    frontier.append(header)
    return headers


def complaint(unit: Unit, key: str) -> str:
    """Return the messages of clang-tidy about a unit, "" if there are none."""
    tidy = Path(sys.executable).parent / "clang-tidy"
    only = f"--header-filter=/src/({'|'.join(ROOMS)})/"
    # A compilation database with one command: clang-tidy goes through all that it finds for a file.
    database = PASSED / "commands" / key
    database.mkdir(parents=True, exist_ok=True)
    (database / "compile_commands.json").write_text(f"[{unit.entry}]")
    quiet = "--extra-arg=-Wno-ignored-optimization-argument"  # GCC's own options
    command = [tidy, "-p", database, "--quiet", only, quiet, unit.file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    shutil.rmtree(database)
    if done.returncode == 0:
        (PASSED / key).touch()
        return ""
    return done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main())
