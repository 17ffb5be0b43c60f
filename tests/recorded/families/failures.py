"""Tunes of programs and configurations that fail, hang or print something else."""

from tests.recorded.case import Case, tune
from tests.recorded.program import FAILS, HANGS, OTHER_OUTPUT, Effect

CASES = (
    Case("setting-fails", [tune("--max-runs 30", "binding,huge-pages")], {"effects": {"binding": FAILS}}),
    Case("setting-hangs", [tune("--max-runs 30", "binding,huge-pages")], {"effects": {"binding": HANGS}}),
    Case(
        "other-output",
        [tune("--max-runs 30", "binding,huge-pages")],
        {"effects": {"binding": OTHER_OUTPUT, "huge-pages": Effect(0.9)}},
    ),
    Case(
        "flaky-program",
        [tune("--max-runs 40", "binding")],
        {"flaky": 0.1, "effects": {"binding": Effect(0.8)}},
    ),
    Case("command-fails", [tune()], {"runs": {1: FAILS}}),
)
