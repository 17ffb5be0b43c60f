"""clang-tidy over our C++ sources, skipping those that passed before and have not changed.

A source has not changed when it, every header of ours it includes, its compile command and the rules are the
same; what passed is kept in build/tidy. A source compiled for several ABI families is looked at once.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/lint"  # configured, never built
CACHE = ROOT / "build/native/CMakeCache.txt"
PASSED = ROOT / "build/tidy"
ROOMS = ("probes", "runtime", "front", "mapper")
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def main() -> int:
    """Print what clang-tidy finds; the exit status says whether it found anything."""
    configure()
    commands = compile_commands()
    pending = {source: key_of(source, command) for source, command in commands.items()}
    pending = {source: key for source, key in pending.items() if not (PASSED / key).exists()}
    PASSED.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        complaints = list(pool.map(complaint, pending, pending.values()))
    print("\n".join(text for text in complaints if text))
    return 1 if any(complaints) else 0


def configure() -> None:
    """Let CMake write a compile command for each source, as no unity build has."""
    prefixes = re.findall(r"^(MPIRIC_\w+_PREFIX:PATH=.*)$", CACHE.read_text(), re.MULTILINE)
    given = [
        "-DCMAKE_UNITY_BUILD=OFF",
        "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON",
        *(f"-D{prefix}" for prefix in prefixes),
    ]
    tools = Path(sys.executable).parent
    cmake = [
        tools / "cmake",
        "-S",
        ROOT,
        "-B",
        BUILD,
        "-G",
        "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}",
    ]
    subprocess.run([*cmake, *given], check=True, stdout=subprocess.DEVNULL)


def compile_commands() -> dict[Path, str]:
    """Source → one command that compiles it, for hand-written sources of our rooms."""
    found: dict[Path, str] = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        source = Path(entry["file"])
        parts = source.relative_to(ROOT).parts if source.is_relative_to(ROOT) else ()
        is_source = source.suffix != ".S" and "generated" not in parts
        if parts[:1] == ("src",) and parts[1] in ROOMS and is_source:
            found.setdefault(source, entry["command"])
    return found


def key_of(source: Path, command: str) -> str:
    """Digest of everything that decides what clang-tidy says of a source."""
    digest = hashlib.sha256(command.encode() + (ROOT / ".clang-tidy").read_bytes())
    for path in sorted({source, *headers_of(source)}):
        digest.update(path.read_bytes())
    return f"{source.stem}-{digest.hexdigest()[:24]}"


def headers_of(source: Path) -> set[Path]:
    """Headers of ours that a source includes, directly or not, looked up by name in every room."""
    found: set[Path] = set()
    frontier = [source]
    while frontier:
        for name in _INCLUDE.findall(frontier.pop().read_text()):
            for header in (ROOT / "src").glob(f"*/**/{Path(name).name}"):
                if header not in found:
                    found.add(header)
                    frontier.append(header)
    return found


def complaint(source: Path, key: str) -> str:
    """What clang-tidy says of a source, "" when nothing."""
    tidy = Path(sys.executable).parent / "clang-tidy"
    only = f"--header-filter=/src/({'|'.join(ROOMS)})/"
    single = one_command_for(source)
    done = subprocess.run(
        [tidy, "-p", single, "--quiet", only, source], capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        (PASSED / key).touch()
        return ""
    return done.stdout + done.stderr


def one_command_for(source: Path) -> Path:
    """A compilation database of this source with one command: clang-tidy goes through all it finds."""
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    place = PASSED / "commands" / source.relative_to(ROOT / "src").as_posix().replace("/", "-")
    place.mkdir(parents=True, exist_ok=True)
    only = next(entry for entry in entries if Path(entry["file"]) == source)
    (place / "compile_commands.json").write_text(json.dumps([only]))
    return place


if __name__ == "__main__":
    sys.exit(main())
