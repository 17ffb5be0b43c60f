"""Charliecloud: ``ch-run`` passes the host's environment; ``--set-env=NAME=VALUE`` wins inside.

An image is read-only and has not the host's paths: what is bound goes to one of the ten directories
``/mnt/0`` to ``/mnt/9`` that images have for it, counted down from the last that the user's own words leave
free. Source: ch-run(1), sections "Environment variables" and "Bind mounts".
"""

from posixpath import split

from mpiric.launchers._words import words
from mpiric.launchers.containers._by_option import option_engine
from mpiric.launchers.containers._engine import Words
from mpiric.model.errors import MismatchError

_MOUNT_POINTS = tuple(f"/mnt/{number}" for number in reversed(range(10)))


def _bind(given: Words, path: str, mode: str) -> tuple[Words, str]:
    """A directory to write to by itself, a file by the directory it lies in."""
    directory, name = (path, "") if mode == "rw" else split(path)
    taken = {mount: word for mount in _MOUNT_POINTS for word in given if word.endswith(f":{mount}")}
    for mount in _MOUNT_POINTS:
        option = f"--bind={directory}:{mount}"
        if mount not in taken or taken[mount] == option:
            return () if mount in taken else (option,), f"{mount}/{name}".rstrip("/")
    raise MismatchError(
        "every directory of the image that something can be bound to is taken",
        hint="of /mnt/0 to /mnt/9, leave mpiric two: for its library and for what it writes",
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
