"""Container engines: syntax of their command lines, and passing of variables and files to programs inside."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from posixpath import split

from mpiric.launchers._dialect import Words, words
from mpiric.launchers._draft import Draft
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError
from mpiric.model.job import Container, Job, Segment

_PODMAN_OPTIONS = words(
    """-a --attach --add-host --annotation --arch --authfile --cap-add --cap-drop --cgroup-parent --cgroupns
    --cidfile --cpu-shares --cpus --cpuset-cpus --cpuset-mems --device --dns -e --env --env-file --entrypoint
    --gidmap --group-add -h --hostname --hooks-dir --ipc --label -l --log-driver --log-opt -m --memory
    --memory-swap --mount --name --network --net --pid --pids-limit --platform --pull --security-opt
    --shm-size --stop-signal --tmpfs --uidmap --ulimit -u --user --userns --uts -v --volume --volumes-from
    -w --workdir"""
)
_SINGULARITY_OPTIONS = words("""-B --bind --app --apply-cgroups --blkio-weight --cpu-shares --cpus
    --cpuset-cpus --cpuset-mems --dns --docker-host --drop-caps --add-caps --env --env-file --fakeroot-uid
    --fusemount -H --home --hostname --memory --memory-reservation --memory-swap --mount --network
    --network-args -o --overlay --pem-path --pids-limit --pwd --cwd -S --scratch --security -W --workdir""")
# Directories for binds that images of Charliecloud provide: an image is read-only and lacks the paths of the
# host. The last free one is used first.
_MOUNT_POINTS = tuple(f"/mnt/{number}" for number in reversed(range(10)))


@dataclass(frozen=True)
class Engine:
    """Syntax of an engine's command line, and the way in which variables are passed inside.

    The functions get the arguments up to and including the image and, if the engine has one, the ``--`` after
    it. ``inject`` returns the new arguments and the variables that must be in the environment of the engine.
    ``bind`` makes a path of the host visible inside, ``ro`` or ``rw``, and returns the new arguments and the
    path inside.
    """

    name: str
    programs: Words  # file names of the engine
    verbs: Words  # first arguments of commands that run something; empty if it has no verbs
    valued: Words  # options with a value in the next argument; others have none or use --name=value
    inject: Callable[[Words, Mapping[str, str]], tuple[Words, Mapping[str, str]]]
    bind: Callable[[Words, str, str], tuple[Words, str]]
    set_by: Words  # spellings of the option that sets a variable inside
    separator: bool = False  # True if "--" separates image and program
    mount_points: Words = ()  # directories that an image must have as targets of `bind`

    def own_variables(self, arguments: Words) -> Mapping[str, str]:
        """Return the variables that the user's options set inside."""
        return {variable: value for _, _, variable, value in self._settings(arguments)}

    def withdraw(self, arguments: Words, name: str) -> Words:
        """Return the arguments without the user's setting of a variable."""
        for at, length, variable, _ in reversed(self._settings(arguments)):
            if variable == name:
                arguments = (*arguments[:at], *arguments[at + length :])
        return arguments

    def _settings(self, arguments: Words) -> list[tuple[int, int, str, str]]:
        """Return position, length, name and value of each ``--env=NAME=VALUE``, also as two arguments."""
        settings = []
        for at, word in enumerate(arguments):
            option, equals, attached = word.partition("=")
            if word in self.set_by and word in self.valued and at + 1 < len(arguments):
                text, length = arguments[at + 1], 2
            elif equals and option in self.set_by:
                text, length = attached, 1
            else:
                continue
            name, _, value = text.partition("=")
            settings.append((at, length, name, value))
        return settings


def options_end(engine: Engine, arguments: Words) -> int:
    """Return the position of the image, or the number of arguments if there is none."""
    at = 1
    if engine.verbs:
        while at < len(arguments) and arguments[at] not in engine.verbs:
            at += 1
        at += 1
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "--":
        at += 2 if arguments[at] in engine.valued else 1
    return at


def inserted_before_image(engine: Engine, arguments: Words, more: Words) -> Words:
    """Return the arguments with options after the user's, so that they override them."""
    at = options_end(engine, arguments)
    return (*arguments[:at], *more, *arguments[at:])


def option_engine(
    name: str,
    programs: Words,
    verbs: Words,
    valued: Words,
    *,
    set_by: Words,
    bind_by: Callable[[Words, str, str], tuple[Words, str]],
    separator: bool = False,
    mount_points: Words = (),
) -> Engine:
    """Return an engine whose option ``--env=NAME=VALUE`` is spelled as in ``set_by``; the first is written.

    ``bind_by`` takes the arguments of the engine, a path and ``ro`` or ``rw``, and returns the options that
    bind the path and the path inside.
    """

    def inject(arguments: Words, variables: Mapping[str, str]) -> tuple[Words, Mapping[str, str]]:
        more = tuple(f"{set_by[0]}={variable}={value}" for variable, value in sorted(variables.items()))
        return inserted_before_image(engine, arguments, more), {}

    def bind(arguments: Words, path: str, mode: str) -> tuple[Words, str]:
        more, inside = bind_by(arguments, path, mode)
        return inserted_before_image(engine, arguments, more), inside

    engine = Engine(name, programs, verbs, valued, inject, bind, set_by, separator, mount_points)
    return engine


def prefixed_engine(name: str, prefix: str) -> Engine:
    """Return an engine with the verbs ``exec``, for a command, and ``run``, for the image's run script."""

    def inject(arguments: Words, variables: Mapping[str, str]) -> tuple[Words, Mapping[str, str]]:
        return arguments, {prefix + variable: value for variable, value in variables.items()}

    def bind(arguments: Words, path: str, mode: str) -> tuple[Words, str]:
        return inserted_before_image(engine, arguments, ("--bind", f"{path}:{path}:{mode}")), path

    engine = Engine(name, (name,), ("exec", "run"), _SINGULARITY_OPTIONS, inject, bind, ("--env",))
    return engine


def _bind_charliecloud(arguments: Words, path: str, mode: str) -> tuple[Words, str]:
    """Return a bind of a writable directory itself, or of the directory that holds a file."""
    directory, name = (path, "") if mode == "rw" else split(path)
    used = {mount: word for mount in _MOUNT_POINTS for word in arguments if word.endswith(f":{mount}")}
    for mount in _MOUNT_POINTS:
        option = f"--bind={directory}:{mount}"
        if mount not in used or used[mount] == option:
            return () if mount in used else (option,), f"{mount}/{name}".rstrip("/")
    raise MismatchError(
        f"all of {_MOUNT_POINTS[0]} to {_MOUNT_POINTS[-1]} are used by bind mounts of the command",
        hint="bind to other directories of the container, so that two of these are free for mpiric",
    )


@cache
def engines() -> dict[str, Engine]:
    """Return the engines by name, in alphabetical order.

    Sources: Apptainer and SingularityCE user guides, "Environment and Metadata"; ch-run(1), "Environment
    variables" and "Bind mounts"; podman-run(1); docker run reference.
    """
    # Apptainer passes the host's environment inside, except for variables that the image or --cleanenv hides.
    # APPTAINERENV_X sets X in any case, accepts values with commas (at which --env splits), and leaves the
    # LD_PRELOAD of the engine itself as it is. SingularityCE and old Singularity differ by the prefix.
    apptainer = prefixed_engine("apptainer", "APPTAINERENV_")
    singularity = prefixed_engine("singularity", "SINGULARITYENV_")
    charliecloud = option_engine(  # passes the host's environment inside; --set-env overrides it
        "charliecloud",
        ("ch-run",),
        (),
        words("-b --bind -c --cd -g --gid --join-ct --join-pid --join-tag -m --mount -s --storage -u --uid"),
        set_by=("--set-env",),
        bind_by=_bind_charliecloud,
        separator=True,
        mount_points=_MOUNT_POINTS,
    )
    podman = option_engine(  # passes a variable of the host inside only by --env
        "podman",
        ("podman",),
        ("run", "exec"),
        _PODMAN_OPTIONS,
        set_by=("--env", "-e"),
        bind_by=lambda _, path, mode: ((f"--volume={path}:{path}:{mode}",), path),
    )
    docker = replace(podman, name="docker", programs=("docker",))  # same command line as Podman
    return {engine.name: engine for engine in (apptainer, charliecloud, docker, podman, singularity)}


def engine_of(program: Words) -> Engine | None:
    """Return the engine that a program line calls, judged by its first argument and verb."""
    if not program:
        return None
    stem = program[0].rsplit("/", 1)[-1]
    for engine in engines().values():
        if stem in engine.programs and (not engine.verbs or any(verb in program for verb in engine.verbs)):
            return engine
    return None


def split_container(program: Words) -> Container | None:
    """Return the container between launcher and program, None if there is none."""
    engine = engine_of(program)
    if engine is None:
        return None
    image = options_end(engine, program)
    end = image + 1
    if engine.separator and program[end : end + 1] == ("--",):
        end += 1
    if end >= len(program):
        return None
    return Container(engine.name, program[:end], program[image])


def container_variables(job: Job) -> Mapping[str, str]:
    """Return the variables that the user's engine options set in the container of the first segment."""
    container = split_container(job.program)
    return {} if container is None else engines()[container.engine].own_variables(container.argv)


def map_containers(job: Job, change: Callable[[Engine, Words], Words]) -> Job:
    """Return the job with changed engine arguments in each segment that has a container."""

    def changed(segment: Segment) -> Segment:
        container = split_container(segment.program)
        if container is None:
            return segment
        arguments = change(engines()[container.engine], container.argv)
        return replace(segment, program=(*arguments, *segment.program[len(container.argv) :]))

    segments = tuple(changed(segment) for segment in job.segments)
    return replace(job, segments=segments, container=split_container(segments[0].program))


def into_containers(draft: Draft, variables: Mapping[str, str]) -> tuple[Draft, dict[str, str]]:
    """Pass variables to the containers; return the variables for the engines or bare programs."""
    outside: dict[str, str] = {}
    containers = [split_container(segment.program) for segment in draft.job.segments]
    if any(container is None for container in containers):
        outside.update(variables)

    def injected(engine: Engine, arguments: Words) -> Words:
        new, needed = engine.inject(arguments, variables)
        outside.update(needed)
        return new

    return replace(draft, job=map_containers(draft.job, injected)), outside


def bind_paths(job: Job, modes: Mapping[str, str]) -> tuple[Job, dict[str, str]]:
    """Make paths of the host visible to the ranks (``ro`` or ``rw``); return the paths that the ranks see.

    Raises MismatchError if the programs of a job would see one of them under different paths.
    """
    bare = any(split_container(segment.program) is None for segment in job.segments)
    inner_paths: dict[str, set[str]] = {path: {path} if bare else set() for path in modes}

    def bound(engine: Engine, arguments: Words) -> Words:
        for path, mode in modes.items():
            arguments, inside = engine.bind(arguments, path, mode)
            inner_paths[path].add(inside)
        return arguments

    job = map_containers(job, bound)
    for path, names in inner_paths.items():
        if len(names) > 1:
            raise MismatchError(f"the programs of the job would see {path} under different paths")
    return job, {path: names.pop() for path, names in inner_paths.items()}
