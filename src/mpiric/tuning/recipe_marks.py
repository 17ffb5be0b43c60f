"""Part of a recipe about step markers: the marks of its proof, and the check of a complete run."""

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
_CHECK_LINES = re.compile(rb"^whole_check(_why)? *=.*\n", re.MULTILINE)
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
    pair = read_mark_option(table.text("mark"), on_rank_0_alone=table.boolean("on_rank_0_alone"))
    if pair is None:
        raise table.error("mark", "names no two calls")
    original_start_s, start_s = table.numbers("start_s", count=2)
    original_s, tuned_s = table.numbers("per_mark_s", count=2)
    inputs = table.texts("inputs", MOST_INPUTS) if table.has("inputs") else ()
    prints_nan = table.boolean("prints_nan")
    table.refuse_unread()
    if min(original_s, tuned_s) <= 0 or min(original_start_s, start_s) < 0:
        raise table.error("per_mark_s", "and start_s must be times")
    return ProvedMarks(pair, (original_start_s, start_s), (original_s, tuned_s), prints_nan, inputs)


def whole_check_keys(check: WholeCheck) -> dict[str, object]:
    """Render the result of the check of a complete run; the reason is omitted if it is empty."""
    why = {"whole_check_why": check.why[:_LONGEST_WHY]} if check.why else {}
    return {"whole_check": check.verdict.value, **why}


def read_whole_check(top: CheckedTable) -> WholeCheck | None:
    """Read the result of the check of a complete run; None without one."""
    if not top.has("whole_check"):
        return None
    verdict = WholeVerdict(top.choice("whole_check", tuple(verdict.value for verdict in WholeVerdict)))
    return WholeCheck(verdict, top.text("whole_check_why", default=""))


def write_whole_check(path: Path, check: WholeCheck) -> None:
    """Replace the result of the check of a complete run in a recipe's file, and nothing else in it.

    Raises MpiricError if the file cannot be read or written.
    """
    data = read_bounded(path, "recipe", _LARGEST_BYTES, "`mpiric tune` writes recipes")
    first_table = _FIRST_TABLE.search(data)
    end = first_table.start() if first_table else len(data)
    printable = "".join(char if char.isprintable() else "?" for char in check.why)
    keys = tomli_w.dumps(whole_check_keys(WholeCheck(check.verdict, printable))).encode()
    head = _CHECK_LINES.sub(b"", data[:end]).rstrip(b"\n")
    write_whole(path, (head + b"\n" + keys + b"\n" + data[end:]).decode(), "make the recipe writable")
