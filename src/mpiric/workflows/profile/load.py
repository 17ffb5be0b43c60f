"""Profiles of records: load one, compare two, and the knobs that their advice names."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from mpiric.host.files import LARGEST_TEXT_BYTES, is_directory, read_bounded
from mpiric.host.host import Host
from mpiric.model.errors import MpiricError
from mpiric.model.json_text import parse_json
from mpiric.model.machine import Core
from mpiric.model.profile import PER_STEP, Comparison, NodeTopology, Profile, QuantityChange
from mpiric.model.record import Record
from mpiric.profile.analyse import analyse, compare
from mpiric.profile.pace import run_pace
from mpiric.profile.read import read_record
from mpiric.profile.sites import name_sites
from mpiric.profile.stuck import stuck_advice
from mpiric.tuning.mark_choice import without_library_places
from mpiric.tuning.mark_split import step_change

_SPAWNING = ("MPI_Comm_spawn", "MPI_Comm_spawn_multiple")
DATA = "report.json"  # file of the report next to a record


def load(record: Path, host: Host | None = None) -> Profile:
    """Load the profile of a record: a directory, a merged file, or the file of one rank.

    With a ``host``, call sites get the names of functions.
    """
    facts = launch_facts(record)
    data = read_record(record)
    profile = analyse(data, str(facts.get("command", "")))
    profile = replace(profile, shape=node_topology(facts.get("node_shape")))
    if host is not None:
        profile = name_sites(profile, host)
    return with_stuck(with_others(profile, record), data, host)


def with_stuck(profile: Profile, record: Record, host: Host | None) -> Profile:
    """Add findings on ranks that were waiting at the end of the run, before findings that promise less."""
    advice = profile.advice
    for stuck in stuck_advice(record, host):
        promising = [item for item in advice if item.promise > stuck.promise and not stuck.explains_run]
        at = 1 + advice.index(promising[-1]) if promising else 0
        advice = (*advice[:at], stuck, *advice[at:])
    return replace(profile, advice=advice)


def with_others(profile: Profile, record: Path) -> Profile:
    """Add a note on other records of the command, or on spawned ranks without a record."""
    more = sorted(path.name for path in record.glob("record-*.mpiric")) if is_directory(record) else []
    spawns = any(use.name in _SPAWNING for use in profile.functions)
    if more:
        ran = "spawned ranks" if spawns else "ran MPI several times"
        note = f"the command {ran}; this is the first record, the others are {', '.join(more)}"
    elif spawns and is_directory(record):
        note = "the spawned ranks have no record, since they did not get the environment"
    else:
        return profile
    return replace(profile, notes=(*profile.notes, note))


def load_two(first: Path, second: Path) -> Comparison:
    """Compare two records; the time per step compares runs that were ended early, too."""
    comparison = compare((str(first), load(first)), (str(second), load(second)))
    paces = [without_library_places(run_pace(read_record(path))) for path in (first, second)]
    step = step_change(*paces)
    if step is None:
        return comparison
    return replace(comparison, headline=(*comparison.headline, QuantityChange(PER_STEP, *step)))


def advised_knobs(record: Path) -> tuple[str, ...]:
    """Return the knobs that the advice on a record names, the most promising first."""
    return tuple(dict.fromkeys(knob for advice in load(record).advice for knob in advice.knobs))


def launch_facts(record: Path) -> dict[str, Any]:
    """Read the launch line and the node's cores, which are not in the record, from report.json."""
    try:
        data = parse_json(read_bounded(record / DATA, "report", LARGEST_TEXT_BYTES))
    except (ValueError, MpiricError):
        return {}
    return data if isinstance(data, dict) else {}


def node_topology(data: Any) -> NodeTopology | None:
    """Return the cores of the node, None if the report does not have them."""
    try:
        cores = tuple(
            Core(int(index), int(package), int(numa), tuple(map(int, pus)))
            for index, package, numa, pus in data["cores"]
        )
        return NodeTopology(str(data["host"]), cores)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
