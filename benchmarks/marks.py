"""Marks of real programs: which calls are found, what they mean, whether runs, settings and libraries agree.

Each program is recorded once and runs to its mark as it is, again, and with settings changed; what its ranks
have called by then must agree within the 0.5 % that a tune asks for. Programs without steps must be refused.
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
    """Look at each program."""
    parser = options("marks", (__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", help="only programs whose name contains this")
    offer_parts(parser)
    offer_sources(parser)
    return run("marks", parser.parse_args(), measure)


def measure(given: Namespace) -> Result:
    """A row for each program and library."""
    kept = KeptRows("marks", given)
    chosen = programs(given.sources, given.only or ())
    for program in chosen:
        kept.add(program.name, partial(_rows, program, runs=2 if given.quick else 3))
    meanings = {program.name: program.meaning for program in chosen}
    rows = [{**row, "meaning": meanings.get(row["program"])} for row in kept.rows]
    found = [row for row in rows if row["right"] is not None]
    right = sum(bool(row["right"]) for row in found)
    return Result(
        COLUMNS,
        rows,
        f"{right} of {len(found)} programs × libraries have marks that all runs and settings agree on within "
        f"{MOST_APART:.1%}, or are refused as they should be; {len(rows) - len(found)} were not here."
        f"{kept.remark}",
    )


@dataclass(frozen=True)
class _Above:
    """What the first library of a program has shown."""

    pair: MarkPair
    calls: int  # of the mark's kind, in a whole run
    crossing: Mapping[int, Crossing]


def _rows(program: MarkProgram, runs: int) -> Iterator[dict[str, Any]]:
    above: _Above | None = None
    beds = releases(program.libraries)
    for prefix in program.libraries:
        row: dict[str, Any] = dict.fromkeys(COLUMNS)
        row |= {"program": program.name, "library": prefix}
        try:
            if prefix not in beds:
                raise NotFoundError(f"no {prefix} is here")
            bed = beds[prefix]
            row["library"] = bed.mpi.label
            if program.refused:
                row |= _refused(program, bed)
            else:
                found, seen = _agreed(program, bed, runs, None if prefix in program.other_builds else above)
                row |= found
                above = above or seen
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
        seen, settings = _crossings(marked, pair, runs)
    key, why, calls = pair.key, disagreement(seen), learned.calls_of(pair)
    elsewhere = apart([above.crossing, seen[0]]) if above and _are_alike(pair, above.pair) else None
    row = {
        "mark": f"{key.function.removeprefix('MPI_')}{f' at {key.place}' if key.place else ''}",
        "window": f"{pair.first}–{pair.last} of {calls}",
        "wall_s": round(learned.wall_s, 2),
        "runs": len(seen),
        "settings": len(settings),
        "apart": apart(seen),
        "elsewhere": elsewhere,
        "right": not why and (elsewhere is None or elsewhere <= MOST_APART),
        "why": why or ", ".join(str(setting) for setting in settings),
    }
    return row, _Above(pair, calls, seen[0])


def _learned(marked: MarkedProgram) -> Learned:
    """What a recorded run shows, or another one where the rest of the machine made its steps uneven."""
    for _ in range(_RECORDED):
        learned = marked.learn()
        if learned.pair is not None:
            break
    return learned


def _same_calls(learned: Learned, chosen: MarkPair, above: _Above) -> MarkPair:
    """Calls that the library above has shown, at its numbers; what was chosen where these are not known.

    Places differ from build to build, and of two kinds that come equally evenly another may be chosen.
    """
    first, wanted = learned.pace.first_rank, above.pair.key
    alike = [
        each.key
        for each in (first.keys if first else ())
        if (each.key.function, each.key.ranks, each.key.birth, each.calls)
        == (wanted.function, wanted.ranks, wanted.birth, above.calls)
    ]
    key = alike[0] if len(alike) == 1 else chosen.key
    if key.function != wanted.function:
        return chosen
    return MarkPair(key, above.pair.first, above.pair.last, chosen.on_rank_0_alone)


def _are_alike(pair: MarkPair, other: MarkPair) -> bool:
    """Whether both are the same calls at the same numbers, whatever their places."""
    return (pair.first, pair.last, pair.key.function, pair.key.ranks) == (
        other.first,
        other.last,
        other.key.function,
        other.key.ranks,
    )


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
