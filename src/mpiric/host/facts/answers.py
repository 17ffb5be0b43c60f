"""Cache of command results between runs of mpiric, valid while the files they depend on are unchanged.

There is one small file per command in the XDG cache directory. It is replaced atomically: of two
simultaneous writers one wins, and both results are correct. A file that cannot be read or written is
ignored.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence

from mpiric.host import cache
from mpiric.host.host import Completed
from mpiric.model.json_text import parse_json

_FORMAT = 1
_DECIDING = ("LD_LIBRARY_PATH", "LD_PRELOAD", "PATH")  # variables that affect whether a library can be loaded


def answer_key(
    argv: Sequence[str],
    environment: Mapping[str, str | None],
    files: Sequence[str],
    inherited: Mapping[str, str],
    identity: Sequence[str] = (),
) -> str:
    """Return the cache key of a command: argv, variables, and the state of the files that it depends on.

    ``identity`` replaces argv and variables. The key is "" if one of the files does not exist; the result
    is then not cached.
    """
    stamps = []
    for path in files:
        try:
            real = os.path.realpath(path)
            facts = os.stat(real)  # noqa: PTH116 like realpath
        except (OSError, ValueError):
            return ""
        stamps.append([real, facts.st_size, facts.st_mtime_ns, facts.st_ino])
    if identity:
        return json.dumps([_FORMAT, list(identity), stamps])
    surroundings = {name: inherited.get(name) for name in _DECIDING} | dict(environment)
    return json.dumps([_FORMAT, list(argv), surroundings, stamps], sort_keys=True)


def recall(key: str, inherited: Mapping[str, str]) -> Completed | None:
    """Return the cached result of a key, None without a trustworthy one."""
    try:
        entry = parse_json(cache.read(_path(key, inherited)) or "{}")
        if entry["key"] != key:
            return None
        return Completed(int(entry["status"]), str(entry["stdout"]), str(entry["stderr"]))
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def keep(key: str, answer: Completed, inherited: Mapping[str, str]) -> None:
    """Write a result to the cache, if possible."""
    if path := _path(key, inherited):
        entry = {"key": key, "status": answer.status, "stdout": answer.stdout, "stderr": answer.stderr}
        cache.write(path, json.dumps(entry))


def _path(key: str, inherited: Mapping[str, str]) -> str:
    """Return the cache file of a key, "" without a cache directory."""
    root = cache.directory(inherited)
    return f"{root}/answers/{hashlib.sha256(key.encode()).hexdigest()[:32]}.json" if root else ""
