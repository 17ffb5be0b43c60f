"""The program of a launch line: an executable, or a Python interpreter with a script or module."""

from collections.abc import Sequence

from mpiric.host.host import Host
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MismatchError, NotFoundError
from mpiric.model.job import Job

_ENVIRONMENT = "env"
_VALUED = ("-W", "-X", "--check-hash-based-pycs")


@dataclass(frozen=True)
class PackEntry:
    """Part of a command that becomes part of a pack; later arguments are given at its start."""

    executable: str  # absolute path of the file that the kernel executes
    command: tuple[str, ...]  # corresponding arguments of the launch line
    arguments: tuple[str, ...] = ()  # options of the interpreter and its module
    script: str = ""  # absolute path of the script, "" for an executable or a module alone
    is_python: bool = False

    @property
    def name(self) -> str:
        """Return the name of the script or module, else of the executable."""
        if self.module:
            return self.script.rsplit("/", 1)[-1].removesuffix(".py") or self.module
        return (self.script or self.executable).rsplit("/", 1)[-1].removesuffix(".py")

    @property
    def module(self) -> str:
        """Return the module that is run (``-m``), "" without one."""
        return self.arguments[-1] if self.arguments[-2:-1] == ("-m",) else ""


def entry_of(job: Job, host: Host) -> PackEntry:
    """Return the program of a launch line. Raises MpiricError if it cannot be packed."""
    if job.container is not None:
        raise MismatchError(
            f"{job.container.argv[0]} runs the program out of an image already",
            hint="copy the image file itself to the other site",
        )
    programs = {segment.program[0] for segment in job.segments}
    if len(programs) > 1:
        raise MismatchError(
            f"the launch line starts several programs: {', '.join(sorted(programs))}",
            hint="pack each by itself, and start the packs with ':' between them",
        )
    argv = job.program
    path = _program_path(argv[0], job, host)
    if host.elf(path) is None:
        first = (host.read_text(path) or "").partition("\n")[0]
        interpreter = tuple(first[2:].split()) if first.startswith("#!") else ()
        if not interpreter:
            raise MismatchError(
                f"{path} is neither an executable nor a script that names its interpreter",
                hint="name the program itself",
            )
        return _of_script(path, interpreter, job, host)
    if not _is_python(path):
        return PackEntry(path, argv[:1])
    return _of_python(path, argv[1:], job, host)


def _of_script(path: str, interpreter: Sequence[str], job: Job, host: Host) -> PackEntry:
    command = list(interpreter)
    if command[0].rsplit("/", 1)[-1] == _ENVIRONMENT:
        command = [word for word in command[1:] if not word.startswith("-") and "=" not in word]
    program = _program_path(command[0], job, host) if command else ""
    if not program or not _is_python(program):
        raise MismatchError(
            f"{path} is a script of {' '.join(interpreter)}, so that the programs it starts are unknown",
            hint="name the program that the script starts",
        )
    return PackEntry(program, job.program[:1], tuple(command[1:]), path, is_python=True)


def _of_python(path: str, arguments: Sequence[str], job: Job, host: Host) -> PackEntry:
    """Parse options of the interpreter, then ``-m module``, ``-c code`` or a script."""
    options: list[str] = []
    remaining = list(arguments)
    while remaining and remaining[0].startswith("-") and remaining[0] not in ("-m", "-c", "-"):
        count = 2 if remaining[0] in _VALUED else 1
        options, remaining = [*options, *remaining[:count]], remaining[count:]
    if remaining[:1] in (["-m"], ["-c"]):
        options, remaining = [*options, *remaining[:2]], remaining[2:]
        if options[-2] == "-c" or not (remaining and remaining[0].endswith(".py")):
            return PackEntry(path, job.program[: 1 + len(options)], tuple(options), is_python=True)
    if not remaining or remaining[0] == "-":
        raise MismatchError(f"{path} is started without a script", hint="name one: -- mpirun python solve.py")
    script = _program_path(remaining[0], job, host, by_path=False)
    return PackEntry(path, job.program[: 2 + len(options)], tuple(options), script, is_python=True)


def _is_python(path: str) -> bool:
    return path.rsplit("/", 1)[-1].rstrip("0123456789.").startswith("python")


def _program_path(word: str, job: Job, host: Host, *, by_path: bool = True) -> str:
    located = (host.which(word, by_shell=True) or "") if by_path and "/" not in word else word
    path = located if located.startswith("/") or not located else f"{job.working_directory}/{located}"
    if not path or not host.is_file(path):
        raise NotFoundError(f"the program {word!r} was not found", hint="pack where the program runs")
    return path
