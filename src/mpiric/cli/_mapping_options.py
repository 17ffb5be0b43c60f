"""Options of `mpiric map` that describe the traffic and the machine."""

from typing import Any

from cloup import option_group

from mpiric.cli._options import COUNT, choice, complete_files, flag, one_of, option
from mpiric.host.files import exists
from mpiric.mapping.graph import parse_distances, parse_hierarchy, uniform_tree
from mpiric.mapping.networks import network_kinds
from mpiric.mapping.patterns import grid_graph, lines_graph, parse_extents
from mpiric.mapping.read import read_graph
from mpiric.model.batch import hosts_of
from mpiric.model.errors import MpiricError
from mpiric.model.mapping import MachineSlots, RankGraph
from mpiric.workflows.mapping.machine import HERE, MachineRequest

_LINES = {"rows": (1,), "columns": (0,), "rows,columns": (0, 1), "pencils": (0, 1)}
_MACHINE = ("machine", "network", "nodes", "slots", "hosts")


def _networks() -> list[str]:
    return [f"{kind}:" for kind in network_kinds()]


traffic_options = option_group(
    "Traffic, unless a RECORD is given",
    option(
        "--graph",
        "FILE",
        "File with the traffic as matrix or graph: .metis, .mtx, .npz, .npy, .txt or .csv.",
        shell_complete=complete_files,
    ),
    option("--grid", "AxBxC", "Regular pattern: extents of a grid of ranks, row-major."),
    option(
        "--stencil",
        "7|27|OFFSETS",
        "Neighbours of each rank on the grid: 7 or 27 points in three dimensions, 5 or 9 in two; or "
        "offsets with weights, such as '1,0:2;0,1'.",
    ),
    flag("--periodic", "Connect opposite sides of the grid."),
    choice(
        sorted(_LINES),
        "--lines",
        "All-to-all traffic along these lines of a two-dimensional grid; pencils is the same as "
        "rows,columns.",
    ),
)
machine_options = option_group(
    "Machine",
    option(
        "--machine",
        "FILE|here",
        "Description of the machine: YAML, Slurm's topology.conf or the output of `scontrol show "
        "topology`, XML of hwloc, or 'here' for nodes like this one.",
        multiple=True,
        shell_complete=complete_files,
    ),
    option(
        "--hierarchy",
        "4:8:8",
        "Regular machine: sizes of the groups, innermost first. 4:8:8 is 4 slots per group, 8 such "
        "groups in a larger one, and 8 of these.",
    ),
    option(
        "--node-level",
        "N",
        "Level of --hierarchy whose groups are the nodes; 1 is the innermost.",
        type=COUNT,
        default=1,
    ),
    option(
        "--network",
        "KIND:NxN",
        "Network: torus:8x8x4, fat-tree:NODESxLEAVESxPODS, dragonfly:NODESxROUTERSxGROUPS, "
        "dragonfly+:…; append :adaptive for adaptive routing.",
        shell_complete=one_of(_networks),
    ),
    option("--slots", "N", "Number of slots of every node."),
    option("--nodes", "8,8,4", "Slots of each node, if they differ. (Not the number of nodes.)"),
    option("--hosts", "n[1-4],A,…", "Names of the nodes, in the order in which the launcher fills them."),
    option(
        "--distances",
        "1:10:100",
        "Distance of two slots with each innermost common level, one number per level, innermost "
        "first; or by name: node=1,network=10.",
    ),
    option(
        "--fabric",
        "FILE",
        "Output of `mpiric fabric --json`, for measured distances; also predicts the change in seconds.",
        shell_complete=complete_files,
    ),
)


def traffic_graph(options: dict[str, Any]) -> RankGraph:
    """Return the traffic of a file or of a regular pattern."""
    if options["graph"] is not None:
        return read_graph(options["graph"])
    extents = parse_extents(options["grid"])
    if bool(options["stencil"]) == bool(options["lines"]):
        raise MpiricError(
            "--grid needs either --stencil or --lines", hint="add --stencil 7 or --lines rows,columns"
        )
    if options["lines"]:
        if len(extents) != 2:
            raise MpiricError("--lines needs a grid of two dimensions", hint="for example --grid 32x64")
        return lines_graph(extents, _LINES[options["lines"]])
    return grid_graph(extents, options["stencil"], periodic=options["periodic"])


def plain_machine(options: dict[str, Any], nodes: tuple[str, ...]) -> MachineSlots:
    """Return a machine with groups of one size on each level; unnamed nodes are node1, node2, …."""
    other = [name for name in ("machine", "network", "nodes", "slots", "fabric") if options[name]]
    if other:
        raise MpiricError(f"--hierarchy and --{other[0]} both describe the machine", hint="give one of them")
    fan_outs = parse_hierarchy(options["hierarchy"])
    default = ":".join(str(10**level) for level in range(len(fan_outs)))
    if options["node_level"] > max(len(fan_outs) - 1, 1):
        raise MpiricError(
            f"--node-level {options['node_level']} is not a level of --hierarchy", hint="use --node-level 1"
        )
    distances = parse_distances(options["distances"] or default, len(fan_outs))
    tree = uniform_tree(fan_outs, distances, options["node_level"] - 1)
    node_of = (tree.groups[tree.node_level]).tolist()
    count = node_of[-1] + 1
    names = hosts_of(options["hosts"]) if options["hosts"] else nodes if len(nodes) == count else ()
    names = names or tuple(f"node{i + 1}" for i in range(count))
    if len(names) != count or len(set(names)) != count:
        raise MpiricError(
            f"{len(set(names))} names for {count} nodes",
            hint="give --hosts one name for each node, for example n[1-4]",
        )
    return MachineSlots.plain(tree, tuple(names[node] for node in node_of))


def machine_request(options: dict[str, Any], *, needs_machine: bool) -> MachineRequest:
    """Return the description of a machine without --hierarchy."""
    if needs_machine and not any(options[name] for name in _MACHINE):
        raise MpiricError(
            "the machine is missing", hint="add --hierarchy 4:8:8 --distances 1:10:100, or --machine FILE"
        )
    if options["nodes"] and options["slots"]:
        raise MpiricError(
            "--nodes and --slots both set the number of slots of a node", hint="give one of them"
        )
    counts = (options["nodes"] or options["slots"]).split(",") if options["nodes"] or options["slots"] else []
    if not all(word.isdigit() and 0 < int(word) < 10**6 for word in counts):
        raise MpiricError(
            f"each number of slots must be between 1 and 999999, not {','.join(counts)!r}",
            hint="for example --nodes 8,8,4",
        )
    missing = [source for source in options["machine"] if source != HERE and not exists(source)]
    if missing:
        raise MpiricError(
            f"--machine: no such file: {missing[0]}", hint="name a file that describes the machine"
        )
    hosts = hosts_of(options["hosts"]) if options["hosts"] else ()
    if options["nodes"] and not hosts and not options["machine"] and not options["network"]:
        hosts = tuple(f"node{i + 1}" for i in range(len(counts)))
    return MachineRequest(
        sources=tuple(options["machine"]),
        network=options["network"],
        hosts=hosts,
        slots=tuple(int(word) for word in counts),
        distances=options["distances"],
        fabric=options["fabric"],
    )
