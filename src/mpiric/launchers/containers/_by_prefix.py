"""Engines of the Apptainer family: a variable with the engine's prefix appears inside without it."""

from collections.abc import Mapping

from mpiric.launchers._words import words
from mpiric.launchers.containers._engine import Engine, Words, inserted_before_image

_VALUED = words("""-B --bind --app --apply-cgroups --blkio-weight --cpu-shares --cpus
    --cpuset-cpus --cpuset-mems --dns --docker-host --drop-caps --add-caps --env --env-file --fakeroot-uid
    --fusemount -H --home --hostname --memory --memory-reservation --memory-swap --mount --network
    --network-args -o --overlay --pem-path --pids-limit --pwd --cwd -S --scratch --security -W --workdir""")


def prefixed_engine(name: str, prefix: str) -> Engine:
    """``exec`` takes a command; ``run`` hands its words to the image's run script."""

    def inject(words: Words, variables: Mapping[str, str]) -> tuple[Words, Mapping[str, str]]:
        return words, {prefix + variable: value for variable, value in variables.items()}

    def bind(words: Words, path: str, mode: str) -> tuple[Words, str]:
        return inserted_before_image(engine, words, ("--bind", f"{path}:{path}:{mode}")), path

    engine = Engine(name, (name,), ("exec", "run"), _VALUED, inject, bind, ("--env",))
    return engine
