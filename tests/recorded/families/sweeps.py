"""Sweeps of collective algorithms."""

from tests.recorded.case import Case
from tests.recorded.probe import with_probe

LAUNCH = "mpirun.openmpi -n 2"
SWEEP = "sweep --no-own --out tuned --collectives allreduce --sizes 8:4K"

CASES = (
    Case("dry-run", [with_probe({}), f"{SWEEP} --dry-run -- {LAUNCH}"]),
    Case("gain", [with_probe({"3": 0.8, "4": 0.95}), f"{SWEEP} -- {LAUNCH}"]),
    Case("json", [with_probe({"3": 0.8}), f"{SWEEP} --json -- {LAUNCH}"]),
    Case(
        "wrong-and-failing", [with_probe({"3": 0.5, "4": 0.6}, wrong="3", fails="4"), f"{SWEEP} -- {LAUNCH}"]
    ),
    Case(
        "budget-then-resumed",
        [
            with_probe({"3": 0.8}),
            f"{SWEEP} --budget 2s -- {LAUNCH}",
            f"sweep --out tuned --resume -- {LAUNCH}",
        ],
    ),
)
