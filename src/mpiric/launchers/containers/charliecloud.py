"""Charliecloud: ``ch-run`` passes the host's environment; ``--set-env=NAME=VALUE`` overrides it inside.

An image is read-only and lacks the paths of the host. Binds use one of the ten directories ``/mnt/0`` to
``/mnt/9`` that images provide for them, counted down from the last free one.
Source: ch-run(1), sections "Environment variables" and "Bind mounts".
"""

from posixpath import split

from mpiric.launchers._words import words
from mpiric.launchers.containers._engine import Words, option_engine
from mpiric.model.errors import MismatchError

_MOUNT_POINTS = tuple(f"/mnt/{number}" for number in reversed(range(10)))


def _bind(arguments: Words, path: str, mode: str) -> tuple[Words, str]:
    """Return a bind of a writable directory itself, or of the directory that holds a file."""
    directory, name = (path, "") if mode == "rw" else split(path)
    used = {mount: word for mount in _MOUNT_POINTS for word in arguments if word.endswith(f":{mount}")}
    for mount in _MOUNT_POINTS:
        option = f"--bind={directory}:{mount}"
        if mount not in used or used[mount] == option:
            return () if mount in used else (option,), f"{mount}/{name}".rstrip("/")
    raise MismatchError(
        "no directory of the image is free for a bind mount",
        hint="leave two of /mnt/0 to /mnt/9 free for mpiric: for its library and for its output",
    )


ENGINE = option_engine(
    "charliecloud",
    ("ch-run",),
    (),
    words("-b --bind -c --cd -g --gid --join-ct --join-pid --join-tag -m --mount -s --storage -u --uid"),
    set_by=("--set-env",),
    bind_by=_bind,
    separator=True,
    mount_points=_MOUNT_POINTS,
)
