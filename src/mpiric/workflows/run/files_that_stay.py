"""Files that are there before a layout is set: Lustre answers success, and changes nothing of them."""

import os
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from mpiric.model.file_rules import HERE, parse_layouts
from mpiric.tuning.equivalence.output_files import printable_name
from mpiric.workflows.run.with_hint import with_hint

_COPY_HINT = "remove files that the program creates again, or copy them: `cp FILE COPY && mv COPY FILE`"


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
    first, more = printable_name(min(names)), len(names) - 1
    which = f"{first} and {more} more files exist" if more else f"{first} exists"
    return [with_hint(f"{which} already: an existing file keeps its layout", _COPY_HINT)]
