"""The part of a recipe that is of marks: those that it was proved at, and what its whole run has shown."""

import re
from pathlib import Path

import tomli_w

from mpiric.host.files import read_bounded
from mpiric.model.marks import read_mark_option
from mpiric.model.whole_check import ProvedMarks, WholeCheck, WholeVerdict
from mpiric.tuning.checked_table import CheckedTable
from mpiric.tuning.files import write_whole

MOST_INPUTS = 64
_LARGEST_BYTES = 1 << 20
_LONGEST_WHY = 500
_LINES = re.compile(rb"^whole_check(_why)? *=.*\n", re.MULTILINE)
_FIRST_TABLE = re.compile(rb"^\[", re.MULTILINE)


def render_marks(marks: ProvedMarks) -> dict[str, object]:
    """Render the table ``marks``."""
    return {
        "mark": marks.pair.option,
        "on_rank_0_alone": marks.pair.on_rank_0_alone,
        "start_s": list(marks.start_s),
        "per_mark_s": list(marks.per_mark_s),
        "prints_nan": marks.prints_nan,
        **({"inputs": list(marks.inputs)} if marks.inputs else {}),
    }


def read_proved_marks(table: CheckedTable) -> ProvedMarks:
    """Read and check the table ``marks``."""
    pair = read_mark_option(table.text("mark"), on_rank_0_alone=table.truth("on_rank_0_alone"))
    if pair is None:
        raise table.error("mark", "names no two calls")
    original_start_s, start_s = table.numbers("start_s", exactly=2)
    original_s, tuned_s = table.numbers("per_mark_s", exactly=2)
    inputs = table.texts("inputs", MOST_INPUTS) if table.has("inputs") else ()
    start_times, step_times = (original_start_s, start_s), (original_s, tuned_s)
    found = ProvedMarks(pair, start_times, step_times, table.truth("prints_nan"), inputs)
    table.nothing_else()
    if min(original_s, tuned_s) <= 0 or min(original_start_s, start_s) < 0:
        raise table.error("per_mark_s", "and start_s are no times")
    return found


def whole_check_keys(check: WholeCheck) -> dict[str, object]:
    """Keys that say what the whole run has shown; a reason only where there is one."""
    why = {"whole_check_why": check.why[:_LONGEST_WHY]} if check.why else {}
    return {"whole_check": check.verdict.value, **why}


def read_whole_check(top: CheckedTable) -> WholeCheck | None:
    """Read these keys, None where there are none."""
    if not top.has("whole_check"):
        return None
    word = top.word("whole_check", tuple(verdict.value for verdict in WholeVerdict))
    return WholeCheck(WholeVerdict(word), top.text("whole_check_why", default=""))


def write_whole_check(path: Path, check: WholeCheck) -> None:
    """Change what a recipe's file says of its whole run, and nothing else in it.

    Raises MpiricError where it cannot be read or written.
    """
    data = read_bounded(path, "recipe", _LARGEST_BYTES, "`mpiric tune` writes recipes")
    first_table = _FIRST_TABLE.search(data)
    end = first_table.start() if first_table else len(data)
    printable = "".join(char if char.isprintable() else "?" for char in check.why)
    keys = tomli_w.dumps(whole_check_keys(WholeCheck(check.verdict, printable))).encode()
    head = _LINES.sub(b"", data[:end]).rstrip(b"\n")
    write_whole(path, (head + b"\n" + keys + b"\n" + data[end:]).decode(), "make the recipe writable")
