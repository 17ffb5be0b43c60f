"""Generated files: write them, or compare them with ``--check``."""

import sys
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
