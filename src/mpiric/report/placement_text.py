"""Placement plan as text: a line per NUMA node, a cell per core with the rank that owns it."""

from collections.abc import Mapping

from mpiric.model.machine import Core
from mpiric.model.placement import Emission, Plan
from mpiric.model.pu_set import pu_list
from mpiric.model.quoting import sh_command, sh_with_variables

_CELLS_A_LINE = 24
_SHOWN_RANKS = 16


def placement_text(plan: Plan, *, named: bool = False) -> str:
    """Return picture, table of ranks and notes of a node; ``named`` adds the names of the nodes."""
    threads = f"{plan.threads} thread{'s' if plan.threads > 1 else ''} each"
    of = f"{', '.join(plan.hosts)}: " if named else ""
    head = f"{of}{_ranks_of_nodes(plan)}, {threads}, policy {plan.policy}"
    notes = [f"  - {note}" for note in plan.notes]
    return "\n".join([head, "", *picture(plan), "", *_ranks(plan), *([""] if notes else []), *notes])


def _ranks_of_nodes(plan: Plan) -> str:
    ranks = f"{plan.ranks_per_node} rank{'s' if plan.ranks_per_node > 1 else ''}"
    if plan.nodes == 1:
        return ranks
    last = plan.request.ranks - plan.ranks_per_node * (plan.nodes - 1)
    on_last = f" ({last} on the last)" if last < plan.ranks_per_node else ""
    return f"{ranks} on each of {plan.nodes} nodes{on_last}"


def picture(plan: Plan) -> list[str]:
    """Draw the cores; ``.`` is an idle core, ``x`` a core that must not be used."""
    owner = owners(plan)
    width = max(2, *(len(text) for text in owner.values()))
    lines = []
    for node in plan.topology.numa_nodes:
        cores = [core for core in plan.topology.cores if core.numa_node == node.index]
        for start in range(0, len(cores), _CELLS_A_LINE):
            cells = " ".join(
                _cell(plan, core, owner).rjust(width) for core in cores[start : start + _CELLS_A_LINE]
            )
            name = f"package {cores[0].package}  NUMA {node.index}" if start == 0 else ""
            lines.append(f"  {name:<22} {cells}")
    return lines


def owners(plan: Plan) -> Mapping[int, str]:
    """Return core index → local rank that owns it, ``0/1`` for several."""
    ranks: dict[int, list[str]] = {}
    for number, seat in enumerate(plan.seats):
        for core in seat.cores:
            ranks.setdefault(core.index, []).append(str(number))
    return {index: "/".join(numbers) for index, numbers in ranks.items()}


def _cell(plan: Plan, core: Core, owner: Mapping[int, str]) -> str:
    if core.index in owner:
        return owner[core.index]
    return "." if set(core.pus) & set(plan.usable) else "x"


def _ranks(plan: Plan) -> list[str]:
    lines = []
    for number, seat in enumerate(plan.seats[:_SHOWN_RANKS]):
        gpu = f"  GPU {seat.gpu} ({plan.gpus[seat.gpu].name})" if seat.gpu >= 0 else ""
        lines.append(f"  rank {number:<4} NUMA {seat.numa:<3} hardware threads {pu_list(seat.pus)}{gpu}")
    if plan.ranks_per_node > _SHOWN_RANKS:
        lines.append(f"  … and {plan.ranks_per_node - _SHOWN_RANKS} more")
    return lines


def launchers_text(launchers: Mapping[str, Emission]) -> str:
    """List the command line of each launcher with its variables, and the files that belong to it."""
    lines = []
    for name, emission in launchers.items():
        lines += [f"{name}:", f"  {_assigned(emission.env)} {sh_command(emission.argv)}".rstrip()]
        lines += [f"  with the file {file} (--write DIR)" for file in emission.files]
        lines += [f"  {emission.note}"] if emission.note else []
    return "\n".join(lines)


def runtimes_text(runtimes: Mapping[str, Mapping[str, str]]) -> str:
    """List the variables of OpenMP runtimes that ignore the standard ones; "" if ranks have one thread."""
    lines = [f"  {name}: {_assigned(variables)}" for name, variables in runtimes.items()]
    return "\n".join(["programs that ignore OMP_PLACES, by their OpenMP runtime:", *lines]) if lines else ""


def _assigned(variables: Mapping[str, str]) -> str:
    return sh_with_variables(variables.items(), "")
