"""Writes what a set of native parts is: its compiler, whether it is for older systems, each file's digest.

Called when the parts are installed: ``manifest.py PREFIX COMPILER portable|local``.
"""

import hashlib
import json
import sys
from pathlib import Path

NAME = "manifest.json"


def manifest(root: Path, built_by: str, *, portable: bool) -> dict[str, object]:
    """The contents of the file, for the parts below ``root`` as they are now."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.name != NAME)
    digests = {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }
    return {"built_by": built_by, "portable": portable, "sha256": digests}


if __name__ == "__main__":
    prefix = Path(sys.argv[1])
    facts = manifest(prefix, sys.argv[2], portable=sys.argv[3] == "portable")
    (prefix / NAME).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
