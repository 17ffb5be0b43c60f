"""Render spec/posix.toml: the table of libc's names for the runtime."""

import sys

from tools.generate._target import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SOURCE = ROOT / "spec/posix.toml"


def render() -> str:
    """Return the rows `MPIRIC_POSIX(name, watched or unwatched, effect)`."""
    rows = [
        f"MPIRIC_POSIX({name}, {watching}, {effect})"
        for watching, effects in tomllib.loads(SOURCE.read_text(encoding="utf-8")).items()
        for effect, names in effects.items()
        for name in names
    ]
    begin = [
        "// Generated from spec/posix.toml by tools/generate/posix.py. Edit those.",
        "// NOLINTBEGIN(bugprone-reserved-identifier): names of libc",
    ]
    return "\n".join([*begin, *rows, "// NOLINTEND(bugprone-reserved-identifier)"]) + "\n"
