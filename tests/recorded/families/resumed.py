"""Tunes that are interrupted or whose log is cut, and go on."""

from tests.recorded.case import Case, change, cut, tune
from tests.recorded.program import INTERRUPTED, Effect

FASTER = {"effects": {"binding": Effect(0.8)}}
RESUME = tune("--resume", "")

CASES = (
    Case(
        "interrupted-in-search",
        [tune("--max-runs 40", "binding,huge-pages"), change(runs={}), RESUME],
        {**FASTER, "runs": {7: INTERRUPTED}},
    ),
    Case(
        "interrupted-in-proof",
        [tune("--max-runs 40", "binding"), change(runs={}), RESUME],
        {**FASTER, "runs": {20: INTERRUPTED}},
    ),
    Case("cut-in-proof", [tune("--max-runs 40", "binding"), cut(20, torn=30), RESUME], FASTER),
)
