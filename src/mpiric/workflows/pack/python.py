"""A Python program with its interpreter, its standard library and everything that it can import."""

import ast
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from mpiric.host.files import exists, is_directory, is_file
from mpiric.host.host import Host
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import NotFoundError
from mpiric.model.pack import Content, ContentKind, LeftOut
from mpiric.workflows.pack.entry import PackEntry

TREE = "tree"  # files below it keep the paths that they have here
_QUESTION = """
import json, os, sys, sysconfig
paths = sysconfig.get_paths()
print(json.dumps({"prefix": sys.prefix, "base": sys.base_prefix, "executable": sys.executable,
    "standard": [paths["stdlib"], paths["platstdlib"]], "path": [p for p in sys.path if p]}))
"""
# Modules of the standard library that programs do not need.
_UNUSED = ("test", "idlelib", "turtledemo", "ensurepip", "lib2to3/tests", "unittest/test")
_UNUSED_BEGINNING = "config-"
_SITES = ("site-packages", "dist-packages")
_FINDER = "__editable__"


@dataclass(frozen=True)
class PythonParts:
    """Files of a Python program, and settings for its start."""

    contents: tuple[Content, ...]
    left_out: tuple[LeftOut, ...]
    trees: tuple[str, ...]  # directories that are packed completely
    interpreter: str  # path in the image
    script: str  # path in the image, "" without a script
    paths: tuple[str, ...]  # paths in the image, for PYTHONPATH
    home: str = ""  # path in the image of the base interpreter's directory, for a virtual environment
    environment: str = ""  # path in the image of the virtual environment


def python_parts(entry: PackEntry, working_directory: str, host: Host) -> PythonParts:
    """Ask the interpreter for its directories. Raises NotFoundError if it does not start."""
    answer = host.run([entry.executable, "-c", _QUESTION], timeout_s=60)
    if answer.status:
        raise NotFoundError(
            f"{entry.executable} does not start: {(answer.stderr.strip().splitlines() or [''])[-1]}",
            hint="make the program run here first",
        )
    facts = json.loads(answer.stdout.splitlines()[-1])
    base = host.real_path(entry.executable)
    is_virtual = facts["prefix"] != facts["base"]
    standard = tuple(dict.fromkeys(facts["standard"]))
    # A virtual environment reports its own directories, which contain only installed packages.
    if is_virtual:
        standard = tuple(dict.fromkeys(path.replace(facts["prefix"], facts["base"], 1) for path in standard))
    other_paths = [path for path in facts["path"] if not _below(path, standard) and exists(Path(path))]
    prefixes = (facts["prefix"], facts["base"])
    by_itself = [path for path in other_paths if _below(path, prefixes) and path.endswith(_SITES)]
    trees = tuple(dict.fromkeys((*standard, *other_paths)))
    contents, left_out = list(_trees(trees, standard)), []
    contents.append(Content(inside(base), base, ContentKind.PROGRAM))
    if is_virtual:
        settings = f"{facts['prefix']}/pyvenv.cfg"
        contents.append(Content(inside(settings), settings, ContentKind.PYTHON))
    paths = [inside(path) for path in other_paths if path not in by_itself]
    if entry.script:
        contents += _script(Path(entry.script))
    for path in _beside(Path(working_directory), entry.module) if entry.module else ():
        contents += tree_contents(path, ContentKind.PROGRAM)
        paths.insert(0, inside(working_directory))
    for path in other_paths:
        left_out += [
            LeftOut(f"{path}/{name}", "an editable installation: its sources stay where they are")
            for name in host.list_dir(path)
            if name.startswith(_FINDER) and name.endswith(".py")
        ]
    left_out += [
        LeftOut(f"{path}/{name}", "of the standard library, not for programs")
        for path in standard
        for name in host.list_dir(path)
        if name in _UNUSED or name.startswith(_UNUSED_BEGINNING)
    ]
    return PythonParts(
        contents=tuple(contents),
        left_out=tuple(left_out),
        trees=trees,
        interpreter=inside(base),
        script=inside(entry.script) if entry.script else "",
        paths=tuple(dict.fromkeys(paths)),
        home=str(PurePosixPath(inside(base)).parent) if is_virtual else "",
        environment=inside(facts["prefix"]) if is_virtual else "",
    )


def _below(path: str, roots: Sequence[str]) -> bool:
    """Return whether a directory belongs to one of these roots, unless it contains installed packages."""
    return any(path == root or (path.startswith(f"{root}/") and not path.endswith(_SITES)) for root in roots)


def inside(path: str) -> str:
    """Return the name in the image of a file with this absolute path."""
    return f"{TREE}/{path.lstrip('/')}"


def _trees(trees: Sequence[str], standard: Sequence[str]) -> Iterator[Content]:
    for tree in trees:
        skipped = {f"{tree}/{name}" for name in (*_UNUSED, *_SITES)} if tree in standard else set()
        yield from tree_contents(Path(tree), ContentKind.PYTHON, skipped, begins=_UNUSED_BEGINNING)


def tree_contents(
    top: Path, kind: ContentKind, skipped: set[str] | None = None, *, begins: str = ""
) -> Iterator[Content]:
    """Yield every file and link below a directory, with its path here; or the file itself."""
    if is_file(top):
        yield Content(inside(str(top)), str(top), kind, required=False)
        return
    for directory, folders, files in os.walk(top):
        at_top = directory == str(top)
        folders[:] = sorted(
            name
            for name in folders
            if f"{directory}/{name}" not in (skipped or set())
            and not (skipped and at_top and begins and name.startswith(begins))
        )
        for name in [
            *(folder for folder in folders if (Path(directory) / folder).is_symlink()),
            *sorted(files),
        ]:
            path = Path(directory) / name
            yield from _file(path, kind)


def _file(path: Path, kind: ContentKind) -> Iterator[Content]:
    name = inside(str(path))
    if path.is_symlink():
        target = str(path.readlink())
        if not target.startswith("/"):
            yield Content(name, "", kind, link=target, required=False)
            return
    if is_file(path):
        yield Content(name, str(path.resolve()), kind, required=False)


def _script(script: Path) -> list[Content]:
    """Return the script, and modules and packages next to it that it imports, also indirectly."""
    contents = [Content(inside(str(script)), str(script), ContentKind.PROGRAM)]
    waiting, visited = [script], {script}
    while waiting:
        for name in _imported(waiting.pop()):
            for path in _beside(script.parent, name):
                if path in visited:
                    continue
                visited.add(path)
                contents += tree_contents(path, ContentKind.PROGRAM)
                waiting += [path] if is_file(path) else sorted(path.rglob("*.py"))
    return contents


def _imported(path: Path) -> set[str]:
    """Return the top-level names that a file imports, anywhere in it; empty if it is not Python."""
    if path.suffix not in (".py", ""):
        return set()
    try:
        nodes = ast.walk(ast.parse(path.read_bytes()))
    except (SyntaxError, ValueError, OSError):
        return set()
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def _beside(directory: Path, name: str) -> list[Path]:
    if is_directory(directory / name):
        return [directory / name]
    return [
        path for path in (directory / f"{name}.py", *sorted(directory.glob(f"{name}.*.so"))) if is_file(path)
    ]
