"""Measurement of a program of `benchmarks.field`: tune it, alternate three commands, make a table row."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks._programs import Bed, changes_of
from benchmarks._report import RESULTS
from benchmarks.field.bounded import run_bounded
from benchmarks.field.programs import INPUTS, FieldProgram
from benchmarks.field.sources import built
from mpiric.model.amount import parse_duration
from mpiric.model.errors import MpiricError, NotFoundError

_PREPARE_S, _RUN_S = 300.0, 180.0  # limits of a preparation and of a confirming run
_TUNE_S = 300.0  # seconds beyond twice the budget, until a tune is stopped
_END_S = 2.0  # seconds beyond budget and one run, to write results
_CLAIM = 0.05  # a claim may be off by this share
_GOAL = 0.9  # share of the gain by hand that is to be reached
_FEWER_STEPS = 4  # steps of confirming runs of long programs, divided by the steps of even shorter runs
_RESAMPLES = 2000
_NOT_OUTPUT = ("clearly slower", "ended with", "was stopped", "grew to", "ended by", "did not end", "cannot")


@dataclass(frozen=True)
class Command:
    """Launch line with the variables that it sets and unsets."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    unset: tuple[str, ...] = ()

    def with_words(self, old: Sequence[str], new: Sequence[str]) -> "Command":
        """Return the command with each word of one launch line replaced by its word of another."""
        new_of = dict(zip(old, new, strict=True))
        return replace(self, argv=tuple(new_of.get(word, word) for word in self.argv))


@dataclass(frozen=True)
class Run:
    """Wall time and computed number of a confirming run."""

    wall_s: float
    answer: float | None


def baseline(program: FieldProgram, bed: Bed, sources: Path | None, steps: int) -> Command:
    """Return the launch line of a user."""
    built_at = built(program.source, bed, sources) if program.source else ""
    line = program.arguments.replace("@PROGRAM@", built_at).replace("@STEPS@", str(steps))
    argv = [bed.mpi.launcher, *shlex.split(program.options), "-n", str(program.ranks), *shlex.split(line)]
    return Command(tuple(argv), {})


def environment_of(program: FieldProgram, bed: Bed) -> dict[str, str]:
    """Environment of all commands of a program. Raises NotFoundError if its executable is not installed."""
    environment = {**bed.environment, **program.environment}
    executable = shlex.split(program.arguments)[0]
    paths = [Path(entry) / executable for entry in environment["PATH"].split(":")]
    if not program.source and not any(path.is_file() for path in (Path(executable), *paths)):
        package = program.origin.rpartition(": ")[2]
        raise NotFoundError(f"{executable} is not installed", hint=f"apt install {package}")
    return environment


def place(program: FieldProgram, directory: Path, environment: Mapping[str, str], steps: int) -> None:
    """Write the program's input into a directory and prepare it. Raises MpiricError."""
    for name in program.inputs:
        text = (INPUTS / name).read_text(encoding="utf-8")
        (directory / name).write_text(text.replace("@STEPS@", str(steps)), encoding="utf-8")
    for command in program.prepare:
        argv = ["bash", "-c", command.replace("@STEPS@", str(steps))]
        done = run_bounded(argv, directory, environment, _PREPARE_S)
        if done.status:
            raise MpiricError(f"{command} failed: {(done.stderr or done.stdout).strip()[-300:]}")


def tune(
    command: Command, directory: Path, environment: Mapping[str, str], budget: str, store: Path
) -> tuple[dict[str, Any], float]:
    """Return the JSON of `mpiric tune`, and its duration in seconds. Raises MpiricError."""
    start_s, options = time.monotonic(), ("--budget", budget, "--store", str(store))
    argv = [sys.executable, "-m", "mpiric", "tune", "--json", *options, "--", *command.argv]
    limit_s = 2 * parse_duration(budget) + _TUNE_S
    done = run_bounded(argv, directory, environment, limit_s)
    took_s = time.monotonic() - start_s
    if not done.stdout.strip():
        raise MpiricError(f"mpiric tune ended with status {done.status}: {done.stderr.strip()[-300:]}")
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome, took_s


def tuned_command(tuned: Mapping[str, Any]) -> Command | None:
    """Return the command that a tune recommends (proved or likely), to confirm it; None if unchanged."""
    source = tuned["command"] if tuned["changes"] else (tuned["best_so_far"] or {}).get("command")
    if not source:
        return None
    return Command(tuple(source["argv"]), dict(source["env"]), tuple(source.get("unset", ())))


def run_once(program: FieldProgram, command: Command, directory: Path, environment: Mapping[str, str]) -> Run:
    """Run a command in a fresh copy of a directory. Raises MpiricError when it fails."""
    with TemporaryDirectory(prefix="mpiric-field-") as copy:
        subprocess.run(["cp", "-a", f"{directory}/.", copy], check=True)
        merged = {**environment, **command.environment}
        merged = {name: value for name, value in merged.items() if name not in command.unset}
        start_s = time.monotonic()
        done = run_bounded(command.argv, Path(copy), merged, _RUN_S)
        wall_s = time.monotonic() - start_s
        if done.status:
            text = done.stderr.strip()[-300:]
            raise MpiricError(f"{shlex.join(command.argv)} ended with status {done.status}: {text}")
        logs = [done.stdout, *(path.read_text(errors="replace") for path in sorted(Path(copy).glob("*.log")))]
        return Run(wall_s, answer_of(program.answer, logs))


def answer_of(pattern: str, texts: Sequence[str]) -> float | None:
    """Return the last number that a program printed; None without a pattern or a match."""
    outcome = [match for text in texts for match in re.findall(pattern, text, re.M)] if pattern else []
    try:
        return float(outcome[-1].replace("D", "E")) if outcome else None
    except ValueError:
        return None


def alternate(
    program: FieldProgram,
    commands: Mapping[str, Command],
    directory: Path,
    environment: Mapping[str, str],
    *,
    seconds: float,
    seed: int,
) -> dict[str, list[Run]]:
    """Run each command once a round, in random order, for ``seconds`` and at least three rounds."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    random, start_s = Random(seed), time.monotonic()
    while len(runs["baseline"]) < 3 or time.monotonic() - start_s < seconds:
        for name in random.sample(list(commands), len(commands)):
            runs[name].append(run_once(program, commands[name], directory, environment))
    return runs


def gain(baseline_s: Sequence[float], other_s: Sequence[float], seed: int) -> tuple[float, float, float]:
    """Median of the ratios of pairs, and its 95 % interval by resampling them."""
    ratios = [one / other for one, other in zip(baseline_s, other_s, strict=True)]
    random = Random(seed)
    medians = sorted(median(random.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES))
    return median(ratios), medians[int(0.025 * _RESAMPLES)], medians[int(0.975 * _RESAMPLES)]


def wrong_answers(runs: Mapping[str, Sequence[Run]], tolerance: float) -> int:
    """Count the tuned runs with a number outside the range of the baseline."""
    right = [run.answer for run in runs["baseline"] if run.answer is not None]
    if not right:
        return 0
    slack = tolerance * max(abs(answer) for answer in right) + (max(right) - min(right))
    answers = [run.answer for run in runs.get("tuned", ())]
    return sum(answer is None or not min(right) - slack <= answer <= max(right) + slack for answer in answers)


def rejected_for_output(tuned: Mapping[str, Any]) -> list[str]:
    """Reasons for which settings were rejected that blame what the program printed, wrote or sent."""
    reasons = (str(entry["reason"]) for entry in tuned["rejected"])
    return [reason for reason in reasons if not reason.startswith(_NOT_OUTPUT)]


def row_of(
    program: FieldProgram,
    label: str,
    budget: str,
    tuned: Mapping[str, Any],
    took_s: float,
    runs: Mapping[str, Sequence[Run]],
    seed: int = 0,
    shorter: Mapping[str, Sequence[Run]] | None = None,
) -> dict[str, Any]:
    """Return a row of the table, from the JSON of a tune and from confirming runs.

    Of a long program, the median time of runs with fewer steps (``shorter``) is subtracted: start and end,
    which an hour of steps does not notice, do not count.
    """
    walls = {name: [run.wall_s for run in entry] for name, entry in runs.items()}
    for name, entry in (shorter or {}).items():
        start_s = median(run.wall_s for run in entry)
        walls[name] = [max(wall_s - start_s, 1e-3) for wall_s in walls[name]]
    hand = gain(walls["baseline"], walls["expert"], seed)
    confirmed = gain(walls["baseline"], walls["tuned"], seed) if "tuned" in walls else (1.0, 1.0, 1.0)
    settings = {change["knob"]: change["value"] for change in tuned["changes"]}
    likely = (tuned["best_so_far"] or {}).get("configuration", {}) if not settings else {}
    claimed = tuned["ratio"] if settings else (tuned["best_so_far"] or {}).get("expected_ratio")
    heavy = int("mpi" in {**settings, **likely})  # another MPI library
    by_hand = max(hand[0] - 1, 0.0)
    return {
        "program": program.name,
        "library": label,
        "budget": budget,
        "run_s": round(median(walls["baseline"]), 3),
        "scope": tuned["scope"],
        "hand": hand[0],
        "hand_interval": hand[1:],
        "claimed": claimed,
        "proved": bool(settings),
        "confirmed": confirmed[0],
        "confirmed_interval": confirmed[1:],
        "share_of_hand": None if by_hand < _CLAIM else max(0.0, confirmed[0] - 1) / by_hand,
        "reached": by_hand < _CLAIM or confirmed[0] - 1 >= _GOAL * by_hand,
        "claim_holds": not settings or abs(tuned["ratio"] / confirmed[0] - 1) <= _CLAIM,
        "right_rejected": len(rejected_for_output(tuned)),
        "wrong_accepted": wrong_answers(runs, program.tolerance),
        "settings": len({**settings, **likely}),
        "heavier": heavy if hand[0] >= confirmed[0] * (1 - _CLAIM) else 0,
        "budget_kept": took_s <= parse_duration(budget) + max(walls["baseline"]) + _END_S,
        "took_s": round(took_s, 1),
        "tuned": changes_of(tuned) if settings else _in_words(likely),
        "verdict": tuned["verdict"],
        "rejected": [entry["reason"] for entry in tuned["rejected"]],
        "not_reached": tuned["not_reached"],
        "notes": tuned["notes"],
        "expert": dict(program.by_hand.environment),
        "expert_reason": program.by_hand.reason,
        "expert_how": program.by_hand.how,
    }


def _in_words(configuration: Mapping[str, str]) -> str:
    return " ".join(f"{knob}={value}" for knob, value in configuration.items()) + " (likely)" * bool(
        configuration
    )


def rows(
    program: FieldProgram, bed: Bed, sources: Path | None, budgets: Sequence[str], confirm_s: float, seed: int
) -> list[dict[str, Any]]:
    """Tune a program with each budget, and confirm the answer."""
    environment = environment_of(program, bed)
    outcome = []
    for budget in budgets:
        directories = [TemporaryDirectory(prefix="m-") for _ in range(3)]
        with directories[0] as first, directories[1] as second, directories[2] as third:
            long, short = (baseline(program, bed, sources, steps) for steps in program.steps)
            place(program, Path(first), environment, program.steps[0])
            place(program, Path(second), environment, program.steps[1])
            load = os.getloadavg()[0]
            store = RESULTS / "field" / f"{program.name.replace(' ', '-')}-{budget}"
            shutil.rmtree(store, ignore_errors=True)
            tuned, took_s = tune(long, Path(first), environment, budget, store)
            commands = {"baseline": short, "expert": Command(short.argv, program.by_hand.environment)}
            if (answer := tuned_command(tuned)) is not None:
                commands["tuned"] = answer.with_words(long.argv, short.argv)
            runs = alternate(program, commands, Path(second), environment, seconds=confirm_s, seed=seed)
            with_fewer = None
            if program.is_long:
                fewer = program.steps[1] // _FEWER_STEPS
                place(program, Path(third), environment, fewer)
                shortest = baseline(program, bed, sources, fewer)
                commands = {
                    name: command.with_words(short.argv, shortest.argv) for name, command in commands.items()
                }
                with_fewer = alternate(
                    program, commands, Path(third), environment, seconds=confirm_s / 2, seed=seed
                )
            row = row_of(program, bed.mpi.label, budget, tuned, took_s, runs, seed, with_fewer)
            outcome.append(
                {**row, "load": load, "runs": {name: vars_of(entry) for name, entry in runs.items()}}
            )
    return outcome


def vars_of(runs: Sequence[Run]) -> list[list[float | None]]:
    """Runs for the JSON: seconds and answer of each."""
    return [[round(run.wall_s, 4), run.answer] for run in runs]
