"""Recorded compilations, which the commands in ``bin`` repeat for other files without Python.

``src/front`` requests a plan by three environment variables: its path, its key (the command line without
parts that vary from file to file, and relevant environment variables), and the positions of the varying
arguments, which are holes in the plan. A field ends with a zero byte, a list begins with its length.
"""

import os
import sys
from collections.abc import Iterable, MutableMapping, Sequence
from typing import NamedTuple

from mpiric.build.build_options import OWN_WORDS
from mpiric.build.command import Command
from mpiric.host import user_directories

_FORMAT = "mpiric plan 1"
_MARK = "\x1f"
_KEPT = 2000  # largest number of plans of a user; the oldest are removed
SCRATCH = f"{_MARK}scratch{_MARK}"
_PER_FILE_OPTIONS = frozenset({"-o", "-MF", "-MT", "-MQ"})


class PlanRequest(NamedTuple):
    """Request of a plan by the command in ``bin``; ``positions`` begin with the source's."""

    path: str  # "" if a plan is not requested
    key: str
    positions: tuple[int, ...]
    question_path: str = ""  # path of the output of `write_question`
    question_key: str = ""

    def with_holes(self, arguments: Sequence[str]) -> list[str]:
        """Return the command line with holes; only the suffix of the source remains."""
        out = list(arguments)
        for at in self.positions:
            ending = os.path.splitext(arguments[at])[1] if at == self.positions[0] else ""
            out[at] = f"{_MARK}{at}{_MARK}{ending}"
        return out


class Step(NamedTuple):
    """Compilation step; ``section`` and ``description`` belong to the fat object, "" without one."""

    argv: tuple[str, ...]
    output: str
    section: str = ""
    description: str = ""


class Witness(NamedTuple):
    """State of a file; a bare ``name`` is searched for along PATH and must resolve to ``path`` again."""

    name: str
    path: str
    modified_ns: int
    size_bytes: int


class CompilationPlan(NamedTuple):
    """Compilation of any file with the same options."""

    steps: Sequence[Step]  # steps, baseline first
    directories: Sequence[str]  # subdirectories of the scratch directory
    baseline_alone: bool  # the baseline is compiled before the others start
    sentences: Sequence[str]
    retry: bool  # a failed file may compile differently, without a plan
    not_for: Sequence[str]  # parts of a source's path that need another compilation
    witnesses: Sequence[Witness]


def take_wanted(environ: MutableMapping[str, str]) -> PlanRequest | None:
    """Remove the request from the environment, so that child processes do not inherit it."""
    path, key, positions = (environ.pop(f"MPIRIC_PLAN{part}", "") for part in ("", "_KEY", "_WORDS"))
    question = tuple(environ.pop(f"MPIRIC_PLAN_QUESTION{part}", "") for part in ("", "_KEY"))
    return (
        PlanRequest(path, key, tuple(map(int, positions.split())), *question)
        if any((path, *question))
        else None
    )


def holes_are_known(command: Command) -> bool:
    """Check whether the holes are the source and values of options with file names."""
    holes = {at for at, word in enumerate(command.arguments) if _MARK in word}
    sources = {source.position for source in command.sources}
    values = holes & command.values
    return (
        len(sources) == 1
        and sources <= holes
        and holes == sources | values
        and all(command.arguments[at - 1] in _PER_FILE_OPTIONS for at in values)
        and _MARK in command.output
    )


def own_files() -> list[Witness]:
    """Return the state of the imported modules: each version of mpiric has its own plans."""
    files = (
        getattr(sys.modules[name], "__file__", None) for name in sorted(sys.modules) if name[:6] == "mpiric"
    )
    return [state for file in files if file and (state := witness(file, file))]


def witness(name: str, path: str) -> Witness | None:
    """Return the state of a file, None if it is missing."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return Witness(name, path, state.st_mtime_ns, state.st_size)


def write(plan: CompilationPlan, request: PlanRequest) -> None:
    """Write the plan under the requested key."""
    fields: list[object] = [_FORMAT, request.key]
    fields += _listed([str(field) for field in row] for row in plan.witnesses)
    fields += _listed([mark] for mark in plan.not_for)
    fields += ["".join(f"mpiric: {sentence}\n" for sentence in plan.sentences)]
    fields += [int(plan.retry), int(plan.baseline_alone)]
    fields += _listed([name] for name in plan.directories)
    fields += _listed(
        [step.section, step.description, step.output, str(len(step.argv)), *step.argv] for step in plan.steps
    )
    _keep(request.path, fields)


def write_question(
    request: PlanRequest,
    compiler: Sequence[str],
    named: int,
    marks: Sequence[str],
    witnesses: Iterable[Witness],
) -> None:
    """Record that files with these ``marks`` in their path are queries, and the program that answers them.

    The first ``named`` arguments on the command line are the compiler.
    """
    fields: list[object] = [_FORMAT, request.question_key]
    fields += _listed([str(field) for field in row] for row in witnesses)
    fields += [*_listed([mark] for mark in marks), *_listed([word] for word in OWN_WORDS), named]
    fields += _listed([word] for word in compiler)
    _keep(request.question_path, fields)


def _keep(path: str, fields: Sequence[object]) -> None:
    user_directories.make_room(os.path.dirname(path), _KEPT)
    user_directories.write_cached(path, "".join(f"{field}\0" for field in fields))


def _listed(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the number of rows, followed by their fields."""
    all_rows = list(rows)
    return [str(len(all_rows)), *(field for row in all_rows for field in row)]
