"""Fake launchers: Cray's ``aprun`` and HPE's PALS ``mpiexec``, which run only on machines of these vendors.

They read the options that their manuals document and bind ranks as described there, on one node:

* aprun(1) and "Run Applications Using the aprun Command" (HPE S-2496): ``-n -N -d -j -S -ss -cc -e -L -m``.
  ``-cc cpu`` binds each thread of a PE to a separate CPU, ``depth`` binds a PE to ``-d`` CPUs, ``numa_node``
  binds it to the CPUs of its NUMA node. A list has one part per PE, separated by colons; each thread of the
  PE takes one CPU of the part. ``-j 1`` uses only the first hardware thread of a core.
* mpiexec(1) of PALS and ALCF's user guides: ``-n --ppn --depth --cpu-bind``; ``list:`` has one set per rank.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mpiric.machine import read_topology
from mpiric.model.machine import Topology, parse_pu_list

Threads = tuple[frozenset[int], ...]  # hardware threads allowed to each thread of a rank

_VALUED = {
    "aprun": ("-n", "-N", "-d", "-j", "-S", "-cc", "-e", "-L", "-m", "-r"),
    "mpiexec": ("-n", "--ppn", "--depth", "-d", "--cpu-bind", "--mem-bind", "--hosts", "--env"),
}
_FLAGS = {"aprun": ("-ss", "-q"), "mpiexec": ("--no-vni", "-l")}
BANNERS = {
    "aprun": "aprun (ALPS) 6.6.67\n",
    "mpiexec": "mpiexec version 1.2.12 revision (PALS)\n",
}


@dataclass(frozen=True)
class Asked:
    """Parsed command line."""

    options: dict[str, str]
    program: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)

    def number(self, name: str, default: int) -> int:
        return int(self.options.get(name, default))


def read(name: str, argv: Sequence[str]) -> Asked:
    """Parse a command line; unknown options are errors, as with the real launcher."""
    options: dict[str, str] = {}
    environment: dict[str, str] = {}
    remaining = list(argv)
    while remaining and remaining[0].startswith("-"):
        word = remaining.pop(0)
        key, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if key in _VALUED[name]:
            value = value if equals else remaining.pop(0)
            if key in ("-e", "--env"):
                variable, _, text = value.partition("=")
                environment[variable] = text
            options[key] = value
        elif key not in _FLAGS[name]:
            raise SystemExit(f"{name}: unrecognized option {word!r}")
    return Asked(options, tuple(remaining), environment)


def aprun_places(request: Asked, topology: Topology) -> tuple[Threads, ...]:
    """Return the hardware threads of the PEs of one node."""
    per_node, depth = request.number("-N", request.number("-n", 1)), request.number("-d", 1)
    per_core = request.number("-j", 1)
    numa = [
        [pu for core in topology.cores if core.numa_node == node.index for pu in core.pus[:per_core]]
        for node in topology.numa_nodes
    ]
    pus_of_pe = _by_numa(numa, per_node, depth, request.number("-S", 0))
    binding = request.options.get("-cc", "cpu")
    if binding == "none":
        return ((frozenset(topology.pus),) * depth,) * per_node
    if binding == "cpu":
        return tuple(tuple(frozenset({pu}) for pu in pus) for pus in pus_of_pe)
    if binding == "depth":
        return tuple((frozenset(pus),) * depth for pus in pus_of_pe)
    if binding == "numa_node":
        return tuple((frozenset(next(n for n in numa if pus[0] in n)),) * depth for pus in pus_of_pe)
    parts = [[int(cpu) for cpu in _expanded(part)] for part in binding.split(":")]
    if len(parts) == 1:
        parts = [[cpu] for cpu in parts[0]]
    return tuple(
        tuple(frozenset({parts[pe % len(parts)][t % len(parts[pe % len(parts)])]}) for t in range(depth))
        for pe in range(per_node)
    )


def _by_numa(numa: list[list[int]], count: int, depth: int, per_numa_node: int) -> list[list[int]]:
    """Return the CPUs of each PE: ``-S`` PEs per NUMA node, else one NUMA node is filled after the other."""
    if not per_numa_node:
        cpus = [pu for node in numa for pu in node]
        return [cpus[pe * depth : (pe + 1) * depth] for pe in range(count)]
    return [
        numa[pe // per_numa_node][pe % per_numa_node * depth : (pe % per_numa_node + 1) * depth]
        for pe in range(min(count, per_numa_node * len(numa)))
    ]


def _expanded(text: str) -> list[int]:
    """Return the numbers of a list with ranges, in the written order."""
    numbers: list[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        numbers += range(int(low), int(high or low) + 1)
    return numbers


def pals_places(request: Asked, topology: Topology) -> tuple[Threads, ...]:
    """Return the hardware threads of the ranks of one node."""
    per_node = request.number("--ppn", request.number("-n", 1))
    depth = request.number("--depth", request.number("-d", 1))
    method, _, value = request.options.get("--cpu-bind", "core").partition(":")
    cores = topology.cores
    if method == "none":
        sets = [frozenset(topology.pus)] * per_node
    elif method == "list":
        parts = [frozenset(parse_pu_list(part)) for part in value.split(":")]
        sets = [parts[rank % len(parts)] for rank in range(per_node)]
    elif method == "depth":
        pus = [pu for core in cores for pu in core.pus]
        sets = [frozenset(pus[rank * depth : (rank + 1) * depth]) for rank in range(per_node)]
    elif method == "thread":
        pus = [pu for core in cores for pu in core.pus]
        sets = [frozenset({pus[rank]}) for rank in range(per_node)]
    elif method == "core":
        sets = [frozenset(cores[rank].pus) for rank in range(per_node)]
    else:
        raise SystemExit(f"mpiexec: invalid --cpu-bind {method!r}")
    return tuple((cpus,) * depth for cpus in sets)


STARTER = """
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* launcher VARIABLE LIST… -- PROGRAM…: a rank for each list of CPUs, bound to it; the worst status of all. */
int main(int argc, char **argv) {
    int at = 2, status, worst = 0;
    char **program = argv + argc;
    for (int i = 2; i < argc; ++i)
        if (!strcmp(argv[i], "--")) { program = argv + i + 1; break; }
    for (int rank = 0; argv + at < program - 1; ++at, ++rank) {
        if (fork()) continue;
        cpu_set_t set;
        char number[16];
        CPU_ZERO(&set);
        for (char *cpu = strtok(argv[at], ","); cpu; cpu = strtok(NULL, ",")) CPU_SET(atoi(cpu), &set);
        snprintf(number, sizeof number, "%d", rank);
        setenv(argv[1], number, 1);
        if (sched_setaffinity(0, sizeof set, &set)) { perror("sched_setaffinity"); _exit(127); }
        execvp(*program, program);
        perror(*program);
        _exit(127);
    }
    while (wait(&status) > 0) {
        int now = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        worst = now > worst ? now : worst;
    }
    return worst;
}
"""
_VARIABLES = {"aprun": "ALPS_APP_PE", "mpiexec": "PALS_RANKID"}
_PLACES = {"aprun": aprun_places, "mpiexec": pals_places}


def install(directory: Path, topology_xml: str) -> Path:
    """Install both launchers into ``directory/bin``, for a machine of this topology."""
    place = directory / "bin"
    (place / "starter").mkdir(parents=True)
    (place / "topology.xml").write_text(topology_xml)
    (place / "starter.c").write_text(STARTER)
    for name in BANNERS:
        argv = ["gcc", "-O1", "-o", str(place / "starter" / name), str(place / "starter.c")]
        subprocess.run(argv, check=True)
        root = str(Path(__file__).parents[2])
        script = (
            f"#!{sys.executable}\nimport sys\nsys.path[:0] = {json.dumps([root, *filter(None, sys.path)])}\n"
        )
        script += f"from tests.support.cray_launchers import main\nmain({str(place)!r}, {name!r})\n"
        (place / name).write_text(script)
        (place / name).chmod(0o755)
    return place


def main(place: str, name: str) -> None:
    """Replace this process by the starter, whose name is the launcher's."""
    if sys.argv[1:] == ["--version"]:
        print(BANNERS[name], end="")
        return
    request = read(name, sys.argv[1:])
    topology = read_topology(Path(place, "topology.xml").read_text())
    lists = [
        ",".join(str(pu) for pu in sorted(frozenset.union(*threads)))
        for threads in _PLACES[name](request, topology)
    ]
    starter = f"{place}/starter/{name}"
    os.execve(
        starter,
        [starter, _VARIABLES[name], *lists, "--", *request.program],
        {**os.environ, **request.environment},
    )
