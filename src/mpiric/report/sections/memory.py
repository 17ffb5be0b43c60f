"""Memory and activity of the kernel."""

from collections.abc import Mapping
from typing import Any

from mpiric.model.amount import share, size
from mpiric.model.profile import Profile
from mpiric.report._amounts import count, on_huge_pages

TITLE = "Memory and kernel"


def view(profile: Profile) -> dict[str, Any]:
    """Return rows of name, value and explanation."""
    n = profile.numbers
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
                f"{count(n['minor_faults_per_s'])} /s",
                f"per rank; {count(n['major_faults'])} from disk",
            ),
            ("preempted", f"{n['involuntary_per_s']:.3g} /s", "per rank: involuntary context switches"),
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
            f"per 1,000 instructions; at least {size(n['memory_bytes_per_s'])}/s from memory",
        ),
    ]
