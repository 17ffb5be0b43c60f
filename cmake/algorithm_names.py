"""Writes the names of our own collective algorithms for Python, read from the sources that register them.

Called by the build: ``algorithm_names.py src/runtime/coll own_algorithms.toml``.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

# A row of a table of algorithms begins with its collective and its name.
_ROW = re.compile(r"\{\s*Collective::(\w+),\s*\"(\w+)\"")
_OF_BOTH = re.compile(r"MPIRIC_ALGORITHMS_OF_BOTH\(\s*Collective::(\w+)")  # another collective of all rows


def algorithms(sources: Path) -> Iterator[tuple[str, str]]:
    """Collective and name of each algorithm that the sources register."""
    for path in sorted(sources.glob("*/*.cpp")):
        text = path.read_text(encoding="utf-8")
        rows = _ROW.findall(text)
        if bool(rows) != ("MPIRIC_ALGORITHMS" in text):
            raise SystemExit(f"{path}: an algorithm is described in another way than the others")
        yield from rows
        yield from ((other, name) for other in _OF_BOTH.findall(text) for _, name in rows)


def render(sources: Path) -> str:
    """The names, a line for each collective."""
    names: dict[str, list[str]] = {}
    for collective, name in sorted(algorithms(sources)):
        names.setdefault(collective, []).append(name)
    return "".join(f"{collective} = {json.dumps(row)}\n" for collective, row in names.items())


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(render(Path(sys.argv[1])), encoding="utf-8")
