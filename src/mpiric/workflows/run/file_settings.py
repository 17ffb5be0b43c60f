"""Settings of files: remove settings that cannot be applied here, and warn of obstacles to the others."""

import os
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from mpiric import knobs
from mpiric.host.host import Host
from mpiric.model.configuration import Configuration
from mpiric.model.file_rules import HERE, parse_layouts, write_layouts
from mpiric.model.quoting import printable
from mpiric.model.situation import Situation
from mpiric.workflows.launch.container_findings import hint_file_findings

_MPI_IO_KNOBS = frozenset({"mpi-io", "mpi-io-library", "mpi-io-driver", "hdf5"})
_COPY_HINT = "remove files that the program creates again, or copy them: `cp FILE COPY && mv COPY FILE`"
_LINK_HINT = "start the program in the directory of the files, or set the layout of that directory by hand"
_WHY_NOT = {"layout": knobs.why_not_set, "mpi-io": knobs.why_hints_not_set}
_TUNE_HINT = "`mpiric machine` shows the file systems; `mpiric tune --only io -- CMD` finds settings for them"


def with_hint(sentence: str, hint: str) -> str:
    """Return a message and its hint on two lines, in the format of errors."""
    return f"{sentence}\nhint: {hint}"


def file_warnings(configuration: Configuration, situation: Situation, host: Host) -> Iterator[str]:
    """Yield warnings with hints about obstacles to the file settings of a configuration.

    An exhausted quota concerns every file setting; locks and the user's file of hints concern MPI-IO.
    """
    acting = {name for name in configuration.as_dict() if knobs.knob_named(name).acts_on_files}
    if not acting:
        return
    relevant = {"quota-used-up", *(["mount-without-flock"] if acting & _MPI_IO_KNOBS else [])}
    problems = [problem for problem in knobs.inherited_problems(situation) if problem.id in relevant]
    if "mpi-io" in acting:
        problems += hint_file_findings(situation, host)
    for finding in problems:
        yield with_hint(f"{finding.says} ({finding.evidence})", finding.fix)


def files_that_stay(value: str, working_directory: str) -> list[str]:
    """Return a warning about existing files that match a value of `layout` and keep their present layout.

    A rule for the whole working directory is skipped, since the directory holds inputs.
    """
    names: list[str] = []
    for rule in parse_layouts(value):
        if rule.where == HERE:
            continue
        directory = Path(working_directory, "" if rule.is_pattern else rule.where)
        with suppress(OSError), os.scandir(directory) as entries:
            pattern = rule.where if rule.is_pattern else "*"
            names += [entry.name for entry in entries if fnmatchcase(entry.name, pattern) and entry.is_file()]
    if not names:
        return []
    first, more = printable(min(names), keep=""), len(names) - 1
    which = f"{first} and {more} more file{'s' * (more > 1)} exist" if more else f"{first} exists"
    return [with_hint(f"{which} already: an existing file keeps its layout", _COPY_HINT)]


def settable(configuration: Configuration, situation: Situation) -> tuple[Configuration, list[str]]:
    """Return the settings that the file system of the job supports, and a message about each other one."""
    sentences = []
    for knob, why_not in _WHY_NOT.items():
        value = configuration.as_dict().get(knob)
        if value is not None and (why := why_not(value, situation)):
            configuration = configuration.with_value(knob, None)
            sentences.append(with_hint(f"{knob}={value} is not applied: {why}", _TUNE_HINT))
    value = configuration.as_dict().get("layout")
    if value is None:
        return configuration, sentences
    directory = Path(situation.job.working_directory)
    rules = parse_layouts(value)
    # Others may write where a link leads out of the working directory.
    outside = [
        rule
        for rule in rules
        if not rule.is_pattern and not (directory / rule.where).resolve().is_relative_to(directory.resolve())
    ]
    if outside:
        inside = [rule for rule in rules if rule not in outside]
        value = write_layouts(inside) if inside else None
        configuration = configuration.with_value("layout", value)
    for rule in outside:
        why = f"'{rule.where}' is a link out of the working directory"
        sentences.append(with_hint(f"layout={write_layouts([rule])} is not applied: {why}", _LINK_HINT))
    return configuration, [*sentences, *(files_that_stay(value, str(directory)) if value else ())]
