"""`mpiric map`: which rank sits where, so that those that talk much are near each other."""

from pathlib import Path
from typing import Any

import click

from mpiric.cli._completing import files, one_of
from mpiric.cli._errors import say
from mpiric.cli._json import print_json
from mpiric.cli._options import FILE
from mpiric.host.facts.local import LocalHost
from mpiric.launchers.rank_orders import rank_order_forms
from mpiric.mapping.hierarchy import node_tree, parse_distances, parse_hierarchy, uniform_tree
from mpiric.mapping.patterns import grid_graph, lines_graph, parse_extents
from mpiric.mapping.read import read_graph
from mpiric.model.errors import MpiricError, writing
from mpiric.model.host_list import hosts_of
from mpiric.model.mapped_ranks import Mapped
from mpiric.model.rank_graph import RankGraph, SlotTree
from mpiric.model.rank_order import RankOrder
from mpiric.report.rank_order_text import mapped_json, mapped_text
from mpiric.workflows.mapping.map import MapRequest, map_ranks
from mpiric.workflows.mapping.record import recorded_traffic

_EPILOG = """\b
Examples:
  mpiric map lj --emit slurm --out hosts.txt                        for the job that was recorded in lj
  mpiric map --grid 16x16x16 --stencil 7 --hierarchy 16:2:128 --distances 1:2:10 --out order.txt
  mpiric map --graph app.metis --hierarchy 4:8:8 --distances 1:10:100 --out blocks.txt --json
  mpiric map --grid 12x12 --lines rows,columns --hierarchy 12:12 --hosts n[1-12] --emit prrte --out ranks
"""
_LINES = {"rows": (1,), "columns": (0,), "rows,columns": (0, 1), "pencils": (0, 1)}


@click.command("map", epilog=_EPILOG)
@click.option(
    "--graph", **FILE, shell_complete=files, help="Traffic: .metis, .mtx, .npz, .npy, .txt or .csv."
)
@click.option("--grid", default="", metavar="AxBxC", help="A described pattern: ranks on a grid, row-major.")
@click.option(
    "--stencil", default="", metavar="7|27|OFFSETS", help="Who talks on the grid; '1,0:2;0,1' custom."
)
@click.option("--periodic", is_flag=True, help="The grid's opposite sides are neighbours.")
@click.option("--lines", type=click.Choice(sorted(_LINES)), help="All-to-all in the lines of a grid of two.")
@click.option("--hierarchy", default="", metavar="4:8:8", help="Slots, innermost level first.")
@click.option("--nodes", default="", metavar="8,8,4", help="Slots of each node, where nodes differ.")
@click.option("--distances", default="", metavar="1:10:100", help="Of two slots, by their closest level.")
@click.option("--hosts", default="", metavar="n[1-4],A,…", help="Names of the nodes, for --emit.")
@click.option(
    "--imbalance", type=click.FloatRange(min=0), help="Where slots take several ranks; 0.03 when not given."
)
@click.option("--preset", type=click.Choice(["fast", "eco", "strong"]), default="eco", show_default=True)
@click.option(
    "--objective",
    type=click.Choice(["hop-bytes", "worst-link"]),
    default="hop-bytes",
    show_default=True,
    help="What is minimised: weight times distance, or the load of the busiest link.",
)
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("--out", **FILE, help="The slot of each rank, a line each; with --emit the launcher's file.")
@click.option(
    "--emit", default="", metavar="LAUNCHER", shell_complete=one_of(rank_order_forms), help="As it takes it."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.argument("record", required=False, type=click.Path(path_type=Path), metavar="[RECORD]")
def command(record: Path | None, **given: Any) -> int:
    """Find an order of ranks in which those that talk much sit near each other.

    The traffic is that of a RECORD of `mpiric profile`, of a matrix or graph (--graph), or of a described
    pattern (--grid). The order is never worse than today's.
    """
    if sum((record is not None, given["graph"] is not None, bool(given["grid"]))) != 1:
        raise MpiricError(
            "what is to be mapped?", hint="a RECORD, or --graph FILE, or --grid 16x16 --stencil 5"
        )
    if given["emit"] and given["emit"] not in rank_order_forms():
        raise MpiricError(f"no launcher {given['emit']!r}", hint=f"one of {', '.join(rank_order_forms())}")
    if given["emit"] and given["out"] is None:
        raise MpiricError("--emit writes a file", hint="name it with --out FILE")
    request, hosts = _request(record, given)
    mapped = map_ranks(request, LocalHost())
    if given["out"] is not None:
        _write(mapped, hosts, given)
    if given["as_json"]:
        print_json(mapped_json(mapped))
    else:
        print(mapped_text(mapped))
    return 0


def _request(record: Path | None, given: dict[str, Any]) -> tuple[MapRequest, tuple[str, ...]]:
    how = {name: given[name] for name in ("imbalance", "preset", "objective", "threads", "seed")}
    if record is None:
        tree = _tree(given)
        return MapRequest(_graph(given), tree, **how), _hosts(given, tree)
    if not given["hierarchy"] and not given["nodes"]:
        distances = parse_distances(given["distances"] or "1:10", 2)
        traffic = recorded_traffic(record, distances)
        return MapRequest(traffic.graph, traffic.tree, traffic.given, **how), traffic.hosts
    traffic, tree = recorded_traffic(record), _tree(given)
    if tree.slots != traffic.graph.size:
        raise MpiricError(
            f"{record} has {traffic.graph.size} ranks, and there are {tree.slots} slots",
            hint="each rank takes one",
        )
    hosts = _hosts(given, tree) if given["hosts"] else traffic.hosts
    return MapRequest(traffic.graph, tree, traffic.given, **how), hosts


def _graph(given: dict[str, Any]) -> RankGraph:
    if given["graph"] is not None:
        return read_graph(given["graph"])
    extents = parse_extents(given["grid"])
    if bool(given["stencil"]) == bool(given["lines"]):
        raise MpiricError("who talks to whom on the grid?", hint="--stencil 7, or --lines rows,columns")
    if given["lines"]:
        if len(extents) != 2:
            raise MpiricError("--lines are those of a grid of two dimensions", hint="--grid 32x64")
        return lines_graph(extents, _LINES[given["lines"]])
    return grid_graph(extents, given["stencil"], periodic=given["periodic"])


def _tree(given: dict[str, Any]) -> SlotTree:
    if bool(given["hierarchy"]) == bool(given["nodes"]):
        raise MpiricError("what is there to map onto?", hint="--hierarchy 4:8:8 --distances 1:10:100")
    if given["hierarchy"]:
        fan_outs = parse_hierarchy(given["hierarchy"])
        usual = ":".join(str(10**level) for level in range(len(fan_outs)))
        return uniform_tree(fan_outs, parse_distances(given["distances"] or usual, len(fan_outs)))
    counts = given["nodes"].split(",")
    if not all(word.isdigit() and 0 < int(word) < 10**6 for word in counts):
        raise MpiricError(f"{given['nodes']!r} are no slots of nodes", hint="--nodes 8,8,4")
    return node_tree([int(word) for word in counts], parse_distances(given["distances"] or "1:10", 2))


def _hosts(given: dict[str, Any], tree: SlotTree) -> tuple[str, ...]:
    """The host of each slot; without names they are node1, node2, …."""
    nodes = tree.groups[0].tolist()
    count = nodes[-1] + 1
    names = hosts_of(given["hosts"]) if given["hosts"] else tuple(f"node{i + 1}" for i in range(count))
    if len(names) != count or len(set(names)) != count:
        raise MpiricError(
            f"{len(set(names))} names for {count} nodes",
            hint="--hosts n[1-4]: one for each group of the first level",
        )
    return tuple(names[node] for node in nodes)


def _write(mapped: Mapped, hosts: tuple[str, ...], given: dict[str, Any]) -> None:
    path: Path = given["out"]
    if not given["emit"]:
        text = "".join(f"{slot}\n" for slot in mapped.slots.tolist())
    elif mapped.capacity:
        raise MpiricError(
            "a launcher's file is for one rank a slot", hint="a hierarchy with a slot for each rank"
        )
    else:
        emission = rank_order_forms()[given["emit"]](RankOrder(tuple(mapped.slots.tolist()), hosts))
        text = emission.text
        words = [f"{name}={value}" for name, value in emission.environment.items()] + list(emission.options)
        say(f"give the launcher: {' '.join(word.replace('{file}', str(path)) for word in words)}")
    with writing(path, hint="name another file with --out"):
        path.write_text(text, encoding="utf-8")
