"""Charliecloud: ``ch-run`` passes the host's environment; ``--set-env=NAME=VALUE`` has the last say inside.

A file can be bound only where the image has a path to bind it to.
Source: ch-run(1), sections "Environment variables" and "Bind mounts".
"""

from mpiric.launchers._words import words
from mpiric.launchers.containers._by_option import option_engine

ENGINE = option_engine(
    "charliecloud",
    ("ch-run",),
    (),
    words("-b --bind -c --cd -g --gid --join-ct --join-pid --join-tag -m --mount -s --storage -u --uid"),
    set_by=("--set-env",),
    bind_by=lambda path: (f"--bind={path}:{path}",),
    separator=True,
)
