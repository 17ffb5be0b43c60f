"""Reader of MPICH's test lists: each line is a subdirectory, or a program with its options."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RANKS = 2  # default of a line
LIMIT_S = 180.0
MEMORY_GB = 4.0  # programs that need more are skipped


@dataclass(frozen=True)
class Listed:
    """Run of a program, as specified by its list."""

    directory: str  # directory of the program, relative to the built suite
    program: str
    ranks: int
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    launcher_options: tuple[str, ...] = ()
    limit_s: float = LIMIT_S
    needs: str = ""  # requirement that the machine does not meet
    fewer_ranks: bool = False  # whether the list specifies more ranks

    @property
    def name(self) -> str:
        """Return a unique name of the run."""
        settings = (f"{name}={value}" for name, value in self.environment)
        parts = (*settings, f"{self.directory}/{self.program}", *self.arguments)
        return f"{shlex.join(parts)} on {self.ranks}"


def read_testlists(built: Path, source: Path, directory: str, most_ranks: int) -> Iterator[Listed]:
    """Yield the runs listed for a directory and its subdirectories, with at most ``most_ranks`` ranks.

    A list is in the directory of the built programs, or in the source directory if `configure` did not
    generate it.
    """
    file = next(
        (root / directory / "testlist" for root in (built, source) if _is_list(root, directory)), None
    )
    if file is None:
        return
    for line in file.read_text(encoding="utf-8").splitlines():
        fields = line.partition("#")[0].split()
        if not fields or fields[0].startswith("!"):
            continue
        name = fields[0].strip("/")
        if (source / directory / name).is_dir():
            yield from read_testlists(built, source, f"{directory}/{name}", most_ranks)
        else:
            yield _listed(directory, name, fields[1:], most_ranks)


def _is_list(root: Path, directory: str) -> bool:
    return (root / directory / "testlist").is_file()


def _listed(directory: str, name: str, fields: list[str], most_ranks: int) -> Listed:
    ranks = int(fields[0]) if fields and fields[0].isdigit() else RANKS
    options: dict[str, list[str]] = {}
    for key, _, value in (word.partition("=") for word in fields if "=" in word):
        options.setdefault(key, []).append(value)
    below, _, program = name.rpartition("/")
    settings = (setting.partition("=") for setting in options.get("env", ()))
    return Listed(
        directory=f"{directory}/{below}" if below else directory,
        program=program,
        ranks=min(ranks, most_ranks),
        arguments=tuple(options.get("arg", ())),
        environment=tuple((name, value) for name, _, value in settings),
        launcher_options=tuple(options.get("mpiexecarg", ())),
        limit_s=float(next(iter(options.get("timeLimit", ())), LIMIT_S)),
        needs=_needs(options),
        fewer_ranks=ranks > most_ranks,
    )


def _needs(options: dict[str, list[str]]) -> str:
    memory = next(iter(options.get("mem", ())), "0")
    if "hasgpu" in options:
        return "a GPU"
    if memory.replace(".", "").isdigit() and float(memory) > MEMORY_GB:
        return f"more than {MEMORY_GB:g} GB"
    return ""
