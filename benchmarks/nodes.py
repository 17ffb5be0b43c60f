"""Error rates of the rule for slow nodes on simulated measurements and records: no real program runs.

Measurements of `mpiric nodes`: false alarms on equal nodes, and detection of a node that is slower in one
quantity. Records of `mpiric profile`: false alarms, detection by each kind of evidence, and uneven work,
which must never be called a slow node.
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import exp
from random import Random
from typing import Any

from tests.support.records import cell, rank, record

from benchmarks._kept_rows import KeptRows, Row, offer_parts
from benchmarks._report import Result, options, run, tell
from benchmarks._statistics import upper_bound
from mpiric.fabric.nodes import NodeSpeed, judge_nodes
from mpiric.profile.analyse import analyse

_GOAL_FALSE, _GOAL_FOUND = 0.01, 0.95
_QUANTITIES = ("arithmetic", "slowest core", "memory bandwidth", "latency", "bandwidth")
_PASSES = 8
_RANKS_PER_NODE = 8

# Noise of a pass, as a difference of logarithms.
_NOISES: Mapping[str, Callable[[Random], float]] = {
    "normal 1 %": lambda random: random.gauss(0, 0.01),
    "normal 2 %": lambda random: random.gauss(0, 0.02),
    "pauses in a tenth of the passes": lambda random: (
        random.gauss(0, 0.01) + (random.expovariate(20) if random.random() < 0.1 else 0.0)
    ),
    "heavy tails": lambda random: 0.01 * random.gauss(0, 1) / max(0.1, abs(random.gauss(0, 1))) ** 0.5,
}

COLUMNS = {
    "what": "what",
    "noise": "noise",
    "nodes": "nodes",
    "runs": "runs",
    "named": "slow node named",
    "open": "slow node or uneven work",
    "upper95": "share named, at most (95 %)",
}


def main() -> int:
    """Simulate measurements, then records; print and save the table."""
    parser = options("nodes", "Error rates of the rule for slow nodes on simulated measurements.")
    parser.add_argument("--runs", type=int, help="runs of each kind (default 300, quick 20)")
    offer_parts(parser)
    return run("nodes", parser.parse_args(), measure)


def measure(arguments: Namespace) -> Result:
    """Everything, one kind of noise after the other."""
    runs, table = arguments.runs or (20 if arguments.quick else 300), KeptRows("nodes", arguments)
    for noise in _NOISES:
        for nodes in (3, 4, 16, 64, 256):
            table.add(f"{noise} {nodes}", partial(_measurements, noise, nodes, runs))
    for what in _RECORDS:
        for nodes in (2, 4, 16, *((64, 256) if "fixed" in what else ())):
            table.add(f"{what} {nodes}", partial(_records, what, nodes, runs))
    return Result(COLUMNS, table.rows, summary_of(table.rows) + table.remark)


def _measurements(noise: str, nodes: int, runs: int) -> Iterator[Row]:
    """Yield a row for each slowdown of one of the nodes."""
    some = runs if nodes < 256 else max(1, runs // 5)
    for slower in (0.0, 0.05, 0.1, 0.2):
        named = [_measured(Random(f"{noise} {nodes} {seed}"), noise, nodes, slower) for seed in range(some)]
        what = f"measured, {slower:.0%} slower" if slower else "measured, equal nodes"
        yield _row(what, noise, nodes, named, [False] * some)
    tell(f"measurements, {noise}, {nodes} nodes")


def _records(what: str, nodes: int, runs: int) -> Iterator[Row]:
    """Yield the row of a kind of record."""
    some = runs if nodes < 64 else max(1, runs // 10)
    make = _RECORDS[what]
    verdicts = [_recorded(make(Random(f"{what} {nodes} {seed}"), nodes)) for seed in range(some)]
    tell(f"records, {what}, {nodes} nodes")
    named = [verdict == "slow" for verdict in verdicts]
    yield _row(f"record, {what}", "normal 1 %", nodes, named, [verdict == "open" for verdict in verdicts])


def _row(what: str, noise: str, nodes: int, named: list[bool], unsure: list[bool]) -> dict[str, Any]:
    return {
        "what": what,
        "noise": noise,
        "nodes": nodes,
        "runs": len(named),
        "named": sum(named),
        "open": sum(unsure),
        "upper95": round(upper_bound(sum(named), len(named)), 4),
    }


def _measured(random: Random, noise: str, nodes: int, slower: float) -> bool:
    """Return whether a node is named: the slow one if there is one, else any."""
    draw, quantity = _NOISES[noise], random.choice(_QUANTITIES)
    speeds = []
    for number in range(nodes):
        values = {}
        for name in _QUANTITIES:
            sign = 1 if name == "latency" else -1
            chip = random.gauss(0, 0.005)  # chips differ
            factor = 1 + slower if number == 0 and name == quantity else 1.0
            values[name] = tuple(100.0 * (factor * exp(chip + draw(random))) ** sign for _ in range(_PASSES))
        speeds.append(NodeSpeed(f"n{number}", "one kind", values, {}, {}, 0.0))
    outliers = judge_nodes(speeds, {}).outliers
    return any(not slower or (entry.host, entry.quantity) == ("n0", quantity) for entry in outliers)


def _recorded(ranks: list[Any]) -> str:
    """Return the verdict on a record: "slow", "open" or ""."""
    numbers = analyse(record(*ranks)).numbers
    if any(numbers[f"slow_node_{name}"] for name in ("same_instructions", "loses_cpu", "slow_cores")):
        return "slow"
    return "open" if numbers["slow_node_or_work"] else ""


def _ranks(
    random: Random,
    work: list[float],
    *,
    slowdown: float = 0.0,
    loses_cpu: bool = False,
    counters: bool = False,
    reference: bool = False,
    more_bytes: bool = False,
) -> list[Any]:
    """Return ranks with this work, and slow down the ranks of node 0; ranks wait while others work."""
    on_first = [number < _RANKS_PER_NODE for number in range(len(work))]
    times = [
        10 * part * (1 + slowdown * first) * exp(random.gauss(0, 0.01))
        for part, first in zip(work, on_first, strict=True)
    ]
    wall_s = max(times) + 0.5
    chips = [random.gauss(0, 0.005) for _ in range(len(work) // _RANKS_PER_NODE)]
    ranks = []
    for number, time_s in enumerate(times):
        lost_s = time_s * slowdown / (1 + slowdown) if loses_cpu and on_first[number] else 0.0
        bytes_ = int(1e6 * (work[number] if more_bytes else 1))
        facts = {
            "host": f"n{number // _RANKS_PER_NODE}",
            "affinity": str(number % _RANKS_PER_NODE),
            "time.user_us": str(int(1e6 * (wall_s - lost_s))),
            "switches.involuntary": str(int(10 * lost_s * 10 + random.random() * 10)),
        }
        if counters:
            facts["counter.instructions"] = str(int(1e10 * work[number] * exp(random.gauss(0, 0.002))))
        if reference:  # the runtime's fixed computation, on chips that differ
            slower = exp(chips[number // _RANKS_PER_NODE]) * (1 + slowdown * on_first[number])
            for name in ("reference.begin_ns", "reference.end_ns"):
                facts[name] = str(int(250_000 * slower * exp(abs(random.gauss(0, 0.01)))))
        calls = cell("MPI_Allreduce", 1000, bytes_, wall_s - time_s, size_bin=10)
        ranks.append(rank(number, wall_s, calls, facts=facts))
    return ranks


def _even(nodes: int) -> list[float]:
    return [1.0] * (nodes * _RANKS_PER_NODE)


def _random_work(random: Random, nodes: int) -> list[Any]:
    return _ranks(random, [exp(random.gauss(0, 0.15)) for _ in _even(nodes)])


def _one_busy_rank(random: Random, nodes: int) -> list[Any]:
    work = _even(nodes)
    work[random.randrange(len(work))] *= 1.1 + random.random()
    return _ranks(random, work)


def _gradient(random: Random, nodes: int) -> list[Any]:
    steepness = 0.1 + random.random()
    return _ranks(
        random, [1 + steepness * number / (nodes * _RANKS_PER_NODE) for number, _ in enumerate(_even(nodes))]
    )


def _dense_corner(random: Random, nodes: int) -> list[Any]:
    """More work for the first ranks, in numbers that have nothing to do with nodes."""
    count = random.randrange(1, nodes * _RANKS_PER_NODE // 2)
    return _ranks(random, [1.1 + random.random() if n < count else 1.0 for n, _ in enumerate(_even(nodes))])


def _node_with_more(random: Random, nodes: int) -> list[float]:
    more = 1.1 + random.random()
    return [more if number < _RANKS_PER_NODE else 1.0 for number, _ in enumerate(_even(nodes))]


_RECORDS: Mapping[str, Callable[[Random, int], list[Any]]] = {
    "equal nodes": lambda random, nodes: _ranks(random, _even(nodes)),
    "equal nodes, counters": lambda random, nodes: _ranks(random, _even(nodes), counters=True),
    "10 % slower, counters": lambda random, nodes: _ranks(random, _even(nodes), slowdown=0.1, counters=True),
    "10 % slower, CPU lost": lambda random, nodes: _ranks(random, _even(nodes), slowdown=0.1, loses_cpu=True),
    "20 % slower, CPU lost": lambda random, nodes: _ranks(random, _even(nodes), slowdown=0.2, loses_cpu=True),
    "10 % slower, fixed computation": lambda random, nodes: _ranks(
        random, _even(nodes), slowdown=0.1, reference=True
    ),
    "20 % slower, fixed computation": lambda random, nodes: _ranks(
        random, _even(nodes), slowdown=0.2, reference=True
    ),
    "equal nodes, fixed computation": lambda random, nodes: _ranks(random, _even(nodes), reference=True),
    "10 % slower, no evidence": lambda random, nodes: _ranks(random, _even(nodes), slowdown=0.1),
    "uneven: random": _random_work,
    "uneven: one busy rank": _one_busy_rank,
    "uneven: gradient": _gradient,
    "uneven: dense corner": _dense_corner,
    "uneven: node with more bytes": lambda random, nodes: _ranks(
        random, _node_with_more(random, nodes), more_bytes=True
    ),
    "uneven: node with more work, counters": lambda random, nodes: _ranks(
        random, _node_with_more(random, nodes), counters=True
    ),
    "uneven: node with more work, fixed computation": lambda random, nodes: _ranks(
        random, _node_with_more(random, nodes), reference=True
    ),
    "uneven: random, fixed computation": lambda random, nodes: _ranks(
        random, [exp(random.gauss(0, 0.15)) for _ in _even(nodes)], reference=True
    ),
    "uneven: node with more work, no counters": lambda random, nodes: _ranks(
        random, _node_with_more(random, nodes)
    ),
}


def summary_of(rows: list[dict[str, Any]]) -> str:
    """Return the rates of false alarms and of detection from 10 % on, and the count of wrong names."""

    def rate(selected: list[dict[str, Any]]) -> float:
        return sum(row["named"] for row in selected) / max(1, sum(row["runs"] for row in selected))

    equal = [row for row in rows if "equal" in row["what"]]
    slow = [
        row
        for row in rows
        if row["what"].startswith(("measured, 10", "measured, 20", "record, 10", "record, 20"))
        and "no evidence" not in row["what"]
    ]
    uneven = [row for row in rows if "uneven" in row["what"]]
    worst = min(slow, key=lambda row: row["named"] / row["runs"], default={"named": 0, "runs": 1})
    return (
        f"equal nodes: {rate(equal):.2%} false alarms (goal at most {_GOAL_FALSE:.0%}); slower by 10 % or "
        f"more: {rate(slow):.1%} named (goal at least {_GOAL_FOUND:.0%}), in the worst row "
        f"{worst['named'] / worst['runs']:.0%}; uneven work called a slow node: "
        f"{sum(row['named'] for row in uneven)} of {sum(row['runs'] for row in uneven)}"
    )


if __name__ == "__main__":
    sys.exit(main())
