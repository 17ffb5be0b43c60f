"""Docker: the command line Podman copies.

Source: docker run reference.
"""

from mpiric.launchers.containers._by_option import option_engine
from mpiric.launchers.containers.podman import VALUED

ENGINE = option_engine(
    "docker",
    ("docker",),
    ("run", "exec"),
    VALUED,
    set_by=("--env", "-e"),
    bind_by=lambda _, path, mode: ((f"--volume={path}:{path}:{mode}",), path),
)
