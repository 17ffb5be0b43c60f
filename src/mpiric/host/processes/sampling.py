"""Observation of ranks through /proc while they run, at low cost: few files per rank and growing intervals.

The first sample is taken after 20 ms. After the first rank was found, each interval is 1.5 times as long as
the one before, so that short programs are sampled several times, even if a script starts them late; after
the first second a sample may cost at most 0.5 % of a CPU. Processes may end between samples: getrusage
gives the total usage since the last sample, which is divided equally.
"""

import os
import time
from typing import TYPE_CHECKING

from mpiric.host.processes.proc import (
    TICKS_PER_S,
    Stat,
    carrying,
    descendants,
    environment_of,
    program_of,
    read_bytes,
    read_stat,
)
from mpiric.model.rank_choice import ObservedProcess, choose_ranks, is_mpi_library, rank_of

if TYPE_CHECKING:
    from typing import Any

    from mpiric.host.processes.keeper_tree import Tree

    Row = dict[str, Any]

_SHARE = 0.005  # share of a CPU
_FREE_S = 1.0  # only time determines the interval until then
_SLOWEST_S = 2.0
_COUNTS = ("user_s", "system_s", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")


class Watched:
    """Observed process, identified by pid and start time; values of the last sample."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.program = ""
        self.rank: int | None = None
        self.environment_read = False
        self.libraries: set[str] = set()
        self.maps_at_s: list[float] = []  # times when its mappings were read for this program
        self.chosen = False
        self.last: Row = {}
        self.huge_at_s = 0.0
        self.huge_bytes = 0

    @property
    def maps_mpi(self) -> bool:
        """Return whether an MPI library is among its mappings."""
        return any(is_mpi_library(path) for path in self.libraries)


class Sampler:
    """Search and observation of the ranks below ``root``; ``mark`` finds ranks that srun starts elsewhere."""

    first_s = 0.02

    def __init__(self, root: int, environment: "dict[str, str]", mark: tuple[str, str]) -> None:
        self._root = root
        self._environment = environment
        self._mark = mark
        self._watched: dict[tuple[int, int], Watched] = {}
        self._pause_s = self.first_s
        self._looked_elsewhere_s = 0.0

    def sample(self, elapsed_s: float) -> float:
        """Take a sample; return the interval until the next one in seconds."""
        cost_s = -time.process_time()
        alive = self._look(descendants(self._root), self._environment, elapsed_s)
        if not alive and elapsed_s > 2 * self._looked_elsewhere_s:
            # srun's tasks are children of slurmstepd. Reading all environments is expensive, so it is rare.
            self._looked_elsewhere_s = elapsed_s
            elsewhere = [pid for pid in carrying(*self._mark) if pid != self._root]
            alive = self._look(elsewhere, {}, elapsed_s)
        for watched, stat in alive:
            watched.chosen = True
            self._record(watched, stat, elapsed_s)
        cost_s += time.process_time()
        if elapsed_s > _FREE_S or any(watched.maps_mpi for watched, _ in alive):
            self._pause_s = min(self._pause_s * 1.5, _SLOWEST_S)
        return self._pause_s if elapsed_s < _FREE_S else max(self._pause_s, cost_s / _SHARE)

    def _look(self, pids: list[int], outer: "dict[str, str]", elapsed_s: float) -> list[tuple[Watched, Stat]]:
        processes: dict[int, tuple[Watched, Stat]] = {}
        for pid in pids:
            stat = read_stat(pid)
            if stat is None or stat.state in "ZX":
                continue
            watched = self._watched.setdefault((pid, stat.start_ticks), Watched(pid))
            watched.last.update(
                {
                    "user_s": stat.user_ticks / TICKS_PER_S,
                    "system_s": stat.system_ticks / TICKS_PER_S,
                    "minor_faults": stat.minor_faults,
                    "major_faults": stat.major_faults,
                }
            )
            self._identify(watched, outer, elapsed_s)
            processes[pid] = (watched, stat)
        observed = [
            ObservedProcess(pid, stat.parent, watched.program, watched.rank, maps_mpi=watched.maps_mpi)
            for pid, (watched, stat) in processes.items()
        ]
        return [processes[chosen.pid] for chosen in choose_ranks(observed)]

    def _identify(self, watched: Watched, outer: "dict[str, str]", elapsed_s: float) -> None:
        """Update program, rank and libraries; they are read again after an exec, libraries also later."""
        program = program_of(watched.pid)
        if program and program != watched.program:  # "" during exit: the memory is released first
            watched.program = program
            watched.libraries.clear()
            watched.maps_at_s.clear()
            watched.environment_read = False
        if not watched.environment_read:  # empty for a moment after an exec
            environment = environment_of(watched.pid)
            watched.environment_read = bool(environment)
            watched.rank = rank_of(environment, outer)
        times = watched.maps_at_s
        first = not watched.maps_mpi and (not times or elapsed_s - times[0] >= 1.5 * (times[-1] - times[0]))
        again = watched.maps_mpi and len(times) < 12 and elapsed_s > 3 * times[-1]
        if first or again:
            times.append(elapsed_s)
            # The shared objects that a process maps: mapped files with ``.so`` in their name.
            paths = set()
            for line in read_bytes(f"/proc/{watched.pid}/maps").splitlines():
                fields = line.split(None, 5)
                if len(fields) == 6 and b".so" in fields[5] and fields[5].startswith(b"/"):
                    paths.add(fields[5].decode(errors="surrogateescape").removesuffix(" (deleted)"))
            watched.libraries |= paths

    def _record(self, watched: Watched, stat: Stat, elapsed_s: float) -> None:
        status = _status(watched.pid)
        if not status:
            return
        if elapsed_s > max(0.1, 2 * watched.huge_at_s):  # traverses the page tables, so it is rare
            watched.huge_at_s = elapsed_s
            watched.huge_bytes = max(watched.huge_bytes, _huge_bytes(watched.pid))
        voluntary, involuntary = _switches(watched.pid, status, stat.threads)
        watched.last.update(
            cpus_allowed=status.get(b"Cpus_allowed_list", b"").decode(),  # parsed by the reader
            threads=max(stat.threads, watched.last.get("threads", 0)),  # threads end before the process does
            voluntary_switches=voluntary,
            involuntary_switches=involuntary,
            rss_peak_bytes=_kib(status.get(b"VmHWM", b"")),
        )

    def seen(self) -> "list[Row]":
        """Return the ranks of the last sample; for several processes with the same rank, the busiest one."""
        best: dict[int | None, Watched] = {}
        for watched in self._watched.values():
            if not watched.chosen or "threads" not in watched.last:
                continue
            other = best.get(watched.rank)
            if other is None or _work(watched) >= _work(other):
                best[watched.rank] = watched
        numbered = [best[rank] for rank in sorted(rank for rank in best if rank is not None)]
        return [
            {
                **watched.last,
                "rank": watched.rank,
                "program": watched.program,
                "huge_bytes": watched.huge_bytes,
                "libraries": tuple(sorted(watched.libraries)),
            }
            for watched in numbered or best.values()
        ]

    def report(self, tree: "Tree") -> "list[Row]":
        """Return the ranks after the end of the launch, with a share of the usage since the last sample."""
        rows = self.seen()
        if not rows:
            return []
        for name in _COUNTS:
            sampled = sum(watched.last.get(name, 0) for watched in self._watched.values())
            missing = max(0, getattr(tree, name) - sampled) / len(rows)
            for row in rows:
                row[name] += missing if name.endswith("_s") else int(missing)
        largest = max(rows, key=lambda row: int(row["rss_peak_bytes"]))
        largest["rss_peak_bytes"] = max(largest["rss_peak_bytes"], tree.rss_peak_bytes)
        return rows


def _work(watched: Watched) -> float:
    return float(watched.last["user_s"] + watched.last["system_s"])


def _status(pid: int, thread: str = "") -> dict[bytes, bytes]:
    text = read_bytes(f"/proc/{pid}/task/{thread}/status" if thread else f"/proc/{pid}/status")
    return dict(line.split(b":\t", 1) for line in text.splitlines() if b":\t" in line)


def _switches(pid: int, status: dict[bytes, bytes], threads: int) -> tuple[int, int]:
    """Return the context switches of all living threads; /proc counts them per thread."""
    every = [status]
    if threads > 1:
        try:
            names = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
        except OSError:
            names = []
        every = [_status(pid, name) for name in names] or every
    voluntary = sum(int(fields.get(b"voluntary_ctxt_switches", b"0")) for fields in every)
    involuntary = sum(int(fields.get(b"nonvoluntary_ctxt_switches", b"0")) for fields in every)
    return voluntary, involuntary


def _kib(value: bytes) -> int:
    return int(value.split()[0]) * 1024 if value.split() else 0


def _huge_bytes(pid: int) -> int:
    for line in read_bytes(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"AnonHugePages:"):
            return _kib(line.split(b":", 1)[1])
    return 0
