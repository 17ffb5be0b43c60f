"""Tunes of a program whose runs are complete."""

from tests.recorded.case import Case, tune
from tests.recorded.program import Effect

CASES = (
    Case("faster", [tune("--max-runs 60")], {"effects": {"binding": Effect(0.8)}}),
    Case(
        "two-settings",
        [tune("--max-runs 70 --seed 3")],
        {"effects": {"binding": Effect(0.85), "huge-pages": Effect(0.9)}},
    ),
    Case(
        "not-recorded",
        [tune("--max-runs 40", "binding")],
        {"record": None, "effects": {"binding": Effect(0.8)}},
    ),
    Case(
        "without-runtime",
        [tune("--max-runs 40", "binding")],
        {"effects": {"binding": Effect(0.8)}},
        {"has_runtime": False},
    ),
    Case("no-gain", [tune("--max-runs 20")]),
    Case("slower", [tune("--max-runs 25", "binding,huge-pages")], {"effects": {"binding": Effect(1.2)}}),
    Case(
        "close-candidates",
        [tune("--max-runs 60", "malloc")],
        {"effects": {"malloc=keep-memory": Effect(0.9), "malloc=keep-memory-padded": Effect(0.995)}},
    ),
    Case(
        "only-together",
        [tune("--max-runs 60", "binding,huge-pages")],
        {"effects": {"binding": Effect(0.998), "binding+huge-pages": Effect(0.8)}},
    ),
    Case("small-gain", [tune("--max-runs 60", "binding")], {"effects": {"binding": Effect(0.985)}}),
    Case(
        "noisy",
        [tune("--max-runs 60", "binding")],
        {"effects": {"binding": Effect(0.9)}, "noise": 0.06},
    ),
    Case(
        "drifting-machine",
        [tune("--max-runs 40", "binding")],
        {"effects": {"binding": Effect(0.9)}, "drift": lambda number: 1 + number / 200},
    ),
    Case(
        "disturbed-runs",
        [tune("--max-runs 40", "binding")],
        {"effects": {"binding": Effect(0.9)}, "runs": {6: Effect(1.8), 15: Effect(2.5), 16: Effect(0.6)}},
    ),
    Case(
        "short-runs", [tune("--budget 2m", "binding")], {"wall_s": 0.3, "effects": {"binding": Effect(0.7)}}
    ),
)
