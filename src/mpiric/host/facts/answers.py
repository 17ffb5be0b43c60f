"""Answers kept between runs of mpiric: what a library or launcher says of itself while its file is the same.

One small file a question under the XDG cache directory, replaced whole: two writers at once leave one of
two right answers. One that cannot be read or written counts as not there.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence

from mpiric.host import cache
from mpiric.host.host import Completed
from mpiric.model.json_text import parse_json

_FORMAT = 1
_DECIDING = ("LD_LIBRARY_PATH", "LD_PRELOAD", "PATH")  # what else decides whether a library can be loaded


def answer_key(
    argv: Sequence[str],
    environment: Mapping[str, str | None],
    files: Sequence[str],
    inherited: Mapping[str, str],
    identity: Sequence[str] = (),
) -> str:
    """The question in one line: words, variables, and the files (real path, size, change) it depends on.

    ``identity`` takes the place of words and variables. "" when one of the files is not there: such an answer
    is not kept.
    """
    stamps = []
    for path in files:
        try:
            real = os.path.realpath(path)
            facts = os.stat(real)  # noqa: PTH116 beside realpath
        except (OSError, ValueError):
            return ""
        stamps.append([real, facts.st_size, facts.st_mtime_ns, facts.st_ino])
    if identity:
        return json.dumps([_FORMAT, list(identity), stamps])
    surroundings = {name: inherited.get(name) for name in _DECIDING} | dict(environment)
    return json.dumps([_FORMAT, list(argv), surroundings, stamps], sort_keys=True)


def recall(key: str, inherited: Mapping[str, str]) -> Completed | None:
    """The answer kept under a key, None when there is none that can be trusted."""
    try:
        kept = parse_json(cache.read(_path(key, inherited)) or "{}")
        if kept["key"] != key:
            return None
        return Completed(int(kept["status"]), str(kept["stdout"]), str(kept["stderr"]))
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def keep(key: str, answer: Completed, inherited: Mapping[str, str]) -> None:
    """Keep an answer, or do without where nothing can be written."""
    if path := _path(key, inherited):
        entry = {"key": key, "status": answer.status, "stdout": answer.stdout, "stderr": answer.stderr}
        cache.write(path, json.dumps(entry))


def _path(key: str, inherited: Mapping[str, str]) -> str:
    """The file of a key, "" without a directory to keep it in."""
    root = cache.directory(inherited)
    return f"{root}/answers/{hashlib.sha256(key.encode()).hexdigest()[:32]}.json" if root else ""
