"""Options of a tune: budgets, rules of the proof, selected knobs, compared output, objective."""

from tests.recorded.case import OPENMPI, Case, tune, write
from tests.recorded.program import OTHER_OUTPUT, Effect

FASTER = {"effects": {"binding": Effect(0.8)}}


def performance(number: int) -> str:
    """Return output with a rate that is independent of the run time."""
    return f"energy -42.0625\nPerformance: {100 + number % 4} ns/day\n"


CASES = (
    Case("one-knob", [tune("", "binding")], FASTER),
    Case("without", [tune("--without malloc,huge-pages --max-runs 30")], FASTER),
    Case("json", [tune("--json", "binding")], FASTER),
    Case("nothing-tried", [tune("--budget 25s")], FASTER),
    Case("five-runs", [tune("--max-runs 5")], FASTER),
    Case("no-time-for-a-proof", [tune("--budget 2m", "binding")], FASTER),
    Case("minimum-effect", [tune("--minimum-effect 0.3 --max-runs 40", "binding")], FASTER),
    Case("low-confidence", [tune("--confidence 0.8 --max-runs 40", "binding")], FASTER),
    Case("high-confidence", [tune("--confidence 0.9999 --max-runs 70", "binding")], FASTER),
    Case(
        "check-command",
        [
            write("judge", "grep -q 42 $MPIRIC_STDOUT\n"),
            tune("--check 'sh judge' --max-runs 40", "binding,malloc"),
        ],
        {"effects": {"binding": Effect(0.8), "malloc": OTHER_OUTPUT}},
    ),
    Case(
        "no-check",
        [tune("--no-check --max-runs 40", "binding")],
        {"effects": {"binding": Effect(0.8, stdout=OTHER_OUTPUT.stdout)}},
    ),
    Case(
        "ignore-lines",
        [tune("--ignore-lines energy --max-runs 40", "binding")],
        {"effects": {"binding": Effect(0.8, stdout=OTHER_OUTPUT.stdout)}},
    ),
    Case("in-place", [write("in.lj", "units lj\n"), tune("--in-place --max-runs 40", "binding")], FASTER),
    Case("output", [tune("--output best.toml --max-runs 40", "binding")], FASTER),
    Case(
        "objective-output",
        [tune("--objective 'output:Performance: (.*) ns/day' --maximise --max-runs 50", "binding")],
        {
            "output": performance,
            "effects": {"binding": Effect(stdout="energy -42.0625\nPerformance: 150 ns/day\n")},
        },
    ),
    Case(
        "objective-command",
        [tune("--no-check --objective 'command:wc -c < size.dat' --max-runs 40", "binding")],
        {
            "files": lambda number: {"size.dat": "x" * 100},
            "effects": {"binding": Effect(files={"size.dat": "x" * 80})},
        },
    ),
    Case("core-hours", [tune("--objective core-hours --max-runs 40", "binding")], FASTER),
    Case(
        "vary-ranks",
        [tune("--vary-ranks --max-runs 30", "ranks,binding")],
        {"effects": {"ranks": Effect(0.9)}, "rank_count": 2},
    ),
    Case("site", [tune("--site --max-runs 40", "binding")], FASTER),
    Case("dry-run", [f"tune --only binding,malloc --dry-run -- {OPENMPI}"], FASTER),
    Case(
        "param",
        [
            tune("--param NB=32,64 --param P=1,2 --max-runs 50", "binding", f"{OPENMPI} {{NB}} {{P}}"),
            f"run --dry-run -- {OPENMPI} {{NB}} {{P}}",
        ],
        {"effects": {"{NB}=64": Effect(0.8)}},
    ),
    Case(
        "param-json",
        [tune("--json --param NB=32,64 --max-runs 40", "param", f"{OPENMPI} {{NB}}")],
        {"effects": {"{NB}=64": Effect(0.8)}},
    ),
    Case(
        "param-other-output",
        [tune("--param NB=32,64 --max-runs 40", "param", f"{OPENMPI} {{NB}}")],
        {"effects": {"{NB}=64": OTHER_OUTPUT}},
    ),
    Case("param-dry-run", [f"tune --only binding --param N=2,4 --dry-run -- {OPENMPI} {{N}} {{other}}"]),
    Case(
        "param-refused",
        [
            f"tune --param NB=32 -- {OPENMPI} {{NB}}",
            f"tune --param NB=32,64 -- {OPENMPI}",
            f"tune --param NB=1,2 --param NB=3,4 -- {OPENMPI} {{NB}}",
            f"tune --param NB=1,/etc/passwd -- {OPENMPI} {{NB}}",
            f"tune --param NB=1,2 --site -- {OPENMPI} {{NB}}",
        ],
    ),
    Case("contradiction", [tune("--check true --no-check")], FASTER),
)
