"""Compare the gain that `mpiric profile` predicts for a setting with the gain that is measured.

The programs of `answers`, and examples, are profiled as their user starts them, twice: the shorter run
counts, because load of others makes a run longer. Every finding with a knob becomes a row: the setting is
proposed by the finding, or is the cure of a known cause of the program that uses a knob of the finding. The
program runs in turns unchanged and with each setting, as `mpiric run --set` starts it. Gains are shares of
the whole run that are saved, of the quickest runs of both sides for the same reason. *In range*: the measured
gain is at most the stated bound, and 2 % for noise. *Factor*: the larger of predicted and measured gain
divided by the smaller one, both at least 2 %. It needs a model of the proposed setting: other models predict
changes of the source. Effects of another finding are left out: their gain is included in the gain of the
cause.
"""

import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import median
from typing import Any

from benchmarks._answers_cases import Case, cases
from benchmarks._answers_causes import command
from benchmarks._answers_score import parse_cure
from benchmarks._interleaved import in_turns, launch
from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._programs import Bed, offer_choice, releases, results_directory
from benchmarks._report import Result, options, run, tell
from benchmarks._statistics import ratio
from benchmarks.answers import built_program, chosen_cases
from mpiric.model.errors import MpiricError
from mpiric.model.job import Launch

_NOISE = 0.02  # gains below this are equal
_PROFILES = 2  # runs, of which the least disturbed one counts
_PROPOSAL = "mpiric run --set "
_SLACK = 0.02  # excess of a measured gain over a bound that is within the noise

COLUMNS = {
    "program": "program",
    "mpi": "MPI",
    "finding": "finding",
    "setting": "setting",
    "expected": "expected",
    "bound": "at most",
    "gain": "measured",
    "gain_ci95": "95 %, pairs",
    "factor": "factor",
    "in_range": "in range",
}


@dataclass(frozen=True)
class Command:
    """A command of a user, and the cures of its known causes as settings of mpiric."""

    name: str
    bed: Bed
    original: Launch
    cures: tuple[str, ...]


@dataclass(frozen=True)
class Example:
    """An example program with its arguments and its number of ranks per CPU."""

    program: str
    arguments: str
    ranks_per_cpu: int = 1
    cures: tuple[str, ...] = ()


EXAMPLES = (
    Example("heat3d", "224 20"),
    Example("heat3d", "96 20", ranks_per_cpu=2),
    Example("cg", "96 60"),
    Example("cg", "64 20", ranks_per_cpu=2),
)


def main() -> int:
    """Profile and run the programs whose libraries are installed."""
    parser = options("advice", "Compare predicted and measured gains of settings.")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of the commands in turns (default 7)")
    offer_parts(parser)
    offer_choice(parser)
    return run("advice", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Measure every program; save each before the next one starts."""
    beds = releases({case.mpi: None for case in cases()})
    table = KeptRows("advice", arguments)
    commands = [_command_of(case, beds[case.mpi]) for case in chosen_cases(arguments, beds)]
    commands += [
        _example(example, bed)
        for bed in beds.values()
        for example in EXAMPLES
        if not arguments.only or any(word in example.program for word in arguments.only)
    ]
    Random(arguments.seed).shuffle(commands)  # so that a part is a sample of all
    for user in commands:
        table.add(f"{user.name} under {user.bed.mpi.label}", partial(_rows, user, arguments))
    rows = [row for row in table.rows if row["finding"]]
    return Result(COLUMNS, rows, f"{summary_of(rows)}{table.remark}")


def _command_of(case: Case, bed: Bed) -> Command:
    settings = command(case.mpi, [(cause, False) for cause in case.causes])
    ranks = max(2, len(os.sched_getaffinity(0))) * case.program.ranks_per_cpu
    phases = case.program.phases.split()
    line = [bed.mpi.launcher, *settings.options, "-n", str(ranks), built_program(case, bed), *phases]
    cures = tuple(cure for cause in case.causes for cure in cause.remedy.cures)
    return Command(case.name, bed, launch(line, settings.environment), cures)


def _example(example: Example, bed: Bed) -> Command:
    ranks = max(2, len(os.sched_getaffinity(0))) * example.ranks_per_cpu
    crowded = example.ranks_per_cpu > 1 and bed.mpi.implementation == "openmpi"
    name = f"{example.program}, {ranks} ranks"
    line = bed.line(
        ranks,
        example.program,
        *example.arguments.split(),
        options=("--oversubscribe",) if crowded else (),
    )
    return Command(name, bed, launch(line), example.cures)


def _rows(user: Command, arguments: Namespace) -> list[dict[str, Any]]:
    """Return a row for each finding whose setting was run; a row without a finding if there are none."""
    tell(f"{user.name} under {user.bed.mpi.label} …")
    profiles = [json.loads(_mpiric(user, "profile", "--json")) for _ in range(_PROFILES)]
    profile = min(profiles, key=lambda profile: profile["run_s"])
    predicted = {
        setting: finding
        for finding in reversed(profile["findings"])  # the first finding of a setting counts
        if not finding["effect_of"] and (setting := setting_of(finding, user.cures))
    }
    launches = {setting: _with_setting(user, setting) for setting in predicted}
    sides = {setting: side for setting, side in launches.items() if side is not None}
    rounds = 3 if arguments.quick else arguments.rounds
    every = {"original": user.original, **sides}
    times = in_turns(every, user.bed.environment, rounds, arguments.seed) if sides else {}
    rows = [_row(user, predicted[setting], setting, times) for setting in sides]
    numbers = {"numbers": profile["numbers"]}
    return [{**row, **numbers} for row in rows] or [
        {"program": user.name, "mpi": user.bed.mpi.label, "finding": None, **numbers}
    ]


def setting_of(finding: Mapping[str, Any], cures: Sequence[str]) -> str:
    """Return the settings that a finding proposes, or a cure with one of its knobs; "" if there is none."""
    for proposal in finding["commands"]:
        if proposal.startswith(_PROPOSAL):
            return str(proposal.split()[3])
    for cure in cures:
        parsed = {knob: cure.split(f"{knob}=")[1].split()[0].split("|")[0] for knob in parse_cure(cure)}
        if not set(parsed).isdisjoint(finding["knobs"]):
            return " ".join(f"{knob}={value}" for knob, value in parsed.items())
    return ""


def _with_setting(user: Command, settings: str) -> Launch | None:
    """Return the command that `mpiric run` starts with some settings; None if the library lacks one."""
    chosen = [word for setting in settings.split() for word in ("--set", setting)]
    try:
        printed = json.loads(_mpiric(user, "run", *chosen, "--dry-run", "--json"))
    except MpiricError as error:
        tell(f"{user.name}: {settings}: {error.message}")
        return None
    inherited = {k: v for k, v in user.original.environment.items() if k not in printed["unset"]}
    return launch(printed["argv"], {**inherited, **printed["env"]}, tuple(printed["unset"]))


def _mpiric(user: Command, *arguments: str) -> str:
    """Return the output of a command of mpiric on the command of the user. Raises MpiricError."""
    work = results_directory("advice", user.name, user.bed)
    work.mkdir(parents=True, exist_ok=True)
    line = [sys.executable, "-m", "mpiric", *arguments, "--", *user.original.argv]
    done = subprocess.run(
        line,
        cwd=work,
        env={**user.bed.environment, **user.original.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise MpiricError(f"{' '.join(arguments)}: {done.stderr.strip()[-300:]}")
    return done.stdout


def _row(
    user: Command, finding: Mapping[str, Any], setting: str, times: Mapping[str, Sequence[float]]
) -> dict[str, Any]:
    """Return the predicted and the measured gain of a setting."""
    speedup = ratio(times["original"], times[setting])
    gain = 1 - min(times[setting]) / min(times["original"])
    bound = finding["gain_share"] or None
    is_proposed = any(text.startswith(_PROPOSAL) for text in finding["commands"])
    expected = finding["expected_share"] if is_proposed else None
    return {
        "program": user.name,
        "mpi": user.bed.mpi.label,
        "finding": finding["id"],
        "setting": setting,
        "expected": expected,
        "bound": bound,
        "gain": round(gain, 4),
        "gain_ci95": speedup.interval and [round(1 - 1 / end, 4) for end in speedup.interval],
        "factor": None if expected is None else round(factor(expected, gain), 2),
        "in_range": None if bound is None else gain <= bound + _SLACK,
        "times_s": dict(times),
    }


def factor(expected: float, gain: float) -> float:
    """Return the ratio of the larger gain to the smaller one, at least 1."""
    low, high = sorted((max(_NOISE, expected), max(_NOISE, gain)))
    return high / low


def summary_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the median factor, and the share of gains within their range."""
    factors = [row["factor"] for row in rows if row["factor"] is not None]
    ranges = [row["in_range"] for row in rows if row["in_range"] is not None]
    if not ranges:
        return "No finding states a gain."
    middle = f"{median(factors):.2f} (of {len(factors)})" if factors else "unknown"
    return (
        f"Median factor between expected and measured gain {middle}; measured gain within the stated range "
        f"in {sum(ranges)} of {len(ranges)} ({sum(ranges) / len(ranges):.0%})."
    )


if __name__ == "__main__":
    sys.exit(main())
