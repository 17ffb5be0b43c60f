"""Tunes of a program that takes an hour: its runs end at step markers."""

from tests.recorded.case import Case, change, cut, tune
from tests.recorded.program import HANGS, INTERRUPTED, OTHER_OUTPUT, Effect, stepping_record

LONG = {"wall_s": 3600.0, "step_s": 0.05, "record": stepping_record(0.05)}
FASTER = {**LONG, "effects": {"binding": Effect(0.7)}}
TUNE = tune("--budget 6m", "binding")
RESUME = tune("--resume", "")
MARK = "'allreduce@lmp+0x48f2'"

CASES = (
    Case("faster", [TUNE], FASTER),
    Case("json", [tune("--json --budget 6m", "binding")], FASTER),
    Case("no-gain", [tune("--budget 6m", "binding,huge-pages")], LONG),
    Case("other-calls", [TUNE], {**LONG, "effects": {"binding": Effect(0.7, calls=10)}}),
    Case("other-result", [TUNE], {**LONG, "effects": {"binding": Effect(0.7, result=1.25)}}),
    Case("never-at-the-mark", [TUNE], {**LONG, "effects": {"binding": Effect(0.7, reaches_mark=False)}}),
    Case("other-steps-each-time", [TUNE], {**FASTER, "wall_s": 40.0, "varying_calls": True}),
    Case("hanging", [TUNE], {**LONG, "effects": {"binding": HANGS}}),
    Case("start-up-saved", [TUNE], {**LONG, "init_s": 8.0, "effects": {"binding": Effect(start_s=6.0)}}),
    Case("named-mark", [tune(f"--budget 6m --mark {MARK}", "binding")], FASTER),
    Case("after-and-length", [tune("--budget 6m --after 5s --length 2h", "binding")], FASTER),
    Case(
        "to-the-end",
        [tune("--budget 1h --to-the-end --confidence 0.8", "binding")],
        {**FASTER, "wall_s": 200.0},
    ),
    Case("finish", [tune("--budget 6m --finish", "binding")], FASTER),
    Case(
        "finish-differs",
        [tune("--budget 6m --finish", "binding")],
        {**LONG, "effects": {"binding": Effect(0.7, stdout=OTHER_OUTPUT.stdout)}},
    ),
    Case("interrupted", [TUNE, change(runs={}), RESUME], {**FASTER, "runs": {12: INTERRUPTED}}),
    Case("interrupted-early", [TUNE, change(runs={}), RESUME], {**FASTER, "runs": {2: INTERRUPTED}}),
    Case("cut", [TUNE, cut(14), RESUME], FASTER),
    Case(
        "main-objective",
        [tune("--objective main --max-runs 40", "binding")],
        {"effects": {"binding": Effect(0.8)}},
    ),
)
