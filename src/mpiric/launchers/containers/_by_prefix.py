"""Engines of the Apptainer family: a variable with the engine's prefix is set inside without it."""

from collections.abc import Mapping

from mpiric.launchers._words import words
from mpiric.launchers.containers._engine import Engine, Words, inserted_before_image

_VALUED = words("""-B --bind --app --apply-cgroups --blkio-weight --cpu-shares --cpus
    --cpuset-cpus --cpuset-mems --dns --docker-host --drop-caps --add-caps --env --env-file --fakeroot-uid
    --fusemount -H --home --hostname --memory --memory-reservation --memory-swap --mount --network
    --network-args -o --overlay --pem-path --pids-limit --pwd --cwd -S --scratch --security -W --workdir""")


def prefixed_engine(name: str, prefix: str) -> Engine:
    """Return an engine with the verbs ``exec``, for a command, and ``run``, for the image's run script."""

    def inject(arguments: Words, variables: Mapping[str, str]) -> tuple[Words, Mapping[str, str]]:
        return arguments, {prefix + variable: value for variable, value in variables.items()}

    def bind(arguments: Words, path: str, mode: str) -> tuple[Words, str]:
        return inserted_before_image(engine, arguments, ("--bind", f"{path}:{path}:{mode}")), path

    engine = Engine(name, (name,), ("exec", "run"), _VALUED, inject, bind, ("--env",))
    return engine
