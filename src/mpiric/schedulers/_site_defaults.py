"""Requirements of a site for every job script: a TOML file."""

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from mpiric.host.files import why_unreadable
from mpiric.host.packaged import parse_toml
from mpiric.host.user_directories import named_path, user_directory
from mpiric.model.batch import NodeShape
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError
from mpiric.schedulers._script import ScriptOptions

ReadText = Callable[[str], str | None]  # returns the content of a file, None if it cannot be read

SYSTEM = "/etc/mpiric/site.toml"
_HINT = "see docs/guides/schedulers.md"
_TEXTS = ("shebang", "time", "account", "partition", "mpi")
_LISTS = ("directives", "setup", "modules")
_NODE = ("sockets", "cores_per_socket", "threads_per_core")


@dataclass(frozen=True)
class SiteDefaults:
    """Defaults of a site; empty for keys that the file does not contain."""

    options: ScriptOptions = field(default_factory=ScriptOptions)
    shape: NodeShape | None = None
    mpi: str = ""


def read_site_defaults(environment: Mapping[str, str], named: Path | None, read: ReadText) -> SiteDefaults:
    """Read the named file, ``$MPIRIC_SITE``, the user's or the system's file; raises MpiricError."""
    site_file = str(named or named_path(environment, "MPIRIC_SITE") or "")
    if site_file:
        text = read(site_file)
        if text is None:
            raise why_unreadable(site_file, "file of site defaults", hint=_HINT)
        return parse_site_defaults(text, site_file)
    config = user_directory(environment, "config")
    for path in (*((f"{config}/mpiric/site.toml",) if config else ()), SYSTEM):
        if (text := read(path)) is not None:
            return parse_site_defaults(text, path)
    return SiteDefaults()


def parse_site_defaults(text: str, path: str) -> SiteDefaults:
    """Parse the defaults of a site; ``path`` is for error messages."""
    try:
        data = parse_toml(text)
    except ValueError as error:
        raise MpiricError(f"{path} is not TOML: {error}", hint=_HINT) from error
    script, node = _table(data, "script", path), _table(data, "node", path)
    _check_keys(data, ("script", "node"), path)
    _check_keys(script, (*_TEXTS, *_LISTS, "environment"), path)
    _check_keys(node, _NODE, path)
    texts = {key: _typed(script, key, str, path) or "" for key in _TEXTS}
    lists = {key: tuple(map(str, _typed(script, key, list, path) or ())) for key in _LISTS}
    variables = _typed(script, "environment", dict, path) or {}
    modules = (f"module load {' '.join(lists['modules'])}",) if lists["modules"] else ()
    return SiteDefaults(
        ScriptOptions(
            shebang=texts["shebang"] or "#!/bin/bash",
            time=texts["time"],
            account=texts["account"],
            partition=texts["partition"],
            directives=lists["directives"],
            setup=(*modules, *lists["setup"]),
            environment={str(name): str(value) for name, value in variables.items()},
        ),
        _shape(node, path),
        texts["mpi"],
    )


def _shape(node: Mapping[str, Any], path: str) -> NodeShape | None:
    if not node:
        return None
    numbers = [_typed(node, key, int, path) or (1 if key == "threads_per_core" else 0) for key in _NODE]
    if min(numbers) < 1:
        raise MpiricError(f"{path}: [node] needs {', '.join(_NODE[:2])}, each at least 1")
    return NodeShape(*numbers)


def _table(data: Mapping[str, Any], key: str, path: str) -> Mapping[str, Any]:
    table: Mapping[str, Any] = _typed(data, key, dict, path) or {}
    return table


def _typed(data: Mapping[str, Any], key: str, kind: type, path: str) -> Any:
    value = data.get(key)
    if value is not None and not isinstance(value, kind):
        raise MpiricError(f"{path}: {key} must be a {kind.__name__}, not {value!r}")
    return value


def _check_keys(data: Mapping[str, Any], keys: tuple[str, ...], path: str) -> None:
    unknown = sorted(set(data) - set(keys))
    if unknown:
        raise MpiricError(f"{path}: {unknown[0]!r} is not known", hint=f"known are: {', '.join(keys)}")
