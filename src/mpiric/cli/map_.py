"""`mpiric map`: find an order of ranks that keeps communicating ranks close."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from cloup import option_group

from mpiric.cli._errors import say
from mpiric.cli._json import print_json
from mpiric.cli._mapping_options import (
    machine_options,
    machine_request,
    plain_machine,
    traffic_graph,
    traffic_options,
)
from mpiric.cli._options import choice, cli_command, complete_files, flag, json_option, one_of, option, share
from mpiric.host.facts.local import LocalHost
from mpiric.host.host import Host
from mpiric.host.owned_files import write_whole
from mpiric.launchers.rank_orders import rank_order_forms
from mpiric.mapping.objectives import OBJECTIVES
from mpiric.mapping.read import read_numbers
from mpiric.model.amount import parse_duration
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import MpiricError, writing
from mpiric.model.mapping import Mapped, Weights
from mpiric.report.rank_order_pictures import mapped_html, mapped_picture
from mpiric.report.rank_order_text import mapped_json, mapped_text
from mpiric.workflows.mapping.machine import (
    machine_for,
    rank_order,
    read_machine,
    record_on_machine,
    require_slot_each,
)
from mpiric.workflows.mapping.map import MapRequest, map_ranks
from mpiric.workflows.mapping.record import RecordedTraffic, recorded_traffic

_IO = "io"  # value of --spread: the bytes that the recorded ranks read and write


@dataclass(frozen=True)
class _Input:
    """The ranks to map, and the record that they come from."""

    request: MapRequest
    traffic: RecordedTraffic | None = None


@cli_command("map")
@traffic_options
@machine_options
@option_group(
    "Search",
    choice(
        OBJECTIVES,
        "--objective",
        "Quantity to minimise: bytes times distance (hop-bytes), bytes between nodes (off-node), load "
        "of the busiest link (worst-link), messages of the busiest network adapter (nic-messages).",
        default=MapRequest.objective,
    ),
    choice(
        ["fast", "eco", "strong"],
        "--preset",
        "Effort of the search, from fast to strong.",
        default=MapRequest.preset,
    ),
    option(
        "--spread",
        "io|FILE",
        "Spread a load evenly over the nodes: io is the recorded file traffic, FILE has a number per rank.",
        shell_complete=complete_files,
    ),
    option(
        "--imbalance",
        "SHARE",
        "Allowed imbalance of the slots, if there are more ranks than slots. [default: 3%]",
        type=share(100.0),
    ),
    option(
        "--time-limit",
        "TIME",
        "Time limit of the search. With a limit, the order may differ from run to run.",
    ),
    option(
        "--threads",
        "N",
        "Number of threads of the search.",
        type=click.IntRange(1, 1024),
        default=MapRequest.threads,
    ),
    option("--seed", "N", "Seed of the search.", type=click.IntRange(min=0), default=MapRequest.seed),
)
@option_group(
    "Output",
    option("--out", "FILE", "Write the slot of each rank, one per line; with --emit, the launcher's file."),
    option(
        "--emit",
        "LAUNCHER",
        f"Format of the file for a launcher: {', '.join(sorted(rank_order_forms()))}.",
        shell_complete=one_of(rank_order_forms),
    ),
    flag("--show", "Draw the traffic matrix before and after, and the ranks on their nodes."),
    option("--html", "FILE", "Write the result as a page.", shell_complete=complete_files),
    json_option,
)
@click.argument("record", required=False, type=click.Path(path_type=Path), metavar="[RECORD]")
def command(record: Path | None, **options: Any) -> int:
    """Find an order of ranks that keeps communicating ranks close.

    The traffic comes from a RECORD of `mpiric profile`, from a matrix or graph (--graph), or from a regular
    pattern (--grid). Measured by --objective, the order is never worse than the current one.
    """
    if sum((record is not None, options["graph"] is not None, bool(options["grid"]))) != 1:
        raise MpiricError(
            "exactly one of RECORD, --graph and --grid is needed",
            hint="for example mpiric map RECORD, or mpiric map --grid 16x16 --stencil 5",
        )
    if options["emit"] and options["emit"] not in rank_order_forms():
        raise MpiricError(
            f"unknown launcher {options['emit']!r}", hint=f"use one of {', '.join(rank_order_forms())}"
        )
    if options["emit"] and options["out"] is None:
        raise MpiricError("--emit needs a file to write", hint="add --out FILE")
    host = LocalHost()
    source = _read_input(record, options, host)
    mapped = map_ranks(source.request, host)
    if options["out"] is not None:
        _write(mapped, source.request, options)
    if options["html"] is not None:
        with writing(options["html"], hint="name another file with --html"):
            page = mapped_html(mapped, source.request.graph, source.request.machine)
            write_whole(options["html"], page.encode())
    run = None if source.traffic is None else source.traffic.run
    if options["as_json"]:
        print_json(mapped_json(mapped, run))
        return 0
    print(mapped_text(mapped, run))
    if options["show"]:
        print(mapped_picture(mapped, source.request.graph, source.request.machine))
    return 0


def _read_input(record: Path | None, options: dict[str, Any], host: Host) -> _Input:
    traffic = None if record is None else recorded_traffic(record)
    graph = traffic_graph(options) if traffic is None else traffic.graph
    search = {name: options[name] for name in ("imbalance", "preset", "objective", "threads", "seed")}
    search["limit_s"] = parse_duration(options["time_limit"]) if options["time_limit"] else 0.0
    search["uses"] = _uses(options["spread"], traffic)
    if options["hierarchy"]:
        machine = plain_machine(options, () if traffic is None else traffic.nodes)
        if traffic is not None:
            require_slot_each(str(record), graph.size, machine)
        return _Input(
            MapRequest(graph, machine, None if traffic is None else traffic.slots_before, **search), traffic
        )
    request = machine_request(options, needs_machine=traffic is None)
    spec = read_machine(request, host)
    if traffic is None:
        return _Input(MapRequest(graph, machine_for(graph, request, spec), **search))
    placed = record_on_machine(traffic, spec, request)
    return _Input(MapRequest(graph, placed.machine, placed.slots_before, **search), traffic)


def _uses(spread: str, traffic: RecordedTraffic | None) -> Weights | None:
    if not spread:
        return None
    if spread != _IO:
        return read_numbers(Path(spread))
    if traffic is None:
        raise MpiricError(
            "--spread io needs a RECORD", hint="give --spread a file with a number for each rank"
        )
    if not np.any(traffic.io_bytes):
        raise MpiricError("the recorded ranks neither read nor wrote files", hint="remove --spread")
    return traffic.io_bytes


def _write(mapped: Mapped, request: MapRequest, options: dict[str, Any]) -> None:
    path: Path = options["out"]
    if not options["emit"]:
        text = "".join(f"{slot}\n" for slot in request.machine.launch_slots[mapped.slots].tolist())
    elif mapped.capacity:
        raise MpiricError(
            "--emit needs a slot for each rank", hint="give a hierarchy with as many slots as ranks"
        )
    else:
        emission = rank_order_forms()[options["emit"]](rank_order(request.machine, mapped.slots))
        text = emission.text
        say(f"pass to the launcher: {emission.usage(path)}")
    with writing(path, hint="name another file with --out"):
        write_whole(path, text.encode())
