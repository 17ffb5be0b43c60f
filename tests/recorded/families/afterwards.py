"""Verbs used after a tune: runs with its recipe, explored jobs, history."""

from tests.recorded.case import OPENMPI, Case, change, tune
from tests.recorded.program import FAILS, Effect, stepping_record

FASTER = {"effects": {"binding": Effect(0.8)}}
TUNE = tune("--max-runs 40 --output then.toml", "binding")
AGAINST = f"history --against then.toml -- {OPENMPI}"
STEPS = {"wall_s": 60.0, "step_s": 0.05, "record": stepping_record(0.05), "effects": {"binding": Effect(0.7)}}
TUNE_STEPS = tune("--budget 6m --mark 'allreduce@lmp+0x48f2' --output then.toml", "binding")
EXPLORE = f"run --recipe then.toml --explore -- {OPENMPI}"

CASES = (
    Case(
        "run",
        [
            TUNE,
            f"run -- {OPENMPI}",
            f"run --dry-run -- {OPENMPI}",
            f"run --json --recipe then.toml -- {OPENMPI}",
        ],
        FASTER,
    ),
    Case("history", [TUNE, "history", "history --json", f"history -- {OPENMPI}"], FASTER),
    Case("as-then", [TUNE, AGAINST], FASTER),
    Case(
        "param-as-then",
        [
            tune("--param NB=32,64 --max-runs 40 --output then.toml", "param", f"{OPENMPI} {{NB}}"),
            f"{AGAINST} {{NB}}",
        ],
        {"effects": {"{NB}=64": Effect(0.8)}},
    ),
    Case("slower-now", [TUNE, change(wall_s=11.0), AGAINST], FASTER),
    Case("faster-now", [TUNE, change(wall_s=9.0), AGAINST.replace("--against", "--json --against")], FASTER),
    Case("fails-now", [TUNE, change(runs={34: FAILS}), AGAINST], FASTER),
    Case(
        "looser-rule",
        [TUNE, change(wall_s=10.2), AGAINST.replace("--", "--minimum-effect 0.05 --", 1)],
        FASTER,
    ),
    Case("steps-as-then", [TUNE_STEPS, AGAINST], STEPS),
    Case("steps-slower-now", [TUNE_STEPS, change(step_s=0.06, wall_s=72.0), AGAINST], STEPS),
    Case("explored", [TUNE_STEPS, *[EXPLORE] * 6, "history --explore", "history --explore --json"], STEPS),
    Case("explored-fails", [TUNE_STEPS, EXPLORE, EXPLORE, change(runs={36: FAILS}), EXPLORE, EXPLORE], STEPS),
)
