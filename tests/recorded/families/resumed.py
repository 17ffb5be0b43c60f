"""Tunes that are interrupted, or whose log is cut, and then resumed."""

from tests.recorded.case import OPENMPI, Case, change, cut, tune
from tests.recorded.program import INTERRUPTED, Effect

FASTER = {"effects": {"binding": Effect(0.8)}}
TUNE, RESUME = tune("--max-runs 40", "binding"), tune("--resume", "")
BOTH = tune("--max-runs 45", "binding,huge-pages")


def interrupted(run: int, line: str = TUNE) -> Case:
    """Return a case that is interrupted in a run, then resumed."""
    return Case(
        f"interrupted-in-run-{run}", [line, change(runs={}), RESUME], {**FASTER, "runs": {run: INTERRUPTED}}
    )


CASES = (
    interrupted(1),
    interrupted(3),
    interrupted(8, BOTH),
    interrupted(20),
    Case(
        "interrupted-json",
        [tune("--json --max-runs 40", "binding")],
        {**FASTER, "runs": {12: INTERRUPTED}},
    ),
    Case(
        "interrupted-twice",
        [BOTH, change(runs={14: INTERRUPTED}), RESUME, change(runs={}), RESUME],
        {**FASTER, "runs": {6: INTERRUPTED}},
    ),
    *(Case(f"cut-after-{events}", [TUNE, cut(events, torn=30), RESUME], FASTER) for events in (1, 3, 9, 22)),
    Case("cut-before-finished", [TUNE, cut(24), RESUME], FASTER),
    Case("resume-finished", [TUNE, RESUME], FASTER),
    Case(
        "resume-param",
        [
            tune("--param NB=32,64 --max-runs 40", "param", f"{OPENMPI} {{NB}}"),
            change(runs={}),
            tune("--resume", "", f"{OPENMPI} {{NB}}"),
        ],
        {"effects": {"{NB}=64": Effect(0.8)}, "runs": {6: INTERRUPTED}},
    ),
    Case("resume-nothing", [RESUME]),
    Case(
        "undecided-goes-on",
        [tune("--max-runs 22", "binding"), tune("--resume --max-runs 80", "")],
        {"effects": {"binding": Effect(0.93)}, "noise": 0.04},
    ),
    Case(
        "program-got-faster",  # between the two days
        [TUNE, cut(12), change(wall_s=9.0), RESUME],
        FASTER,
    ),
)
