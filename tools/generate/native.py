"""Write the generated C++ sources into a directory: ``python -m tools.generate.native DIRECTORY``.

CMake calls it when it configures. Only files whose text changes are written, so that nothing else is compiled
again.
"""

import sys
from pathlib import Path

from tools.generate import candidates, marks, options, posix, record
from tools.generate._layout import Spec
from tools.generate.mpi.render import render as render_functions
from tools.generate.translate.render import render as render_translation


def render() -> dict[str, str]:
    """Return the text of each file by its path."""
    runtime = {
        **render_functions(),
        "base/options.inc": options.render(),
        "posix/names.inc": posix.render(),
        "tune/candidates.inc": candidates.render_native(),
        "profile/format.hpp": record.native(Spec(record.SOURCE)),
        "marks/format.hpp": marks.native(Spec(marks.SOURCE)),
    }
    return {
        **{f"runtime/{name}": text for name, text in runtime.items()},
        **{f"translate/generated/{name}": text for name, text in render_translation().items()},
    }


def main(directory: Path) -> None:
    """Write the files, and remove files that are no longer generated."""
    files = render()
    for path in [path for path in directory.rglob("*") if path.is_file()]:
        if str(path.relative_to(directory)) not in files:
            path.unlink()
    for name, text in files.items():
        path = directory / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
