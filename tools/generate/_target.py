"""Generated files: written, or with ``--check`` compared with what would be written."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def deliver(target: Path, text: str, source: str) -> int:
    """Exit status of a generator whose output is ``text``; ``source`` names what it is made from."""
    if "--check" in sys.argv[1:]:
        same = target.is_file() and target.read_text(encoding="utf-8") == text
        if not same:
            print(
                f"{target.relative_to(ROOT)} is not what {source} would give: run {sys.argv[0]}",
                file=sys.stderr,
            )
        return 0 if same else 1
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return 0


def deliver_all(room: Path, folders: Sequence[str], files: Mapping[str, str]) -> int:
    """Exit status of a generator of ``files``, by their paths below ``room``, in folders of its own."""
    present = {
        str(path.relative_to(room)): path.read_text(encoding="utf-8")
        for folder in folders
        for path in (room / folder).glob("*")
    }
    stale = sorted(name for name in files.keys() | present.keys() if files.get(name) != present.get(name))
    check = "--check" in sys.argv[1:]
    for name in stale:
        if check:
            print(f"{room / name} is not what the generator writes", file=sys.stderr)
        elif name in files:
            (room / name).parent.mkdir(parents=True, exist_ok=True)
            (room / name).write_text(files[name], encoding="utf-8")
        else:
            (room / name).unlink()
    return 1 if check and stale else 0
