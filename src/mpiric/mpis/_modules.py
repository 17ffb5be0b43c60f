"""Environment modules of MPI libraries: modulefiles are read, not executed.

``module avail`` is a shell function that is missing in some batch shells; modulefiles are plain text in the
directories of MODULEPATH (Tcl: Environment Modules; Lua: Lmod).
"""

import re
from collections.abc import Iterator
from posixpath import relpath

from mpiric.host.host import Host
from mpiric.mpis._implementation import implementations

_USUAL = (
    "/etc/modulefiles",
    "/usr/share/modules/modulefiles",
    "/usr/share/modulefiles",
    "/usr/share/lmod/lmod/modulefiles",
)
_DEPTH = 4  # deepest known layout: MODULEPATH/compiler/version/openmpi/4.1.6.lua


def module_prefixes(host: Host) -> Iterator[tuple[str, str]]:
    """Yield prefix and module name of every modulefile with the name of an MPI."""
    names = re.compile("|".join(entry.modules for entry in implementations().values() if entry.modules))
    for root in _module_path(host):
        for path in _files(host, root, _DEPTH):
            name = relpath(path, root).removesuffix(".lua")
            if names.search(name.lower()):
                text = host.read_text(path) or ""
                yield from ((prefix, name) for prefix in prefixes_in(text))


def prefixes_in(text: str) -> tuple[str, ...]:
    """Return the prefixes that a modulefile adds to PATH in order, with its variables substituted."""
    variables = dict(re.findall(r"^\s*set\s+(\w+)\s+\"?([^\s\"]+)", text, re.MULTILINE))
    variables |= dict(re.findall(r"^\s*(?:local\s+)?(\w+)\s*=\s*\"([^\"]+)\"", text, re.MULTILINE))
    text = re.sub(
        r"pathJoin\(([^()]*)\)", lambda m: "/".join(_word(w, variables) for w in m[1].split(",")), text
    )
    prefixes = []
    for match in re.finditer(r"[ \t]PATH[ \t]+\"?([^\s\"]+)|\"PATH\"\s*,\s*([^),\n]+)", text):
        value = _filled(_bare(match[1]), variables) if match[1] else _word(match[2], variables)
        prefixes += [
            part.removesuffix("/bin")
            for part in value.split(":")
            if part.startswith("/") and part.endswith("/bin")
        ]
    return tuple(dict.fromkeys(prefixes))


def _module_path(host: Host) -> tuple[str, ...]:
    named = [part for part in host.environ.get("MODULEPATH", "").split(":") if part]
    home = host.environ.get("MODULESHOME", "")
    return tuple(dict.fromkeys([*named, *([f"{home}/modulefiles"] if home else []), *_USUAL]))


def _files(host: Host, directory: str, depth: int) -> Iterator[str]:
    for name in host.list_dir(directory):
        path = f"{directory}/{name}"
        if host.is_file(path):
            if not name.startswith("."):
                yield path
        elif depth > 1:
            yield from _files(host, path, depth - 1)


def _bare(word: str) -> str:
    """Strip Tcl's braces around a word, but keep the braces of a variable in it."""
    return word[1:-1] if word.startswith("{") and word.endswith("}") else word


def _filled(text: str, variables: dict[str, str]) -> str:
    for _ in range(4):  # limit of nested variables
        text = re.sub(r"\$\{?(\w+)\}?", lambda m: variables.get(m[1], m[0]), text)
    return text


def _word(text: str, variables: dict[str, str]) -> str:
    """Evaluate a Lua expression of quoted words, names and ``..``."""
    parts = [part.strip() for part in text.split("..")]
    return "".join(part.strip("\"'") if part[:1] in "\"'" else variables.get(part, part) for part in parts)
