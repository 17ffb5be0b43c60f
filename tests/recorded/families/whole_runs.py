"""Tunes of a program whose runs are whole, to their answer."""

from tests.recorded.case import Case, tune
from tests.recorded.program import Effect

CASES = (
    Case("faster", [tune("--max-runs 60")], {"effects": {"binding": Effect(0.8)}}),
    Case(
        "two-settings",
        [tune("--max-runs 70 --seed 3")],
        {"effects": {"binding": Effect(0.85), "huge-pages": Effect(0.9)}},
    ),
    Case("no-gain", [tune("--max-runs 30")]),
)
