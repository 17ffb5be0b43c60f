"""Podman: passes a variable of the host inside only by ``--env``.

Source: podman-run(1).
"""

from mpiric.launchers._words import words
from mpiric.launchers.containers._engine import option_engine

_VALUED = words(
    """-a --attach --add-host --annotation --arch --authfile --cap-add --cap-drop --cgroup-parent --cgroupns
    --cidfile --cpu-shares --cpus --cpuset-cpus --cpuset-mems --device --dns -e --env --env-file --entrypoint
    --gidmap --group-add -h --hostname --hooks-dir --ipc --label -l --log-driver --log-opt -m --memory
    --memory-swap --mount --name --network --net --pid --pids-limit --platform --pull --security-opt
    --shm-size --stop-signal --tmpfs --uidmap --ulimit -u --user --userns --uts -v --volume --volumes-from
    -w --workdir"""
)

ENGINE = option_engine(
    "podman",
    ("podman",),
    ("run", "exec"),
    _VALUED,
    set_by=("--env", "-e"),
    bind_by=lambda _, path, mode: ((f"--volume={path}:{path}:{mode}",), path),
)
