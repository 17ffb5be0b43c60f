"""What a launch line runs: an executable, or a Python interpreter with a script or module."""

from collections.abc import Sequence
from dataclasses import dataclass

from mpiric.host.host import Host
from mpiric.model.errors import MismatchError, NotFoundError
from mpiric.model.job import Job

_ENVIRONMENT = "env"
_VALUED = ("-W", "-X", "--check-hash-based-pycs")


@dataclass(frozen=True)
class PackEntry:
    """The words of the program that go into a pack; all after them is given when it is started."""

    executable: str  # absolute path of what the kernel starts
    command: tuple[str, ...]  # the words of the launch line that all this stands for
    words: tuple[str, ...] = ()  # options of the interpreter and its module
    script: str = ""  # absolute path of the script, "" for an executable or a module alone
    is_python: bool = False

    @property
    def name(self) -> str:
        """The name that people would give it: of the script or module, else of the executable."""
        if self.module:
            return self.script.rsplit("/", 1)[-1].removesuffix(".py") or self.module
        return (self.script or self.executable).rsplit("/", 1)[-1].removesuffix(".py")

    @property
    def module(self) -> str:
        """The module that is run (``-m``), "" without one."""
        return self.words[-1] if self.words[-2:-1] == ("-m",) else ""


def entry_of(job: Job, host: Host) -> PackEntry:
    """The program of a launch line. Raises MpiricError for what cannot go into a pack."""
    if job.container is not None:
        raise MismatchError(
            f"{job.container.argv[0]} runs the program out of an image already",
            hint="an image is carried as it is; pack what runs outside of one",
        )
    programs = {segment.program[0] for segment in job.segments}
    if len(programs) > 1:
        raise MismatchError(
            f"the launch line starts several programs: {', '.join(sorted(programs))}",
            hint="pack each by itself, and start the packs with ':' between them",
        )
    words = job.program
    path = _found(words[0], job, host)
    if host.elf(path) is None:
        interpreter = _shebang(path, host)
        if not interpreter:
            raise MismatchError(
                f"{path} is no executable, nor a script that names its interpreter",
                hint="name the program itself",
            )
        return _of_script(path, interpreter, job, host)
    if not _is_python(path):
        return PackEntry(path, words[:1])
    return _of_python(path, words[1:], job, host)


def _of_script(path: str, interpreter: Sequence[str], job: Job, host: Host) -> PackEntry:
    words = list(interpreter)
    if words[0].rsplit("/", 1)[-1] == _ENVIRONMENT:
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    program = _found(words[0], job, host) if words else ""
    if not program or not _is_python(program):
        raise MismatchError(
            f"{path} is a script of {' '.join(interpreter)}, and what it starts does not show from outside",
            hint="name the program that the script starts",
        )
    return PackEntry(program, job.program[:1], tuple(words[1:]), path, is_python=True)


def _of_python(path: str, arguments: Sequence[str], job: Job, host: Host) -> PackEntry:
    """Options of the interpreter, then ``-m module``, ``-c code`` or a script; a module may take a script."""
    words: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-"):
        taken = 2 if rest[0] in _VALUED else 1
        words, rest = [*words, *rest[:taken]], rest[taken:]
    if rest[:1] in (["-m"], ["-c"]):
        words, rest = [*words, *rest[:2]], rest[2:]
        if words[-2] == "-c" or not (rest and rest[0].endswith(".py")):
            return PackEntry(path, job.program[: 1 + len(words)], tuple(words), is_python=True)
    if not rest or rest[0] == "-":
        raise MismatchError(f"{path} is started without a script", hint="name one: -- mpirun python solve.py")
    script = _found(rest[0], job, host, by_path=False)
    return PackEntry(path, job.program[: 2 + len(words)], tuple(words), script, is_python=True)


def _is_python(path: str) -> bool:
    return path.rsplit("/", 1)[-1].rstrip("0123456789.").startswith("python")


def _found(word: str, job: Job, host: Host, *, by_path: bool = True) -> str:
    found = (host.which(word, by_shell=True) or "") if by_path and "/" not in word else word
    path = found if found.startswith("/") or not found else f"{job.working_directory}/{found}"
    if not path or not host.is_file(path):
        raise NotFoundError(f"there is no program {word!r} here", hint="pack where the program runs")
    return path


def _shebang(path: str, host: Host) -> tuple[str, ...]:
    first = (host.read_text(path) or "").partition("\n")[0]
    return tuple(first[2:].split()) if first.startswith("#!") else ()
