"""A compilation written down, so that the commands in ``bin`` repeat it for other files without Python.

``src/front`` asks for a plan by three variables of the environment: where to write it, its key (the command
line without what changes from file to file, and the environment that matters), and the positions of the words
that do change. Such words stand in a plan as holes. A field ends with a zero byte, a list begins with its
length.
"""

import os
import sys
from collections.abc import Iterable, MutableMapping, Sequence
from typing import NamedTuple

from mpiric.build.command import Command
from mpiric.build.wishes import OWN_WORDS
from mpiric.host import cache

_FORMAT = "mpiric plan 1"
_MARK = "\x1f"
_KEPT = 2000  # plans of one user; beyond, the oldest go
SCRATCH = f"{_MARK}scratch{_MARK}"
_PER_FILE_OPTIONS = frozenset({"-o", "-MF", "-MT", "-MQ"})


class PlanRequest(NamedTuple):
    """The plan that the command in ``bin`` requests; ``positions`` begin with the source's."""

    path: str  # "" where no plan is wanted
    key: str
    positions: tuple[int, ...]
    question_path: str = ""  # where to write what `write_question` does
    question_key: str = ""

    def with_holes(self, words: Sequence[str]) -> list[str]:
        """The command line of any file: of the source only the ending stays."""
        out = list(words)
        for at in self.positions:
            ending = os.path.splitext(words[at])[1] if at == self.positions[0] else ""
            out[at] = f"{_MARK}{at}{_MARK}{ending}"
        return out


class Step(NamedTuple):
    """One compilation; ``section`` and ``description`` are those of the fat object, "" where none is made."""

    argv: tuple[str, ...]
    made: str
    section: str = ""
    description: str = ""


class Witness(NamedTuple):
    """A file as it was; a bare ``name`` is looked for along PATH, and has to be found at ``path`` again."""

    name: str
    path: str
    modified_ns: int
    size_bytes: int


class CompilationPlan(NamedTuple):
    """A compilation of any file."""

    steps: Sequence[Step]  # the baseline first
    directories: Sequence[str]  # to be made in the scratch directory
    baseline_alone: bool  # before the others begin
    sentences: Sequence[str]
    retry: bool  # a file that does not compile may in another way, which is not written down
    not_for: Sequence[str]  # parts of a source's path that call for another compilation
    witnesses: Sequence[Witness]


def take_wanted(environ: MutableMapping[str, str]) -> PlanRequest | None:
    """Take the request out of the environment, so that the tools started see no trace of it."""
    path, key, words = (environ.pop(f"MPIRIC_PLAN{part}", "") for part in ("", "_KEY", "_WORDS"))
    question = tuple(environ.pop(f"MPIRIC_PLAN_QUESTION{part}", "") for part in ("", "_KEY"))
    return (
        PlanRequest(path, key, tuple(map(int, words.split())), *question) if any((path, *question)) else None
    )


def holes_are_known(command: Command) -> bool:
    """Whether the holes are the one source, and values of the options that name files of one compilation."""
    holes = {at for at, word in enumerate(command.words) if _MARK in word}
    sources = {source.position for source in command.sources}
    values = holes & command.values
    return (
        len(sources) == 1
        and sources <= holes
        and holes == sources | values
        and all(command.words[at - 1] in _PER_FILE_OPTIONS for at in values)
        and _MARK in command.output
    )


def own_files() -> list[Witness]:
    """The modules in use, as witnesses: another version of mpiric makes its own plans."""
    files = (
        getattr(sys.modules[name], "__file__", None) for name in sorted(sys.modules) if name[:6] == "mpiric"
    )
    return [found for file in files if file and (found := witness(file, file))]


def witness(name: str, path: str) -> Witness | None:
    """A file as it is now, None when it is not there."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return Witness(name, path, state.st_mtime_ns, state.st_size)


def write(plan: CompilationPlan, wanted: PlanRequest) -> None:
    """Write the plan under the key requested."""
    fields: list[object] = [_FORMAT, wanted.key]
    fields += _listed([str(field) for field in row] for row in plan.witnesses)
    fields += _listed([mark] for mark in plan.not_for)
    fields += ["".join(f"mpiric: {sentence}\n" for sentence in plan.sentences)]
    fields += [int(plan.retry), int(plan.baseline_alone)]
    fields += _listed([name] for name in plan.directories)
    fields += _listed(
        [step.section, step.description, step.made, str(len(step.argv)), *step.argv] for step in plan.steps
    )
    _keep(wanted.path, fields)


def write_question(
    wanted: PlanRequest,
    compiler: Sequence[str],
    named: int,
    marks: Sequence[str],
    witnesses: Iterable[Witness],
) -> None:
    """Write down that files with these ``marks`` in their path are questions, and who answers them.

    ``named`` of the first words on the command line name the compiler.
    """
    fields: list[object] = [_FORMAT, wanted.question_key]
    fields += _listed([str(field) for field in row] for row in witnesses)
    fields += [*_listed([mark] for mark in marks), *_listed([word] for word in OWN_WORDS), named]
    fields += _listed([word] for word in compiler)
    _keep(wanted.question_path, fields)


def _keep(path: str, fields: Sequence[object]) -> None:
    cache.make_room(os.path.dirname(path), _KEPT)
    cache.write(path, "".join(f"{field}\0" for field in fields))


def _listed(rows: Iterable[Sequence[str]]) -> list[str]:
    """The number of rows, and what is in them."""
    there = list(rows)
    return [str(len(there)), *(field for row in there for field in row)]
