"""Files that are there before a layout is set: Lustre answers success, and changes nothing of them."""

import os
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from mpiric.model.file_rules import HERE, parse_layouts
from mpiric.tuning.equivalence.output_files import printable_name
from mpiric.workflows.run.with_hint import with_hint

_HINT = "remove what the program makes anew; a copy is a new file: `cp FILE COPY && mv COPY FILE`"


def files_that_stay(value: str, working_directory: str) -> list[str]:
    """A sentence with a hint on files that a value of `layout` means and that keep the layout they have.

    A rule for the whole working directory is not looked at: inputs lie there.
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
    first, others = printable_name(min(names)), len(names) - 1
    which = f"{first} and {others} more are" if others else f"{first} is"
    return [with_hint(f"{which} there already: a file keeps the layout that it was made with", _HINT)]
