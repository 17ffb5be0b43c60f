"""Names and docstrings: a class name stands for one class of the package, each docstring for itself."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/mpiric"
DOCUMENTED = (PACKAGE, ROOT / "tests", ROOT / "tools", ROOT / "benchmarks")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

# Beginnings whose subject is left out: "Of its files.", "By its pid.", "Whether all of them have."
_ELIDED = re.compile(
    r"(After|Also|And|As|At|Before|Between|But|By|For|From|Here|In|Into|It|Its|Not|Of|On|Only|Or|So|Than|That|Then|Those"
    r"|To|Until|Up|When|With|Without)\b"
    r"|The other way\b|The same\.|Whether (it|all|they)( of them)? (is|are|has|have|does|do)( one)?\."
)


def repeated_classes(trees: dict[Path, ast.Module]) -> Iterator[str]:
    """A sentence for each class name that the package has more than once."""
    files: dict[str, list[str]] = defaultdict(list)
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                files[node.name].append(str(path.relative_to(ROOT)))
    for name, found in sorted(files.items()):
        if len(found) > 1:
            yield f"class {name} is declared in {', '.join(found)}"


def elided_docstrings(trees: dict[Path, ast.Module]) -> Iterator[str]:
    """A sentence for each docstring that begins without its subject."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            text = ast.get_docstring(node) if isinstance(node, _DOCUMENTED) else None
            if text and _ELIDED.match(text):
                line = getattr(node, "lineno", 1)
                yield f"{path.relative_to(ROOT)}:{line}: docstring without a subject: {text.splitlines()[0]}"


def main() -> int:
    """Print what is wrong; the exit status says whether anything is."""
    files = sorted(path for place in DOCUMENTED for path in place.rglob("*.py"))
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    package = {path: tree for path, tree in trees.items() if PACKAGE in path.parents}
    problems = [*repeated_classes(package), *elided_docstrings(trees)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
