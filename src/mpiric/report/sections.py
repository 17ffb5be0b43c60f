"""Sections of the report on a record, each with a template in `templates/profile/`.

A section is a title and a function that returns the values of its template.
"""

from collections.abc import Callable, Mapping
from typing import Any

from mpiric.model.amount import share, size
from mpiric.model.profile import SHORT_S, Profile
from mpiric.report._pages import count, effects_in_words, expectation, on_huge_pages
from mpiric.report.rank_order_pictures import order_pictures
from mpiric.report.rank_order_text import mapped_text
from mpiric.report.rank_sections import placement_view, ranks_view, timeline_view, traffic_view

_MEANING = {
    "parallel": "mean useful time of a rank over the run time: load balance × communication",
    "load_balance": "mean over longest useful time: is the work evenly spread?",
    "communication": "longest useful time over the run time: serialisation × transfer",
    "serialisation": "share of time not lost by waiting for other ranks",
    "transfer": "share of time not lost by data transfer",
}
# Numbers of rows; report.json has all of them.
_MOST_COMMUNICATORS, _MOST_FILES, _MOST_SITES = 100, 50, 40
_MOST_REGION_BARS = 512


def _overview(profile: Profile) -> dict[str, Any]:
    """Return the efficiencies with their meaning."""
    return {
        "efficiencies": [
            (name.replace("_", " "), getattr(profile.efficiencies, name), meaning)
            for name, meaning in _MEANING.items()
        ]
    }


def _advice(profile: Profile) -> dict[str, Any]:
    """Return each advice with the wording of its expected gain and its causes."""
    effects = effects_in_words(profile.advice)
    return {"advice": [(item, expectation(item), effects.get(item.finding.id)) for item in profile.advice]}


def _functions(profile: Profile) -> dict[str, Any]:
    """Return every function with its share of the time of all ranks, which excludes start-up."""
    total_s = sum(rank.time_s for rank in profile.ranks)
    outside = ("MPI_Init", "MPI_Init_thread", "MPI_Session_init", "MPI_Finalize", "MPI_Session_finalize")
    return {
        "rows": [
            (use, use.time_s / total_s if total_s and use.name not in outside else None)
            for use in profile.functions
        ]
    }


def _sizes(profile: Profile) -> dict[str, Any]:
    """Return rows for the table and columns for the chart."""
    labels = [f"{size(use.low_bytes)} – {size(use.high_bytes + 1)}" for use in profile.sizes]
    total_s = sum(use.time_s for use in profile.sizes)
    return {
        "rows": [
            (label, use, use.time_s / total_s if total_s else 0.0)
            for label, use in zip(labels, profile.sizes, strict=True)
        ],
        "chart": {
            "labels": labels,
            "calls": [use.calls for use in profile.sizes],
            "bytes": [use.bytes for use in profile.sizes],
            "time_s": [use.time_s for use in profile.sizes],
        },
    }


def _communicators(profile: Profile) -> dict[str, Any]:
    """Return the most expensive communicators and collectives."""
    return {
        "communicators": [(use, _listed(use.ranks)) for use in profile.communicators[:_MOST_COMMUNICATORS]],
        "collectives": profile.collectives[:_MOST_COMMUNICATORS],
        "left_out": sum(
            max(0, len(rows) - _MOST_COMMUNICATORS) for rows in (profile.communicators, profile.collectives)
        ),
    }


def _listed(ranks: tuple[int, ...]) -> str:
    """Format ranks as ``0–3, 8``, at most six ranges."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and runs[-1][1] == rank - 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    ranges = [str(first) if first == last else f"{first}–{last}" for first, last in runs]
    return ", ".join(ranges[:6]) + (", …" if len(ranges) > 6 else "")


def _order(profile: Profile) -> dict[str, Any]:
    """Return text and pictures of the order; both empty if no order was searched for."""
    if profile.order is None:
        return {"text": "", "pictures": ()}
    order = profile.order
    return {
        "text": mapped_text(order.mapped),
        "pictures": order_pictures(order.mapped, order.graph, order.machine),
    }


def _regions(profile: Profile) -> dict[str, Any]:
    """Return rows for the table, and the time per rank and region (a sample of many ranks) for the chart."""
    names = [region.name for region in profile.regions[1:]]
    step = -(-len(profile.ranks) // _MOST_REGION_BARS) or 1
    some = profile.ranks[::step]
    return {
        "regions": profile.regions,
        "chart": {
            "labels": [str(use.rank) for use in some],
            "series": {name: [dict(use.regions).get(name, 0.0) for use in some] for name in names},
        },
    }


def _memory(profile: Profile) -> dict[str, Any]:
    """Return rows of name, value and explanation; totals instead of rates for a very short run."""
    n = profile.numbers
    has_rates = n["wall_s"] >= SHORT_S
    return {
        "rows": [
            *_counters(n),
            ("largest resident size of a rank", size(n["peak_bytes"]), "at its peak"),
            (
                "private memory",
                size(n["anonymous_bytes"]),
                on_huge_pages(n) or "too little to ask for huge pages",
            ),
            ("swapped out", size(n["swapped_bytes"]), "at the end"),
            ("CPU time in the kernel", share(n["system_share"]), "of the CPU time of all ranks"),
            ("CPU time used", share(n["cpu_use"]), "of the time of all ranks; above 100 % with threads"),
            (
                "page faults",
                f"{count(n['minor_faults_per_s'])} /s"
                if has_rates
                else count(n["minor_faults_per_s"] * n["wall_s"]),
                f"per rank; {count(n['major_faults'])} from disk",
            ),
            ("preempted", f"{n['involuntary_per_s']:.3g} /s", "per rank: involuntary context switches")
            if has_rates
            else ("preempted", count(n["involuntary_switches"]), "all ranks: involuntary context switches"),
        ]
    }


def _counters(n: Mapping[str, float]) -> list[tuple[str, str, str]]:
    """Return the rows of hardware counters; none if they are not available."""
    if not n["instructions"]:
        return []
    return [
        (
            "instructions per cycle",
            f"{n['instructions_per_cycle']:.2f}",
            f"{n['instructions']:.3g} instructions of the ranks' own code, waiting in MPI included",
        ),
        (
            "last-level cache misses",
            f"{n['misses_per_1000_instructions']:.3g}",
            "per 1,000 instructions"
            + (f"; at least {size(n['memory_bytes_per_s'])}/s from memory" if n["wall_s"] >= SHORT_S else ""),
        ),
    ]


def _files(profile: Profile) -> dict[str, Any]:
    """Return the most expensive files, and totals over all files."""
    return {
        "files": profile.files[:_MOST_FILES],
        "left_out": max(0, len(profile.files) - _MOST_FILES),
        "numbers": profile.numbers,
    }


def _sites(profile: Profile) -> dict[str, Any]:
    """Return the most expensive places."""
    return {"sites": profile.sites[:_MOST_SITES], "left_out": max(0, len(profile.sites) - _MOST_SITES)}


def _method(profile: Profile) -> dict[str, Any]:
    """Return the notes of the record."""
    return {"notes": profile.notes, "method": profile.efficiencies.method}


# Name, which is the anchor in the page → title and function, in the order of the page.
SECTIONS: dict[str, tuple[str, Callable[[Profile], dict[str, Any]]]] = {
    "overview": ("At a glance", _overview),
    "advice": ("Recommendations", _advice),
    "functions": ("MPI functions", _functions),
    "sizes": ("Message sizes", _sizes),
    "communicators": ("Communicators and collectives", _communicators),
    "traffic": ("Traffic between ranks", traffic_view),
    "order": ("Rank order", _order),
    "ranks": ("Ranks", ranks_view),
    "timeline": ("Timeline of the run", timeline_view),
    "placement": ("Placement of the ranks", placement_view),
    "regions": ("Phases of the program", _regions),
    "memory": ("Memory and kernel", _memory),
    "files": ("Files", _files),
    "sites": ("Call sites", _sites),
    "method": ("How to read this", _method),
}
