"""Placement plan as SVG: a row of boxes per NUMA node of each package, coloured by rank."""

from html import escape

from mpiric.model.machine import Core
from mpiric.model.placement import Plan
from mpiric.model.pu_set import pu_list

_BOX, _GAP, _LABEL, _A_ROW = 34, 4, 70, 16


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
