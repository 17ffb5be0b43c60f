"""MPICH's lists of tests as data: a line of one is a subdirectory, or a program and how to run it."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RANKS = 2  # where a line says nothing
LIMIT_S = 180.0
MEMORY_GB = 4.0  # a program that wants more is left out


@dataclass(frozen=True)
class Listed:
    """One run of one program, as its list wants it."""

    directory: str  # of the program below the built suite
    program: str
    ranks: int
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    launcher_options: tuple[str, ...] = ()
    limit_s: float = LIMIT_S
    needs: str = ""  # what no machine of this comparison has
    fewer_ranks: bool = False  # than its list wants

    @property
    def name(self) -> str:
        """What tells it from every other run of the suite."""
        settings = (f"{name}={value}" for name, value in self.environment)
        words = (*settings, f"{self.directory}/{self.program}", *self.arguments)
        return f"{shlex.join(words)} on {self.ranks}"


def read_testlists(built: Path, source: Path, directory: str, most_ranks: int) -> Iterator[Listed]:
    """What the list of a directory and those of its subdirectories name, with at most so many ranks.

    A list stands in the directory of the programs, or, where configuring had nothing to fill in, beside the
    sources.
    """
    file = next(
        (root / directory / "testlist" for root in (built, source) if _is_list(root, directory)), None
    )
    if file is None:
        return
    for line in file.read_text(encoding="utf-8").splitlines():
        words = line.partition("#")[0].split()
        if not words or words[0].startswith("!"):
            continue
        name = words[0].strip("/")
        if (source / directory / name).is_dir():
            yield from read_testlists(built, source, f"{directory}/{name}", most_ranks)
        else:
            yield _listed(directory, name, words[1:], most_ranks)


def _is_list(root: Path, directory: str) -> bool:
    return (root / directory / "testlist").is_file()


def _listed(directory: str, name: str, words: list[str], most_ranks: int) -> Listed:
    ranks = int(words[0]) if words and words[0].isdigit() else RANKS
    given: dict[str, list[str]] = {}
    for key, _, value in (word.partition("=") for word in words if "=" in word):
        given.setdefault(key, []).append(value)
    below, _, program = name.rpartition("/")
    settings = (setting.partition("=") for setting in given.get("env", ()))
    return Listed(
        directory=f"{directory}/{below}" if below else directory,
        program=program,
        ranks=min(ranks, most_ranks),
        arguments=tuple(given.get("arg", ())),
        environment=tuple((name, value) for name, _, value in settings),
        launcher_options=tuple(given.get("mpiexecarg", ())),
        limit_s=float(next(iter(given.get("timeLimit", ())), LIMIT_S)),
        needs=_needs(given),
        fewer_ranks=ranks > most_ranks,
    )


def _needs(given: dict[str, list[str]]) -> str:
    memory = next(iter(given.get("mem", ())), "0")
    if "hasgpu" in given:
        return "a GPU"
    if memory.replace(".", "").isdigit() and float(memory) > MEMORY_GB:
        return f"more than {MEMORY_GB:g} GB"
    return ""
