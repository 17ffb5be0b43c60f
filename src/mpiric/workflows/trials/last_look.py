"""Looks at the ranks of runs that go on: before a recorded run is ended, and for `mpiric ps`."""

import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from mpiric.host.host import Host
from mpiric.host.owned_files import write_whole
from mpiric.host.processes.proc import environment_of, read_bytes
from mpiric.host.processes.process_state import process_state
from mpiric.model.errors import Finding, MpiricError
from mpiric.model.placement import ProcessSeen
from mpiric.model.record import OpenCall
from mpiric.profile.ended import ENDED
from mpiric.profile.read import read_open_call, read_record
from mpiric.profile.standing import Standing, standings
from mpiric.profile.stuck import find_stuck, named

_PART = re.compile(r"rank-(\d+)\..+\.(\d+)\.part")  # rank, host and pid
_LONG_S = 10.0  # a wait of a running job that is worth a finding
_RECORD = b"MPIRIC_RECORD_DIR"


def look_at_ranks(directory: Path) -> None:
    """Store the states of this node's processes in the record, with the time."""
    now_s = time.time()
    processes = {}
    for rank, pid, part in _ranks_here(directory):
        with suppress(MpiricError, OSError):
            if state := process_state(pid, _address(read_open_call(part)), may_stop=True):
                processes[str(rank)] = asdict(state)
    with suppress(OSError):
        data = {"unix_s": now_s, "processes": processes}
        write_whole(directory / ENDED, json.dumps(data, indent=1).encode())


def _ranks_here(directory: Path) -> Iterator[tuple[int, int, Path]]:
    """Yield the running ranks of this node with their pids and the files of their records."""
    for part in sorted(directory.glob("rank-*.part")):
        match = _PART.fullmatch(part.name)
        # Otherwise the rank has ended, or is on another node.
        if match and os.fsencode(part.resolve()) in read_bytes(f"/proc/{match[2]}/maps"):
            yield int(match[1]), int(match[2]), part


def _address(call: OpenCall | None) -> int:
    return call.address if call else 0


def stuck_jobs(processes: Sequence[ProcessSeen], host: Host) -> tuple[Finding, ...]:
    """Return findings on ranks of running jobs that wait, for each recorded job, and for all others together.

    Without a record, only the processes are known. No process is stopped.
    """
    directories: dict[str, list[ProcessSeen]] = defaultdict(list)
    for process in processes:
        directories[os.fsdecode(environment_of(process.pid).get(_RECORD, b""))].append(process)
    findings: list[Finding] = []
    for directory, members in directories.items():
        ranks = _recorded(Path(directory)) if directory else ()
        if not ranks:
            states = [(process.rank or 0, process_state(process.pid)) for process in members]
            ranks = tuple(Standing(rank, lasted_s=_LONG_S, process=state) for rank, state in states)
        findings += find_stuck(named(ranks, host), _LONG_S)
    return tuple(findings)


def _recorded(directory: Path) -> tuple[Standing, ...]:
    """Return the standings of the ranks of a running job; empty without a usable record."""
    try:
        record = read_record(directory)
    except (MpiricError, OSError):
        return ()
    pids = {rank: pid for rank, pid, _ in _ranks_here(directory)}
    ranks = tuple(
        replace(rank, process=process_state(pids[rank.rank], _address(rank.call)))
        if rank.rank in pids
        else rank
        for rank in record.ranks
    )
    return standings(replace(record, ranks=ranks, ended_unix_s=0.0), time.time())
