"""Records read again: one explained, or two compared; the files that go with them."""

import json
from dataclasses import replace
from pathlib import Path

from mpiric import __version__
from mpiric.host.files import is_directory
from mpiric.host.host import Host
from mpiric.host.owned_files import write_whole
from mpiric.model.errors import MpiricError, writing
from mpiric.model.profile import PER_STEP, Comparison, Profile, QuantityChange
from mpiric.profile.analyse import analyse
from mpiric.profile.compare import compare
from mpiric.profile.pace import run_pace
from mpiric.profile.read import read_record
from mpiric.profile.sites import name_sites
from mpiric.profile.tables import write_csv
from mpiric.report.comparison_text import comparison_html
from mpiric.report.profile_html import profile_html
from mpiric.report.profile_json import profile_json
from mpiric.tuning.marks.choice import without_library_places
from mpiric.tuning.marks.later_pace import step_change
from mpiric.workflows.mapping.record_order import order_for_record
from mpiric.workflows.profile.launch_facts import DATA, PAGE, launch_facts, node_topology

_MOST_ORDERED = 8192  # ranks
_SPAWNING = ("MPI_Comm_spawn", "MPI_Comm_spawn_multiple")


def load(record: Path, host: Host | None = None) -> Profile:
    """The profile of a record: of a directory, a merged file, or what one rank left.

    Places in the program have names when there is a ``host`` to ask for them.
    """
    facts = launch_facts(record)
    profile = analyse(read_record(record), str(facts.get("command", "")))
    profile = replace(profile, shape=node_topology(facts.get("node_shape")))
    if host is not None:
        profile = name_sites(profile, host)
    return with_others(profile, record)


def with_others(profile: Profile, record: Path) -> Profile:
    """Note what else the command ran: other records beside this one, or spawned ranks without."""
    more = sorted(path.name for path in record.glob("record-*.mpiric")) if is_directory(record) else []
    spawns = any(use.name in _SPAWNING for use in profile.functions)
    if more:
        ran = "spawned ranks" if spawns else "ran MPI several times"
        note = f"the command {ran}; this is the first record, the others are {', '.join(more)}"
    elif spawns and is_directory(record):
        note = "the ranks that the program spawned left no record: they did not get its environment"
    else:
        return profile
    return replace(profile, notes=(*profile.notes, note))


def load_two(first: Path, second: Path) -> Comparison:
    """What changed from one record to another; of runs that were ended early too, by the time per step."""
    comparison = compare((str(first), load(first)), (str(second), load(second)))
    paces = [without_library_places(run_pace(read_record(path))) for path in (first, second)]
    step = step_change(*paces)
    if step is None:
        return comparison
    return replace(comparison, headline=(*comparison.headline, QuantityChange(PER_STEP, *step)))


def advised_knobs(record: Path) -> tuple[str, ...]:
    """Knobs that the advice on a record names, the most promising first."""
    return tuple(dict.fromkeys(knob for advice in load(record).advice for knob in advice.knobs))


def with_order(profile: Profile, record: Path, host: Host) -> Profile:
    """Add an order of its ranks, where several nodes make one matter and there are not too many to draw."""
    if len(profile.nodes) < 2 or profile.world_size > _MOST_ORDERED:
        return profile
    try:
        return replace(profile, order=order_for_record(record, host, preset="fast").proposal)
    except MpiricError as error:
        return replace(profile, notes=(*profile.notes, f"no order of ranks was sought: {error.message}"))


def write_report(profile: Profile, directory: Path, host: Host) -> Path:
    """``report.html`` and ``report.json``; returns the path of the page."""
    profile = with_order(profile, directory, host)
    write(directory / DATA, json.dumps(profile_json(profile), indent=1, ensure_ascii=False) + "\n")
    return write(directory / PAGE, profile_html(profile, __version__))


def write_comparison(comparison: Comparison, path: Path) -> Path:
    """The page of a comparison."""
    return write(path, comparison_html(comparison, __version__))


def export_csv(record: Path, directory: Path) -> tuple[Path, ...]:
    """The record's tables as CSV files."""
    return write_csv(read_record(record), directory)


def write(path: Path, text: str) -> Path:
    """Write a file and return its path. Raises NoRoomError when it cannot be written."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
    return path
