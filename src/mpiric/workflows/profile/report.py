"""Report of a record: its page and its data, with a proposed rank order."""

import json
from dataclasses import replace
from pathlib import Path

from mpiric import __version__
from mpiric.host.host import Host
from mpiric.host.owned_files import write_text
from mpiric.model.errors import MpiricError
from mpiric.model.profile import Profile
from mpiric.report.profile_html import profile_html
from mpiric.report.profile_json import profile_json
from mpiric.workflows.mapping.map import order_for_record
from mpiric.workflows.profile.load import DATA

_MOST_ORDERED = 8192  # largest number of ranks that are ordered
PAGE = "report.html"


def with_order(profile: Profile, record: Path, host: Host) -> Profile:
    """Add a proposed rank order if there are several nodes and not too many ranks."""
    if len(profile.nodes) < 2 or profile.world_size > _MOST_ORDERED:
        return profile
    try:
        return replace(profile, order=order_for_record(record, host, preset="fast").proposal)
    except MpiricError as error:
        return replace(profile, notes=(*profile.notes, f"no rank order was computed: {error.message}"))


def write_report(profile: Profile, directory: Path, host: Host) -> Path:
    """Write ``report.html`` and ``report.json``, and return the path of the page."""
    profile = with_order(profile, directory, host)
    write_text(directory / DATA, json.dumps(profile_json(profile), indent=1, ensure_ascii=False) + "\n")
    return write_text(directory / PAGE, profile_html(profile, __version__))
