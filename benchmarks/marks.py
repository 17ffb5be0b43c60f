"""Marks of real programs: which calls are found, what they mean, whether runs, settings and libraries agree.

Each program is recorded once and runs to its mark as it is, again, and with settings changed; what its ranks
have called by then must agree within the 0.5 % that a tune asks for. Programs without steps must be refused.
"""

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._mark_programs import MarkProgram, offer_sources, programs
from benchmarks._marked import AS_IT_IS, MarkedProgram, marked_program
from benchmarks._programs import Bed, releases
from benchmarks._report import Result, options, run, tell
from mpiric import knobs
from mpiric.host.facts.local import LocalHost
from mpiric.model.configuration import Configuration
from mpiric.model.errors import MpiricError, NotFoundError
from mpiric.model.marks import MarkPair
from mpiric.model.pace import Crossing
from mpiric.model.trial import Outcome
from mpiric.tuning.marks.agreement import MOST_APART, disagreement
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

COLUMNS = {
    "program": "program",
    "library": "library",
    "mark": "mark",
    "meaning": "its meaning",
    "window": "calls",
    "wall_s": "a run s",
    "runs": "runs",
    "settings": "settings",
    "apart": "most apart",
    "elsewhere": "than the library above",
    "right": "as it should be",
    "why": "",
}


def main() -> int:
    """Look at each program."""
    parser = options("marks", (__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", help="only programs whose name contains this")
    offer_parts(parser)
    offer_sources(parser)
    return run("marks", parser.parse_args(), measure)


def measure(given: Namespace) -> Result:
    """A row for each program and library."""
    kept = KeptRows("marks", given)
    for program in programs(given.sources, given.only or ()):
        kept.add(program.name, partial(_rows, program, runs=2 if given.quick else 3))
    rows = kept.rows
    found = [row for row in rows if row["right"] is not None]
    right = sum(bool(row["right"]) for row in found)
    return Result(
        COLUMNS,
        rows,
        f"{right} of {len(found)} programs × libraries have marks that all runs and settings agree on within "
        f"{MOST_APART:.1%}, or are refused as they should be; {len(rows) - len(found)} were not here."
        f"{kept.remark}",
    )


def _rows(program: MarkProgram, runs: int) -> Iterator[dict[str, Any]]:
    before: Mapping[int, Crossing] | None = None
    first: MarkPair | None = None
    beds = releases(program.libraries)
    for prefix in program.libraries:
        row: dict[str, Any] = dict.fromkeys(COLUMNS)
        row |= {"program": program.name, "library": prefix, "meaning": program.meaning}
        try:
            if prefix not in beds:
                raise NotFoundError(f"no {prefix} is here")
            bed = beds[prefix]
            row["library"] = bed.mpi.label
            if program.refused:
                row |= _refused(program, bed)
            else:
                row, before, first = _agreed(program, bed, row, runs, before, first)
        except MpiricError as error:
            row |= {"why": error.message[-160:]}
        tell(" ".join(f"{key}={value}" for key, value in row.items() if value is not None))
        yield row


def _agreed(
    program: MarkProgram,
    bed: Bed,
    row: dict[str, Any],
    runs: int,
    before: Mapping[int, Crossing] | None,
    first: MarkPair | None,
) -> tuple[dict[str, Any], Mapping[int, Crossing] | None, MarkPair | None]:
    argv, inputs = program.command(bed)
    with marked_program(argv, bed, inputs) as marked:
        learned = marked.learn()
        if learned.pair is None:
            return {**row, "right": False, "why": learned.choice.why}, before, first
        pair = learned.pair
        if first is not None and first.key.function == pair.key.function:
            pair = MarkPair(pair.key, first.first, first.last, pair.on_rank_0_alone)
        seen, settings = _crossings(marked, pair, runs)
    key, why = pair.key, disagreement(seen)
    elsewhere = apart([before, seen[0]]) if before is not None and first == _at_numbers(pair, first) else None
    row |= {
        "mark": f"{key.function.removeprefix('MPI_')}{f' at {key.place}' if key.place else ''}",
        "window": f"{pair.first}–{pair.last}",
        "wall_s": round(learned.wall_s, 2),
        "runs": len(seen),
        "settings": len(settings),
        "apart": apart(seen),
        "elsewhere": elsewhere,
        "right": not why and (elsewhere is None or elsewhere <= MOST_APART),
        "why": why or ", ".join(str(setting) for setting in settings),
    }
    return row, before or seen[0], first or pair


def _at_numbers(pair: MarkPair, first: MarkPair | None) -> MarkPair | None:
    """The first library's mark where this one has the same calls at the same numbers, whatever its places."""
    same = first is not None and (pair.first, pair.last, pair.key.function, pair.key.ranks) == (
        first.first,
        first.last,
        first.key.function,
        first.key.ranks,
    )
    return first if same else None


def _crossings(
    marked: MarkedProgram, pair: MarkPair, runs: int
) -> tuple[list[dict[int, Crossing]], list[Configuration]]:
    """What ranks have called at the mark, as it is several times, and with each setting there is here."""
    seen: list[dict[int, Crossing]] = []
    settings: list[Configuration] = []
    for configuration in [AS_IT_IS] * runs + [each for each in _SETTINGS if _is_here(marked, each)]:
        found = marked.run(pair, configuration)
        if found.execution.outcome is not Outcome.OK and configuration:
            continue  # a setting that does not work here tells nothing of marks
        seen.append(found.crossings(pair))
        settings += [configuration] if configuration else []
    return seen, settings


def _is_here(marked: MarkedProgram, configuration: Configuration) -> bool:
    return not knobs.check_configuration(configuration.as_dict()) and marked.can(configuration)


def apart(seen: list[Mapping[int, Crossing]] | list[dict[int, Crossing]]) -> float | None:
    """The largest relative distance of calls or bytes on any rank."""
    ranks = {rank for run in seen for rank in run}
    if not ranks or any(rank not in run for run in seen for rank in ranks):
        return None
    parts = [(rank, what) for rank in ranks for what in ("calls", "bytes")]
    values: list[list[int]] = [[getattr(run[rank], what) for run in seen] for rank, what in parts]
    return round(max((max(each) - min(each)) / max(1, *each) for each in values), 5)


def _refused(program: MarkProgram, bed: Bed) -> dict[str, Any]:
    argv, inputs = program.command(bed)
    if not parse_job(argv, LocalHost(), "/", bed.environment).job.launcher_words:
        return _refused_for_its_launch(argv, bed)
    with marked_program(argv, bed, inputs) as marked:
        learned = marked.learn()
        if learned.pair is None:
            why = learned.choice.why if learned.choice.key is None else "too few of its steps were seen"
            return {"right": program.refused in why, "why": why, "wall_s": round(learned.wall_s, 2)}
        seen, _ = _crossings(marked, learned.pair, 3)
    why = disagreement(seen)
    return {
        "mark": learned.pair.option,
        "apart": apart(seen),
        "right": bool(why),
        "why": f"its steps are not the same work in every run: {why}" if why else "was not refused",
    }


def _refused_for_its_launch(argv: list[str], bed: Bed) -> dict[str, Any]:
    """A command that starts several programs: it cannot be prepared, or its runs leave marks of several."""
    try:
        with marked_program(argv, bed) as marked:
            seen = marked.run(None, ends=False).marks
    except MpiricError as error:
        return {"right": True, "why": error.message[-160:]}
    count = seen.runs if seen else 0
    return {
        "right": count != 1,
        "why": f"the command starts {count} MPI programs, and marks are those of one",
    }


if __name__ == "__main__":
    sys.exit(main())
