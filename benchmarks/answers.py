"""Compare the answers of `mpiric tune` with the known causes of slowness of small programs.

Each program is slow for one or two known reasons, or for none, or gains at its start alone. `mpiric tune
--json` gets the command of a user. Its answer is compared with the causes and runs in turns with the original
and with the command of an expert. A cause does not count on this machine if the expert's command is as fast
without its cure. A setting that a proof shows to contribute is not superfluous. `--baseline TREE` also
measures the mpiric of another checkout; `--verify` runs the commands without a tune. Rows are saved by case
and checkout, so the table can be measured in parts.
"""

import json
import os
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from benchmarks._answers_cases import QUICK, Case, cases
from benchmarks._answers_causes import command
from benchmarks._answers_score import Remedy, is_right, judged, score
from benchmarks._interleaved import in_turns, launch
from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._programs import Bed, changes_of, offer_choice, releases, results_directory
from benchmarks._report import ROOT, Result, commit, options, run, tell
from benchmarks._search_trail import knobs_run, right_after
from benchmarks._statistics import ratio
from mpiric.host.facts.local import LocalHost
from mpiric.machine import read_machine
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.job import Launch
from mpiric.model.run import Trial
from mpiric.tuning.events import read_log
from mpiric.tuning.store import EVENTS

_WORTH = 1.03  # a cause of which curing gains less does not count
_SOURCE = Path(__file__).parent / "phases.c"
_OURS = "this"  # tree
_Times = Mapping[str, Sequence[float]]

COLUMNS = {
    "program": "program",
    "mpi": "MPI",
    "tree": "mpiric",
    "found": "found",
    "missed": "missed",
    "superfluous": "superfluous",
    "right_after": "right after",
    "runs": "runs",
    "verdict": "verdict",
    "known_gain": "known gain",
    "gain": "gain",
    "loss": "loss",
    "answer": "answer",
    "commit": "commit",
}
VERIFIED = {
    "program": "program",
    "mpi": "MPI",
    "original_s": "original, s",
    "known_gain": "known gain",
    "known_gain_ci95": "95 %",
    "worth": "each cause is worth",
}


def main() -> int:
    """Run the cases whose libraries are installed."""
    parser = options("answers", "Compare tune's answers with the known causes of slowness.")
    parser.add_argument("--max-runs", type=int, help="number of runs of one tune (default 200, quick 120)")
    parser.add_argument("--budget", default="10m", help="time budget of one tune")
    parser.add_argument("--rounds", type=int, help="rounds of the commands in turns (default 15, quick 5)")
    parser.add_argument("--baseline", metavar="TREE", help="a built checkout that answers as well")
    parser.add_argument(
        "--verify", action="store_true", help="measure the gain of each cause, without a tune"
    )
    offer_parts(parser)
    offer_choice(parser)
    return run("answers", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Measure every case under every checkout; save each before the next one starts."""
    beds = releases({case.mpi: None for case in cases()})
    table = KeptRows(f"answers{'-verify' if arguments.verify else ''}", arguments)
    chosen = chosen_cases(arguments, beds)
    Random(arguments.seed).shuffle(chosen)  # so that a part is a sample of all
    for tree, root in _trees_of(arguments).items():
        for case in chosen:
            bed = beds[case.mpi]
            work = (
                partial(_verified, case, bed) if arguments.verify else partial(_rows, case, bed, tree, root)
            )
            table.add(f"{case.name} under {bed.mpi.label}, {tree}", partial(work, arguments))
    rows = table.rows
    if arguments.verify:
        real = sum(row["real"] for row in rows)
        return Result(VERIFIED, rows, f"{real} of {len(rows)} are what they are called.{table.remark}")
    rows = judged(rows)
    ran = len({(row["program"], row["mpi"]) for row in rows})
    return Result(COLUMNS, rows, f"{summary_of(rows)} {ran} of {len(cases())} cases were run.{table.remark}")


def _trees_of(arguments: Namespace) -> dict[str, Path]:
    """Return name → checkout; only this one for `--verify`."""
    other = arguments.baseline and not arguments.verify
    return {_OURS: ROOT} | ({"baseline": Path(arguments.baseline).resolve()} if other else {})


def chosen_cases(arguments: Namespace, available: Mapping[str, Bed]) -> list[Case]:
    """Return the selected cases whose library is installed. Raises NotFoundError without any."""
    selection = [
        case
        for case in cases()
        if case.mpi in available
        and (not arguments.mpi or any(case.mpi.startswith(name) for name in arguments.mpi))
        and (not arguments.only or any(word in case.name for word in arguments.only))
        and (arguments.only or not arguments.quick or (case.name in QUICK and case.mpi.startswith("mpich")))
    ]
    if not selection:
        raise NotFoundError("no case fits the MPI libraries of this machine", hint="see `mpiric mpi list`")
    return selection


def _verified(case: Case, bed: Bed, arguments: Namespace) -> list[dict[str, Any]]:
    """Measure the gain of the expert's command, and of each cause in it."""
    times = in_turns(_known_sides(case, bed), bed.environment, _rounds(arguments), arguments.seed)
    expert = ratio(times["original"], times["known"])
    worth = worth_of(times)
    row = {
        "program": case.name,
        "mpi": bed.mpi.label,
        "original_s": round(median(times["original"]), 3),
        "known_gain": round(expert.middle, 3),
        "known_gain_ci95": expert.interval,
        "worth": ", ".join(f"{cause} {gain:.2f}" for cause, gain in worth.items()),
        "real": all(gain >= _WORTH for gain in worth.values()),
        "times_s": times,
    }
    return [row]


def _rows(case: Case, bed: Bed, tree: str, root: Path, arguments: Namespace) -> list[dict[str, Any]]:
    """Compare the answer of a checkout with the causes that count on this machine."""
    tell(f"{case.name} under {bed.mpi.label}, {tree} …")
    sides = _known_sides(case, bed)
    tuned, trials = _tune(case, bed, sides["original"], (tree, root), arguments)
    sides[tree] = tuned_side(tuned["command"], sides["original"].environment) or sides["original"]
    times = in_turns(sides, bed.environment, _rounds(arguments), arguments.seed)
    return [{**row_of(case, bed.mpi.label, tree, tuned, trials, times), "commit": commit(root)}]


def tuned_side(printed: Mapping[str, Any] | None, environment: Mapping[str, str]) -> Launch | None:
    """Return the command that tune prints, in the environment of the original; None if it printed none."""
    if printed is None:
        return None
    inherited = {name: value for name, value in environment.items() if name not in printed["unset"]}
    return launch(printed["argv"], {**inherited, **printed["env"]}, tuple(printed["unset"]))


def _known_sides(case: Case, bed: Bed) -> dict[str, Launch]:
    """Return the user's command, the expert's, and the expert's without each of the cures."""

    def side(cured: Sequence[bool]) -> Launch:
        settings = command(case.mpi, zip(case.causes, cured, strict=True))
        line = [bed.mpi.launcher, *settings.options, "-n", str(ranks), program, *case.program.phases.split()]
        return launch(line, settings.environment)

    cpus = read_machine(LocalHost(), str(Path.cwd())).usable_cpu_count
    ranks = max(2, cpus) * case.program.ranks_per_cpu
    program = built_program(case, bed)
    count = len(case.causes)
    sides = {"original": side([False] * count), "known": side([True] * count)}
    if count > 1:
        for index, cause in enumerate(case.causes):
            sides[f"without {cause.remedy.cause}"] = side([other != index for other in range(count)])
    return sides


def built_program(case: Case, bed: Bed) -> str:
    """Return the path of the program of a case, built for a library."""
    if case.program.threaded:
        return bed.build(_SOURCE, "phases_threaded", "-fopenmp")
    return bed.build(_SOURCE, "phases")


def _rounds(arguments: Namespace) -> int:
    return arguments.rounds or (5 if arguments.quick else 15)


def worth_of(times: _Times) -> dict[str, float]:
    """Return cause → slowdown of the expert's command without its cure; a single cause is ``known``."""
    alone = {side.removeprefix("without "): side for side in times if side.startswith("without ")}
    sides = alone or {"known": "original"}
    return {cause: ratio(times[side], times["known"]).middle for cause, side in sides.items()}


def row_of(
    case: Case,
    label: str,
    tree: str,
    tuned: Mapping[str, Any],
    trials: Sequence[Trial],
    times: _Times,
) -> dict[str, Any]:
    """Return one row of the table."""
    worth = worth_of(times)
    counts, idle = counted([cause.remedy for cause in case.causes], worth)
    settings = {change["knob"]: change["value"] for change in tuned["changes"]}
    scored = score(settings, counts, idle)
    expert = ratio(times["original"], times["known"])
    gain, loss = ratio(times["original"], times[tree]), ratio(times[tree], times["known"])
    return {
        "program": case.name,
        "mpi": label,
        "tree": tree,
        "causes": [remedy.cause for remedy in counts],
        "not_real": [remedy.cause for remedy in idle],
        "found": ", ".join(scored.cured) or None,
        "missed": ", ".join(scored.missed) or None,
        "superfluous": len(scored.superfluous),
        "superfluous_settings": scored.superfluous,
        "right_after": right_after(trials, lambda trial: is_right(trial.as_dict(), counts))
        if counts
        else None,
        "runs": tuned["runs"],
        "knobs_run": knobs_run(trials),
        "cannot_matter": [entry["knob"] for entry in tuned.get("cannot_matter", [])],
        "shares": {change["knob"]: change.get("share") for change in tuned["changes"]},
        "verdict": tuned["verdict"],
        "proved_ratio": tuned["ratio"],
        "known_gain": round(expert.middle, 3),
        "known_gain_ci95": expert.interval,
        "worth": worth,
        "gain": round(gain.middle, 3),
        "gain_ci95": gain.interval,
        "loss": round(loss.middle - 1, 4),
        "loss_ci95": [round(end - 1, 4) for end in loss.interval] if loss.interval else None,
        "answer": changes_of(tuned),
        "elapsed_s": round(tuned["elapsed_s"], 1),
        "command": tuned["command"],
        "median_s": {side: round(median(seconds), 4) for side, seconds in times.items()},
    }


def counted(remedies: Sequence[Remedy], worth: Mapping[str, float]) -> tuple[list[Remedy], list[Remedy]]:
    """Return the remedies that gain on this machine, and the others."""

    def gain(remedy: Remedy) -> float:
        return worth.get(remedy.cause, worth.get("known", 1.0))

    return (
        [remedy for remedy in remedies if gain(remedy) >= _WORTH],
        [remedy for remedy in remedies if gain(remedy) < _WORTH],
    )


def summary_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the summary, one sentence per tree."""
    trees = dict.fromkeys(row["tree"] for row in rows)
    return " ".join(_summary(tree, [row for row in rows if row["tree"] == tree]) for tree in trees)


def _summary(tree: str, rows: Sequence[Mapping[str, Any]]) -> str:
    causes = sum(len(row["causes"]) for row in rows)
    missed = sum(len(row["missed"].split(", ")) for row in rows if row["missed"])
    right = [row["right_after"] for row in rows if row["right_after"] is not None]
    superfluous = sum(row["superfluous"] for row in rows)
    return (
        f"{tree}: {missed} of {causes} causes missed, "
        f"{superfluous / len(rows):.2f} superfluous settings an answer, "
        f"right after {median(right) if right else '–'} runs (median of {len(right)}), "
        f"loss {median(row['loss'] for row in rows):+.1%} (median of {len(rows)}), "
        f"{sum(row['runs'] for row in rows)} runs in all, "
        f"{sum(len(row['knobs_run']) for row in rows) / len(rows):.1f} knobs run a program."
    )


def _tune(
    case: Case, bed: Bed, original: Launch, tree: tuple[str, Path], arguments: Namespace
) -> tuple[dict[str, Any], tuple[Trial, ...]]:
    """Return the result of `mpiric tune --json` of a checkout, and the trials in its store."""
    name, root = tree
    directory = results_directory("answers", f"{case.name}-{name}", bed)
    shutil.rmtree(directory, ignore_errors=True)
    work, store = directory / "work", directory / "store"
    work.mkdir(parents=True)
    most_runs = arguments.max_runs or (120 if arguments.quick else 200)
    options = ["tune", "--json", "--max-runs", str(most_runs), "--budget", arguments.budget]
    options += ["--without", "mpi"]  # the causes belong to one library
    options += ["--seed", str(arguments.seed), "--store", str(store)]
    directories = {f"XDG_{kind}_HOME": str(directory / kind.lower()) for kind in ("STATE", "CACHE", "CONFIG")}
    path = os.pathsep.join([str(root / "src"), str(root)])
    done = subprocess.run(
        [sys.executable, "-m", "mpiric", *options, "--", *original.argv],
        cwd=work,
        env={**bed.environment, **original.environment, **directories, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise MpiricError(f"{name}: tune failed on {original.shell_line()}: {done.stderr.strip()[-600:]}")
    return json.loads(done.stdout), read_log(next(store.glob(f"*/{EVENTS}"))).trials


if __name__ == "__main__":
    sys.exit(main())
