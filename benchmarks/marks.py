"""Marks of real programs: the chosen calls, their meaning, and the agreement of runs, settings and libraries.

Each program is recorded once and runs to its mark several times, unchanged and with other settings. The calls
of its ranks up to the mark must agree within 0.5 %, the limit of a tune. Programs without steps must be
refused.
"""

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._mark_programs import MarkProgram, offer_sources, programs
from benchmarks._marked import AS_IT_IS, Learned, MarkedProgram, marked_program
from benchmarks._programs import Bed, releases
from benchmarks._report import Result, options, run, tell
from mpiric.host.facts.local import LocalHost
from mpiric.lab.mark_judge import MOST_APART, disagreement
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.pace import Crossing, MarkPair
from mpiric.model.run import Outcome
from mpiric.workflows.launch.parse_job import parse_job

_SETTINGS = tuple(
    Configuration.of(values)
    for values in (
        {"binding": "none"},
        {"binding": "core"},
        {"malloc": "keep-memory"},
        {"waiting": "yield"},
        {"eager-node": "4KiB"},
        {"huge-pages": "transparent"},
    )
)

_RECORDED = 3  # runs at the most, until one shows steps

COLUMNS = {
    "program": "program",
    "library": "library",
    "mark": "mark",
    "meaning": "its meaning",
    "window": "calls, of those in a run",
    "wall_s": "a run s",
    "runs": "runs",
    "settings": "settings",
    "apart": "most apart",
    "elsewhere": "than the library above",
    "right": "as it should be",
    "why": "",
}


def main() -> int:
    """Check the marks of each program, print and save the table."""
    parser = options("marks", (__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", help="only programs whose name contains this")
    offer_parts(parser)
    offer_sources(parser)
    return run("marks", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Measure a row for each program and library."""
    table = KeptRows("marks", arguments)
    chosen = programs(arguments.sources, arguments.only or ())
    for program in chosen:
        table.add(program.name, partial(_rows, program, runs=2 if arguments.quick else 3))
    meanings = {program.name: program.meaning for program in chosen}
    rows = [{**row, "meaning": meanings.get(row["program"])} for row in table.rows]
    measured = [row for row in rows if row["right"] is not None]
    right = sum(bool(row["right"]) for row in measured)
    return Result(
        COLUMNS,
        rows,
        f"{right} of {len(measured)} programs × libraries have marks with agreement of all runs within "
        f"{MOST_APART:.1%}, or are refused as they should be; {len(rows) - len(measured)} were not here."
        f"{table.remark}",
    )


@dataclass(frozen=True)
class _Above:
    """Result of the first library of a program."""

    pair: MarkPair
    calls: int  # calls of the mark's kind in a whole run
    crossing: Mapping[int, Crossing]


def _rows(program: MarkProgram, runs: int) -> Iterator[dict[str, Any]]:
    above: _Above | None = None
    beds = releases(program.libraries)
    for prefix in program.libraries:
        row: dict[str, Any] = dict.fromkeys(COLUMNS)
        row |= {"program": program.name, "library": prefix}
        try:
            if prefix not in beds:
                raise NotFoundError(f"{prefix} is not installed")
            bed = beds[prefix]
            row["library"] = bed.mpi.label
            if program.refused:
                row |= _refused(program, bed)
            else:
                agreed, crossing = _agreed(
                    program, bed, runs, None if prefix in program.other_builds else above
                )
                row |= agreed
                above = above or crossing
        except MpiricError as error:
            row |= {"why": error.message[-160:]}
        tell(" ".join(f"{key}={value}" for key, value in row.items() if value is not None))
        yield row


def _agreed(
    program: MarkProgram, bed: Bed, runs: int, above: _Above | None
) -> tuple[dict[str, Any], _Above | None]:
    argv, inputs = program.command(bed)
    with marked_program(argv, bed, inputs) as marked:
        learned = _learned(marked)
        if learned.pair is None:
            return {"right": False, "why": learned.choice.why}, None
        pair = _same_calls(learned, learned.pair, above) if above else learned.pair
        crossings, settings = _crossings(marked, pair, runs)
    key, why, calls = pair.key, disagreement(crossings), learned.calls_of(pair)
    elsewhere = apart([above.crossing, crossings[0]]) if above and _are_alike(pair, above.pair) else None
    row = {
        "mark": f"{key.function.removeprefix('MPI_')}{f' at {key.place}' if key.place else ''}",
        "window": f"{pair.first}–{pair.last} of {calls}",
        "wall_s": round(learned.wall_s, 2),
        "runs": len(crossings),
        "settings": len(settings),
        "apart": apart(crossings),
        "elsewhere": elsewhere,
        "right": not why and (elsewhere is None or elsewhere <= MOST_APART),
        "why": why or ", ".join(str(setting) for setting in settings),
    }
    return row, _Above(pair, calls, crossings[0])


def _learned(marked: MarkedProgram) -> Learned:
    """Return the marks of a recorded run; record again if load on the machine made its steps uneven."""
    for _ in range(_RECORDED):
        learned = marked.learn()
        if learned.pair is not None:
            break
    return learned


def _same_calls(learned: Learned, chosen: MarkPair, above: _Above) -> MarkPair:
    """Return the marks of the first library if this one has the same calls, else the marks chosen here.

    Places differ between builds, and the choice between two equally even kinds of calls may differ too.
    """
    first, first_key = learned.pace.first_rank, above.pair.key
    alike = [
        calls.key
        for calls in (first.keys if first else ())
        if (calls.key.function, calls.key.ranks, calls.key.birth, calls.calls)
        == (first_key.function, first_key.ranks, first_key.birth, above.calls)
    ]
    key = alike[0] if len(alike) == 1 else chosen.key
    if key.function != first_key.function:
        return chosen
    return MarkPair(key, above.pair.first, above.pair.last, chosen.on_rank_0_alone)


def _are_alike(pair: MarkPair, other: MarkPair) -> bool:
    """Return whether both are the same calls at the same numbers; places may differ."""
    return (pair.first, pair.last, pair.key.function, pair.key.ranks) == (
        other.first,
        other.last,
        other.key.function,
        other.key.ranks,
    )


def _crossings(
    marked: MarkedProgram, pair: MarkPair, runs: int
) -> tuple[list[dict[int, Crossing]], list[Configuration]]:
    """Return the ranks' calls at the mark: of several unchanged runs, and of one with each setting."""
    crossings: list[dict[int, Crossing]] = []
    settings: list[Configuration] = []
    for configuration in [AS_IT_IS] * runs + [setting for setting in _SETTINGS if marked.can(setting)]:
        marked_run = marked.run(pair, configuration)
        if marked_run.execution.outcome is not Outcome.OK and configuration:
            continue  # a setting that does not work here gives no information on marks
        crossings.append(marked_run.crossings(pair))
        settings += [configuration] if configuration else []
    return crossings, settings


def apart(crossings: list[Mapping[int, Crossing]] | list[dict[int, Crossing]]) -> float | None:
    """Return the largest relative difference of calls or bytes on any rank."""
    ranks = {rank for run in crossings for rank in run}
    if not ranks or any(rank not in run for run in crossings for rank in ranks):
        return None
    parts = [(rank, what) for rank in ranks for what in ("calls", "bytes")]
    values: list[list[int]] = [[getattr(run[rank], what) for run in crossings] for rank, what in parts]
    return round(max((max(counts) - min(counts)) / max(1, *counts) for counts in values), 5)


def _refused(program: MarkProgram, bed: Bed) -> dict[str, Any]:
    argv, inputs = program.command(bed)
    if not parse_job(argv, LocalHost(), "/", bed.environment).job.launcher_words:
        return _refused_for_its_launch(argv, bed)
    with marked_program(argv, bed, inputs) as marked:
        learned = marked.learn()
        if learned.pair is None:
            why = learned.choice.why if learned.choice.key is None else "too few of its steps were seen"
            return {"right": program.refused in why, "why": why, "wall_s": round(learned.wall_s, 2)}
        crossings, _ = _crossings(marked, learned.pair, 3)
    why = disagreement(crossings)
    return {
        "mark": learned.pair.option,
        "apart": apart(crossings),
        "right": bool(why),
        "why": f"its steps are not the same work in every run: {why}" if why else "was not refused",
    }


def _refused_for_its_launch(argv: list[str], bed: Bed) -> dict[str, Any]:
    """Check a command that starts several programs: its launch or its marks must be refused."""
    try:
        with marked_program(argv, bed) as marked:
            marks = marked.run(None, ends=False).marks
    except MpiricError as error:
        return {"right": True, "why": error.message[-160:]}
    count = marks.runs if marks else 0
    return {
        "right": count != 1,
        "why": f"the command starts {count} MPI programs; marks need exactly one",
    }


if __name__ == "__main__":
    sys.exit(main())
