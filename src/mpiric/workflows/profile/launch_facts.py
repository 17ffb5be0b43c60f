"""Facts of a launch from report.json."""

from pathlib import Path
from typing import Any

from mpiric.host.files import LARGEST_TEXT_BYTES, read_bounded
from mpiric.model.errors import MpiricError
from mpiric.model.json_text import parse_json
from mpiric.model.machine import Core
from mpiric.model.profile import NodeTopology

PAGE, DATA = "report.html", "report.json"


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
