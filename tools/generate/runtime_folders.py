"""Write docs/reference/runtime_folders.md from src/runtime/rooms.cmake, which CMake reads too."""

import re
import sys
from pathlib import Path

from tools.generate._target import deliver

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src/runtime/rooms.cmake"
TARGET = ROOT / "docs/reference/runtime_folders.md"
HEADER = """# Folders of the runtime

Generated from `src/runtime/rooms.cmake` by `python -m tools.generate.runtime_folders`. CMake compiles each
folder of `src/runtime` with its own headers and the headers of its direct and indirect dependencies, to which
the arrows lead. Any other include does not compile. Folders with rounded corners know no MPI: they are
compiled once for all ABI families.

"""
_ROOM = re.compile(r"^mpiric_room\((\S+?)( PLAIN)?(?: USES ([^)]*))?\)\s*# (.*)$", re.MULTILINE)


def render() -> str:
    """Return the page: the graph of allowed includes, and the purpose of each folder."""
    rooms = _ROOM.findall(SOURCE.read_text(encoding="utf-8"))
    nodes = [f"  {name}{f'({name})' if plain else f'[{name}]'}" for name, plain, _, _ in rooms]
    arrows = [f"  {name} --> {used}" for name, _, uses, _ in rooms for used in uses.split()]
    rows = [f"| `{name}` | {sentence} | {uses.strip() or '–'} |" for name, _, uses, sentence in rooms]
    graph = "\n".join(["```mermaid", "graph BT", *nodes, *arrows, "```"])
    return f"{HEADER}{graph}\n\n| folder | is | uses |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def main() -> int:
    """Write the page, or with ``--check`` compare it with the file."""
    return deliver(TARGET, render(), "the folders of the runtime")


if __name__ == "__main__":
    sys.exit(main())
