"""Placement as text and picture: plan per NUMA node and core, and the verdict on running ranks."""

from collections.abc import Mapping, Sequence
from html import escape

from mpiric.model.amount import share
from mpiric.model.errors import Finding
from mpiric.model.machine import Core, pu_list
from mpiric.model.placement import Emission, Plan, ProcessSeen
from mpiric.model.quoting import sh_command, sh_with_variables

_CELLS_A_LINE = 24
_SHOWN_RANKS = 16
_BOX, _GAP, _LABEL, _A_ROW = 34, 4, 70, 16


def placement_text(plan: Plan, *, named: bool = False) -> str:
    """Return picture, table of ranks and notes of a node; ``named`` adds the names of the nodes."""
    threads = f"{plan.threads} thread{'s' if plan.threads > 1 else ''} each"
    of = f"{', '.join(plan.hosts)}: " if named else ""
    head = f"{of}{_ranks_of_nodes(plan)}, {threads}, policy {plan.policy}"
    notes = [f"  - {note}" for note in plan.notes]
    lines = []
    for number, seat in enumerate(plan.seats[:_SHOWN_RANKS]):
        gpu = f"  GPU {seat.gpu} ({plan.gpus[seat.gpu].name})" if seat.gpu >= 0 else ""
        network = f"  network {','.join(seat.adapters)}" if seat.adapters else ""
        where = f"NUMA {seat.numa:<3} hardware threads {pu_list(seat.pus)}"
        lines.append(f"  rank {number:<4} {where}{gpu}{network}")
    if plan.ranks_per_node > _SHOWN_RANKS:
        lines.append(f"  … and {plan.ranks_per_node - _SHOWN_RANKS} more")
    return "\n".join([head, "", *picture(plan), "", *lines, *([""] if notes else []), *notes])


def _ranks_of_nodes(plan: Plan) -> str:
    ranks = f"{plan.ranks_per_node} rank{'s' if plan.ranks_per_node > 1 else ''}"
    if plan.nodes == 1:
        return ranks
    last = plan.request.ranks - plan.ranks_per_node * (plan.nodes - 1)
    on_last = f" ({last} on the last)" if last < plan.ranks_per_node else ""
    return f"{ranks} on each of {plan.nodes} nodes{on_last}"


def picture(plan: Plan) -> list[str]:
    """Draw the cores; ``.`` is an idle core, ``x`` a core that must not be used."""
    # Core index → local rank that owns it, ``0/1`` for several.
    ranks: dict[int, list[str]] = {}
    for number, seat in enumerate(plan.seats):
        for core in seat.cores:
            ranks.setdefault(core.index, []).append(str(number))
    owner = {index: "/".join(numbers) for index, numbers in ranks.items()}
    width = max(2, *(len(text) for text in owner.values()))
    lines = []
    for node in plan.topology.numa_nodes:
        cores = [core for core in plan.topology.cores if core.numa_node == node.index]
        for start in range(0, len(cores), _CELLS_A_LINE):
            cells = " ".join(
                (
                    owner[core.index]
                    if core.index in owner
                    else ("." if set(core.pus) & set(plan.usable) else "x")
                ).rjust(width)
                for core in cores[start : start + _CELLS_A_LINE]
            )
            name = f"package {cores[0].package}  NUMA {node.index}" if start == 0 else ""
            lines.append(f"  {name:<22} {cells}")
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


def placement_svg(plan: Plan, title: str) -> str:
    """Draw one node as a self-contained SVG."""
    owner = {core.index: rank for rank, seat in enumerate(plan.seats) for core in seat.cores}
    drawn, y, right = list[str](), 40, 0
    for package in plan.topology.packages:
        drawn.append(_text(8, y + 14, f"package {package}", bold=True))
        y += 22
        for node in plan.topology.numa_nodes:
            cores = [c for c in plan.topology.cores if c.package == package and c.numa_node == node.index]
            for start in range(0, len(cores), _A_ROW):
                if start == 0:
                    drawn.append(_text(8, y + 22, f"NUMA {node.index}"))
                for place, core in enumerate(cores[start : start + _A_ROW]):
                    x = _LABEL + place * (_BOX + _GAP)
                    drawn.append(_core(plan, core, owner.get(core.index), x, y))
                    right = max(right, x + _BOX)
                y += _BOX + _GAP
        y += 10
    head = f"{title}: {plan.ranks_per_node} ranks × {plan.threads} threads per node, policy {plan.policy}"
    width = max(right + 10, 8 + 8 * len(head))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 10}" '
        f'font-family="sans-serif" font-size="12">\n<title>{escape(head)}</title>\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{_text(8, 20, head, bold=True)}\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


def _core(plan: Plan, core: Core, rank: int | None, x: int, y: int) -> str:
    usable = bool(set(core.pus) & set(plan.usable))
    # The golden angle gives neighbours different colours.
    fill = f"hsl({rank * 137.5 % 360:.0f},65%,75%)" if rank is not None else "#eee" if usable else "#bbb"
    label = str(rank) if rank is not None else "" if usable else "×"
    use = f"rank {rank}" if rank is not None else "idle" if usable else "not usable"
    tip = escape(f"core {core.index}, hardware threads {pu_list(core.pus)}: {use}")
    return (
        f'<g><title>{tip}</title><rect x="{x}" y="{y}" width="{_BOX}" height="{_BOX}" rx="4" '
        f'fill="{fill}" stroke="#666"/>'
        f'<text x="{x + _BOX // 2}" y="{y + 22}" text-anchor="middle">{label}</text></g>'
    )


def _text(x: int, y: int, text: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}"{weight}>{escape(text)}</text>'


def verdict_text(processes: Sequence[ProcessSeen], findings: Sequence[Finding]) -> str:
    """Return a line per rank under its job, its threads where they differ, then the findings."""
    lines: list[str] = []
    job = None
    for process in processes:
        if process.job != job:
            job = process.job
            lines.append(f"{job or 'process'}: {process.program.rsplit('/', 1)[-1]}")
        label = f"rank {process.rank}" if process.rank is not None else "process"
        lines.append(
            f"  {label:<9} pid {process.pid:<8} hardware threads {pu_list(process.cpus_allowed):<14} "
            f"{len(process.threads)} thread{'s' if len(process.threads) > 1 else ''}{_memory(process)}"
        )
        lines += [
            f"    thread {thread.thread} ({thread.name}) on {pu_list(thread.cpus_allowed)}, "
            f"{thread.cpu_s:.2f} s"
            for thread in process.threads
            if thread.cpus_allowed != process.cpus_allowed
        ]
    if not findings:
        lines.append(
            "the placement has no faults"
            if processes
            else "no MPI job that you may inspect runs on this node"
        )
    for finding in findings:
        lines += [f"! {finding.says}", f"    {finding.evidence}", f"    fix: {finding.fix}"]
    return "\n".join(lines)


def _memory(process: ProcessSeen) -> str:
    total = sum(process.memory_pages.values())
    if not total or len(process.memory_pages) < 2:
        return ""
    shares = ", ".join(
        f"{node}: {share(pages / total)}" for node, pages in sorted(process.memory_pages.items())
    )
    return f"  memory on NUMA {shares}"
