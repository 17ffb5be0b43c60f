"""Writes the names of our own collective algorithms for Python, read from the sources that register them.

Called by the build: ``algorithm_names.py src/runtime/coll own_algorithms.toml``.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

# An algorithm names its collective, or is made by a function that does or that is given an alias of it.
_DESCRIBED = re.compile(r"Algorithm \w+\s*\{\s*Collective::(\w+),\s*\"(\w+)\"")
_MADE = re.compile(r"=\s*(\w+)<(\w+)[^;=]*?>\(\s*\"(\w+)\"")
_ALIAS = re.compile(r"(\w+) = Collective::(\w+)")
_MAKER = re.compile(r"consteval Algorithm (\w+)\([^{]*\{\s*return \{Collective::(\w+)")


def algorithms(sources: Path) -> Iterator[tuple[str, str]]:
    """Collective and name of each algorithm that the sources register."""
    for path in sorted(sources.glob("*/*.cpp")):
        text = path.read_text(encoding="utf-8")
        found = _DESCRIBED.findall(text)
        collective = dict(_ALIAS.findall(text)) | dict(_MAKER.findall(text))
        for maker, argument, name in _MADE.findall(text):
            found.append((collective.get(argument) or collective.get(maker, ""), name))
        if len(found) != text.count("MPIRIC_ALGORITHM(") or not all(of for of, _ in found):
            raise SystemExit(f"{path}: an algorithm is described in another way than the others")
        yield from found


def render(sources: Path) -> str:
    """The names, a line for each collective."""
    names: dict[str, list[str]] = {}
    for collective, name in sorted(algorithms(sources)):
        names.setdefault(collective, []).append(name)
    return "".join(f"{collective} = {json.dumps(row)}\n" for collective, row in names.items())


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(render(Path(sys.argv[1])), encoding="utf-8")
