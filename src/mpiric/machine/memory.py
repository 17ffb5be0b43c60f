"""Memory, page sizes and the kernel's policy for huge pages."""

import re

from mpiric.host.host import Host
from mpiric.model.machine import Memory, Pages
from mpiric.model.numbers_in_text import number_of

_THP = "/sys/kernel/mm/transparent_hugepage"
_PAGE_SIZE = 4096


def read_memory(host: Host, limit_bytes: int) -> Memory:
    """Return the memory of a host; ``limit_bytes`` is the limit of the cgroup, 0 for none."""
    facts = dict(
        re.findall(r"^(\w+(?:\(\w+\))?):\s*(\d+)", host.read_text("/proc/meminfo") or "", re.MULTILINE)
    )

    def kib(name: str) -> int:
        return number_of(facts.get(name, "")) * 1024

    total = kib("MemTotal")
    pages = Pages(
        size_bytes=_page_size(host),
        transparent=_chosen(host.read_text(f"{_THP}/enabled")),
        transparent_defrag=_chosen(host.read_text(f"{_THP}/defrag")),
        huge_size_bytes=kib("Hugepagesize"),
        huge_reserved=number_of(facts.get("HugePages_Total", "")),
        huge_free=number_of(facts.get("HugePages_Free", "")),
    )
    return Memory(
        total_bytes=total,
        available_bytes=kib("MemAvailable") or kib("MemFree"),
        limit_bytes=limit_bytes if 0 < limit_bytes < (total or limit_bytes + 1) else 0,
        overcommit=number_of((host.read_text("/proc/sys/vm/overcommit_memory") or "").strip()),
        pages=pages,
    )


def _page_size(host: Host) -> int:
    text = host.run(["getconf", "PAGESIZE"]).stdout.strip()
    return number_of(text, _PAGE_SIZE)


def _chosen(text: str | None) -> str:
    """Return the selected option of a kernel setting: ``always [madvise] never`` → ``madvise``."""
    match = re.search(r"\[(\w[\w+]*)\]", text or "")
    return match[1] if match else ""
