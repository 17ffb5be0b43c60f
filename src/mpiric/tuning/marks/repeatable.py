"""Options with which programs that decide by measured times do the same work in every run, where known."""

import re
from typing import NamedTuple


class RepeatableOptions(NamedTuple):
    """A program's options and their effect. ``program`` is a regular expression of its whole name."""

    program: str
    options: str
    why: str


# One entry per program, with the manual that says so.
PROGRAMS = (
    # https://manual.gromacs.org/current/onlinehelp/gmx-mdrun.html: "-dlb", "-[no]tunepme", "-reprod"
    RepeatableOptions(
        r"(?:gmx|mdrun)(?:_mpi)?(?:_d)?",
        "-reprod -dlb no -notunepme",
        "it moves work between ranks by measured time",
    ),
)


def repeatable_hint(program: str) -> str:
    """Return a sentence on how to make a program do the same work in every run; "" if unknown."""
    for entry in PROGRAMS:
        if re.fullmatch(entry.program, program):
            return f"{entry.why}; `{entry.options}` among its options makes runs repeatable"
    return ""
