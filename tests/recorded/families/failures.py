"""Tunes of programs and configurations that fail, hang, grow or print something else."""

from collections.abc import Mapping

from tests.recorded.case import Case, tune
from tests.recorded.program import FAILS, HANGS, OTHER_OUTPUT, OUTPUT, Effect

BINDING = tune("--max-runs 40", "binding")
BOTH = tune("--max-runs 30", "binding,huge-pages")
FASTER = {"binding": Effect(0.8)}


def varying(number: int) -> str:
    """Output with a line, a time and a random number that differ from run to run."""
    return f"{OUTPUT}run {number} took {9 + number / 100:.2f} s\nresidual {1e-9 * (1 + number % 3):.3e}\n"


def racy(number: int) -> str:
    """Output whose lines come in another order in every third run."""
    lines = ["rank 0 energy -42.0625\n", "rank 1 energy -41.5000\n"]
    return "".join(reversed(lines) if number % 3 == 2 else lines)


def result_file(number: int) -> Mapping[str, str]:
    """The result in a file, and a log that differs from run to run."""
    return {"result.dat": "1.25 2.5\n", "log/run.log": f"run {number}\n"}


CASES = (
    Case("setting-fails", [BOTH], {"effects": {"binding": FAILS}}),
    Case("setting-hangs", [BOTH], {"effects": {"binding": HANGS}}),
    Case("setting-slow", [BOTH], {"effects": {"binding": Effect(2.2)}}),
    Case("setting-grows", [BOTH], {"effects": {"binding": Effect(0.5, memory=4.0)}}),
    Case("other-output", [BOTH], {"effects": {"binding": OTHER_OUTPUT, "huge-pages": Effect(0.9)}}),
    Case(
        "other-files",
        [BINDING],
        {"files": result_file, "effects": {"binding": Effect(0.5, files={"result.dat": "1.25 7.5\n"})}},
    ),
    Case("same-files", [BINDING], {"files": result_file, "effects": FASTER}),
    Case("varying-output", [BINDING], {"output": varying, "effects": FASTER}),
    Case("racy-output", [BINDING], {"output": racy, "effects": FASTER}),
    Case(
        "rejection-withdrawn",  # the command as it is, run once more, prints the same
        [BINDING],
        {"effects": {"binding": Effect(0.5, stdout=OTHER_OUTPUT.stdout)}, "runs": {5: OTHER_OUTPUT}},
    ),
    Case("flaky-program", [BINDING], {"flaky": 0.1, "effects": FASTER}),
    Case("flaky-setting", [BINDING], {"effects": FASTER, "runs": {4: FAILS, 18: FAILS, 23: FAILS}}),
    Case("original-hangs-once", [BINDING], {"effects": FASTER, "runs": {15: HANGS}}),
    Case("command-fails", [tune()], {"runs": {1: FAILS}}),
    Case("command-hangs", [tune("--budget 1m", "binding")], {"runs": {1: HANGS}}),
)
