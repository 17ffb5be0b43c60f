"""Directory of the measurements of a sweep."""

import errno
import json
import os
from collections.abc import Sequence
from pathlib import Path

from mpiric.host.owned_files import is_own_directory, read_own, remove_tree, write_whole
from mpiric.model.errors import MpiricError, NoRoomError, writing
from mpiric.model.json_text import parse_json
from mpiric.schedulers import ROUNDS
from mpiric.tuning.store.lock import Lock
from mpiric.workflows.policies import export

LOG, LOCK = "sweep.jsonl", "sweep.lock"
_OPTIONS = "options.json"


def make_directory(directory: Path, hint: str = "name another --out") -> None:
    """Make a directory to write into. Raises NoRoomError."""
    try:
        directory.mkdir(0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise NoRoomError(f"cannot make {directory}: {error.strerror}", hint=hint) from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise NoRoomError(f"cannot write into {directory}", hint=hint)


def keep_options(directory: Path, arguments: Sequence[str]) -> None:
    """Record the options of a new sweep, for a later call that resumes it."""
    make_directory(directory)
    path = directory / _OPTIONS
    if os.path.lexists(path) and not _is_options(path):
        raise _not_ours(path)
    with writing(directory / _OPTIONS, "name another --out"):
        write_whole(directory / _OPTIONS, (json.dumps(list(arguments)) + "\n").encode())


def kept_options(directory: Path) -> tuple[str, ...]:
    """Return the saved options of this user's sweep in a directory; () if there are none."""
    try:
        arguments = parse_json(read_own(directory / _OPTIONS))
    except (OSError, ValueError):
        return ()
    return tuple(map(str, arguments)) if isinstance(arguments, list) else ()


def forget(directory: Path) -> None:
    """Remove the measurements of an earlier sweep from the directory."""
    make_directory(directory)
    if holder := Lock.holder(directory / LOCK):
        raise MpiricError(f"another sweep uses {directory} ({holder})", hint="name another --out")
    for path, is_of_sweep in ((directory / LOG, _is_log), (directory / ROUNDS, _is_rounds)):
        if os.path.lexists(path) and not is_of_sweep(path):
            raise _not_ours(path)
    with writing(directory, "name another --out"):
        (directory / LOG).unlink(missing_ok=True)
        remove_tree(directory / ROUNDS)


def check_free(directory: Path) -> None:
    """Raise MpiricError if a new sweep would overwrite files that no earlier sweep of this user wrote."""
    if _is_log(directory / LOG):
        return
    if os.path.lexists(directory / LOG):
        raise _not_ours(directory / LOG)
    export.check_free(directory)


def _not_ours(path: Path) -> MpiricError:
    return MpiricError(
        f"{path} has the name of a file of `mpiric sweep`, but no sweep of yours wrote it",
        hint="name another --out",
    )


def _is_options(path: Path) -> bool:
    try:
        arguments = parse_json(read_own(path))
    except OSError as error:
        return error.errno in (errno.ELOOP, errno.EPERM)  # a file of another user is replaced, not written to
    except ValueError:
        return False
    return isinstance(arguments, list) and all(isinstance(word, str) for word in arguments)


def _is_log(path: Path) -> bool:
    try:
        return read_own(path, 8).startswith(b'{"mpi": ')
    except OSError:
        return False


def _is_rounds(path: Path) -> bool:
    """Return whether a directory holds numbered rounds and nothing else."""
    names = os.listdir(path) if is_own_directory(path, private=False) else [""]  # noqa: PTH208
    return all(name.isdecimal() for name in names)
