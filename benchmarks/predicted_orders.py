"""Compare the predicted times of rank orders with times that SimGrid's SMPI simulates.

Networks are SimGrid's models of a fat tree, a torus and a dragonfly, with their routing. The costs for the
prediction are measured in the simulation, as `mpiric fabric` measures them on a machine: one message on a
node and between two, a small one for the latency and one of the pattern's size for the bandwidth. Needs
Debian's libsimgrid-dev (`smpicc`, `smpirun`).
"""

import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._kept_rows import KeptRows, offer_parts
from benchmarks._report import Result, options, run, tell
from mpiric.host.facts.local import LocalHost
from mpiric.mapping.machine_tree import assemble
from mpiric.mapping.networks import parse_network
from mpiric.mapping.objectives import predicted_time
from mpiric.mapping.patterns import grid_graph, lines_graph
from mpiric.model.errors import NotFoundError, ProgramFailedError
from mpiric.model.mapping import LevelCost, MachineSlots, MachineSpec, Numbers, RankGraph
from mpiric.workflows.mapping.map import MapRequest, map_ranks

COLUMNS = {
    "network": "network",
    "ranks": "ranks",
    "pattern": "pattern",
    "order": "order",
    "predicted_us": "predicted µs",
    "simulated_us": "simulated µs",
    "ratio": "predicted ÷ simulated",
    "busiest": "busiest, as predicted",
}
_BANDWIDTH_MB_S, _LATENCY_US = 1250.0, 0.5  # each link: 10 Gbit/s
_LOOPBACK_MB_S, _LOOPBACK_US = 6000.0, 0.3
_LARGE = 1 << 20
_TIMES = 2
_SETTINGS = (
    "--cfg=smpi/simulate-computation:no",
    "--cfg=smpi/privatization:no",
    "--cfg=surf/precision:1e-9",
    "--cfg=network/crosstraffic:no",
    "--log=root.thres:error",
)
_LIMIT_S = 250  # time limit of one simulation
_EQUAL = 0.05  # relative difference of simulated times below which orders count as equal
GOAL = 0.2


@dataclass(frozen=True)
class _Network:
    """A network as described to mpiric and to SimGrid, which numbers hosts differently."""

    described: str
    topology: str
    parameters: str
    nodes: int
    host: Callable[[Numbers], Numbers] = lambda node: node
    nics: int = 1


def _torus_host(node: Numbers) -> Numbers:
    """Return SimGrid's number of a host: its first dimension, used first by the routing, varies fastest."""
    x, y, z = node // 25, node // 5 % 5, node % 5
    return x + 5 * y + 25 * z


def _dragonfly_host(node: Numbers) -> Numbers:
    """Return SimGrid's number of a host: the router with a group's number links to this group."""
    groups, routers = 5, 8
    group, router = node // 2 // routers, node // 2 % routers
    ports = groups - 1
    without = np.where(router == ports, group, router)  # routers with no link to another group
    far_group = np.where(router < ports, (router + group + 1) % groups, without)
    return (group * routers + far_group) * 2 + node % 2


# An odd torus: an even one has two equally short ways, and the simulators choose different ones. Nodes of a
# torus send into all their links at once, so each link counts as a way into the network.
_NETWORKS = (
    _Network("fat-tree:8x8", "FAT_TREE", "2;8,8;1,8;1,1", 64),
    _Network("torus:5x5x5", "TORUS", "5,5,5", 125, _torus_host, nics=6),
    _Network("dragonfly:2x8x5", "DRAGONFLY", "5,4;1,1;8,1;2", 80, _dragonfly_host),
)


class Simulator:
    """Simulation of one network with SimGrid's SMPI."""

    def __init__(self, network: _Network, directory: Path, program: Path) -> None:
        self._directory, self._program = directory, program
        self._platform = directory / f"{network.topology}.xml"
        self._platform.write_text(_platform(network))

    def exchange_s(self, messages: Sequence[tuple[int, int, int]], hosts: Sequence[int]) -> float:
        """Return the time of an exchange among ranks on these nodes, without the barriers around it."""
        return self._seconds(messages, hosts) - self._seconds([], hosts)

    def _seconds(self, messages: Sequence[tuple[int, int, int]], hosts: Sequence[int]) -> float:
        traffic, placed = self._directory / "traffic", self._directory / "hosts"
        traffic.write_text("".join(f"{source} {target} {size}\n" for source, target, size in messages))
        placed.write_text("".join(f"n{host}\n" for host in hosts))
        command = ["smpirun", "-n", str(len(hosts)), "-platform", self._platform, "-hostfile", placed]
        command += [*_SETTINGS, self._program, traffic, str(_TIMES)]
        try:
            done = subprocess.run([str(w) for w in command], capture_output=True, text=True, timeout=_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise ProgramFailedError(f"smpirun took longer than {_LIMIT_S} s") from None
        if done.returncode:
            raise ProgramFailedError(f"smpirun: {done.stderr[-300:]}")
        return float(done.stdout.split()[-1])

    def cost(self, hosts: tuple[int, int], size: int) -> LevelCost:
        """Return the latency between two ranks, and their bandwidth for messages of a size."""
        small, large = (self.exchange_s([(0, 1, message)], hosts) for message in (1, size))
        return LevelCost(small * 1e6, size / (large - small) / 1e6)

    def machine(self, network: _Network, per_node: int, size: int) -> MachineSlots:
        """Return the machine with a number of slots per node, and its costs of messages of a size."""
        costs = {"node": self.cost((0, 0), size), "network": self.cost((0, 1), size)}
        described = parse_network(network.described)
        return assemble(MachineSpec(slots=(per_node,), network=described, costs=costs, nics=network.nics))


def _platform(network: _Network) -> str:
    return f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-{network.nodes - 1}" speed="1Gf"
    bw="{_BANDWIDTH_MB_S}MBps" lat="{_LATENCY_US}us" sharing_policy="SPLITDUPLEX"
    loopback_bw="{_LOOPBACK_MB_S}MBps" loopback_lat="{_LOOPBACK_US}us"
    topology="{network.topology}" topo_parameters="{network.parameters}"/>
</platform>
"""


def patterns(ranks: int) -> Iterator[tuple[str, int, RankGraph]]:
    """Yield three-dimensional halos and the transpositions of an FFT: name, bytes of a message, traffic."""
    extents = _factors(ranks, 3)
    for size in (_LARGE, 16_384):
        stencil = ";".join(f"{','.join('1' if i == d else '0' for i in range(3))}:{size}" for d in range(3))
        yield f"halo, {size >> 10} KiB", size, grid_graph(extents, stencil, periodic=True)
    rows, columns = _factors(ranks, 2)
    graph = lines_graph((rows, columns), (0, 1))
    size = _LARGE // 8
    yield "pencils, 128 KiB", size, replace(graph, weights=np.full(len(graph.weights), float(size)))


def _factors(count: int, dimensions: int) -> tuple[int, ...]:
    """Return the most even factors, largest first."""
    factors, quotient = [], count
    for remaining in range(dimensions, 0, -1):
        ideal = quotient ** (1 / remaining)
        best = min((f for f in range(1, quotient + 1) if quotient % f == 0), key=lambda f: abs(f - ideal))
        factors.append(best)
        quotient //= best
    return tuple(sorted(factors, reverse=True))


def orders(graph: RankGraph, machine: MachineSlots) -> Iterator[tuple[str, Numbers]]:
    """Return the launchers' orders, a random one, and the answer of the mapping engine."""
    ranks, nodes = graph.size, int(machine.tree.nodes[-1]) + 1
    yield "SMP", np.arange(ranks)
    yield "round robin", np.arange(ranks) % nodes * (ranks // nodes) + np.arange(ranks) // nodes
    yield "random", np.random.default_rng(1).permutation(ranks)
    yield "mpiric", map_ranks(MapRequest(graph, machine, preset="fast"), LocalHost()).slots


def _row(
    simulator: Simulator, network: _Network, graph: RankGraph, machine: MachineSlots, slots: Numbers
) -> Mapping[str, Any]:
    at = machine.network_nodes
    assert at is not None
    hosts = network.host(at[machine.tree.nodes[slots]]).tolist()
    ends = zip(graph.sources.tolist(), graph.targets.tolist(), graph.weights.tolist(), strict=True)
    simulated = simulator.exchange_s([(a, b, round(size)) for a, b, size in ends], hosts)
    predicted = predicted_time(graph, machine, slots)
    return {
        "predicted_us": round(predicted.seconds * 1e6, 1),
        "simulated_us": round(simulated * 1e6, 1),
        "ratio": round(predicted.seconds / simulated, 3),
        "busiest": predicted.busiest,
    }


def agreement(rows: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Return how many pairs of differing orders both times rank alike, and the number of pairs."""
    same = differing = 0
    for one, other in combinations(rows, 2):
        if any(one[key] != other[key] for key in ("network", "ranks", "pattern")):
            continue
        times = one["simulated_us"], other["simulated_us"]
        if abs(times[0] - times[1]) <= _EQUAL * min(times):
            continue
        differing += 1
        same += (one["predicted_us"] < other["predicted_us"]) == (times[0] < times[1])
    return same, differing


def _rows(
    simulator: Simulator, network: _Network, per_node: int, pattern: str, size: int, graph: RankGraph
) -> list[dict[str, Any]]:
    """Measure every order of a pattern on a network."""
    tell(f"{network.described}, {graph.size} ranks, {pattern} …")
    machine = simulator.machine(network, per_node, size)
    head = {"network": network.described, "ranks": graph.size, "pattern": pattern}
    return [
        {**head, "order": order, **_row(simulator, network, graph, machine, slots)}
        for order, slots in orders(graph, machine)
    ]


def work(arguments: Namespace) -> Result:
    """Measure every network, pattern and order."""
    if not shutil.which("smpicc") or not shutil.which("smpirun"):
        raise NotFoundError("SimGrid's smpicc is not installed", hint="apt-get install libsimgrid-dev")
    table = KeptRows("predicted_orders", arguments)
    with tempfile.TemporaryDirectory(prefix="mpiric-orders-") as name:
        directory = Path(name)
        program = directory / "exchange"
        source = Path(__file__).with_name("_exchange.c")
        subprocess.run(["smpicc", "-O2", source, "-o", program], check=True, capture_output=True)
        for network in _NETWORKS[:1] if arguments.quick else _NETWORKS:
            if arguments.only and not any(word in network.described for word in arguments.only):
                continue
            simulator = Simulator(network, directory, program)
            for per_node in arguments.slots or ((4,) if arguments.quick else (4, 8)):
                for pattern, size, graph in patterns(network.nodes * per_node):
                    part = f"{network.described}, {graph.size} ranks, {pattern}"
                    table.add(part, partial(_rows, simulator, network, per_node, pattern, size, graph))
    within = sum(abs(row["ratio"] - 1) <= GOAL for row in table.rows)
    same, differing = agreement(table.rows)
    return Result(
        COLUMNS,
        table.rows,
        f"{within} of {len(table.rows)} predicted times are within {GOAL:.0%}; of {differing} pairs of "
        f"orders that differ by more than {_EQUAL:.0%}, {same} are predicted in their order.{table.remark}",
    )


def main() -> int:
    """Parse the options, simulate, compare, print and save the table."""
    parser = options("predicted_orders", (__doc__ or "").splitlines()[0])
    parser.add_argument("--slots", type=int, action="append", help="ranks per node (default 4 and 8)")
    parser.add_argument("--only", action="append", help="only networks whose name contains this")
    offer_parts(parser)
    return run("predicted_orders", parser.parse_args(), work)


if __name__ == "__main__":
    sys.exit(main())
