"""Options of a tune: budgets, rules of the proof, what is tried."""

from tests.recorded.case import Case, tune
from tests.recorded.program import Effect

FASTER = {"effects": {"binding": Effect(0.8)}}

CASES = (
    Case("one-knob", [tune("", "binding")], FASTER),
    Case("nothing-tried", [tune("--budget 25s")], FASTER),
    Case("minimum-effect", [tune("--minimum-effect 0.3 --max-runs 40", "binding")], FASTER),
    Case("json", [tune("--json", "binding")], FASTER),
)
