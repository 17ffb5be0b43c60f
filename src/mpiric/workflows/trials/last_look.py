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
from mpiric.host.processes.proc import (
    TICKS_PER_S,
    carrying,
    descendants,
    environment_of,
    read_bytes,
    read_stat,
)
from mpiric.host.processes.process_state import launch_states, process_state
from mpiric.model.errors import Finding, MpiricError
from mpiric.model.placement import ProcessSeen
from mpiric.model.record import OpenCall, ProcessState
from mpiric.profile.read import ENDED, read_open_call, read_record
from mpiric.profile.standing import Standing, standings, unrecorded
from mpiric.profile.stuck import find_stuck, named

_PART = re.compile(r"rank-(\d+)\..+\.(\d+)\.part")  # rank, host and pid
_LONG_S = 10.0  # a wait of a running job that is worth a finding
_RECORD = b"MPIRIC_RECORD_DIR"


def look_at_ranks(directory: Path, ranks: int) -> None:
    """Store the states of this node's processes of a launch in the record, with the time.

    ``ranks``: number in the launch line, 0 if it is unknown.
    """
    now_s = time.time()
    states: dict[str, ProcessState] = {}
    recorded = set()
    for rank, pid, part in _ranks_here(directory):
        recorded.add(pid)
        with suppress(MpiricError, OSError):
            if state := process_state(pid, _address(read_open_call(part)), may_stop=True):
                states[str(rank)] = state
    if not recorded or len(recorded) < ranks:  # others are before MPI_Init, or in it
        launch = {*descendants(os.getpid()), *carrying(os.fsdecode(_RECORD), str(directory))}
        states = launch_states(launch - recorded, dict(os.environ)) | states
    with suppress(OSError):
        data = {"unix_s": now_s, "processes": {key: asdict(state) for key, state in states.items()}}
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
    """Return findings on ranks of running jobs that wait, for each job.

    Without a record, only the processes are known. No process is stopped.
    """
    jobs: dict[tuple[str, str], list[ProcessSeen]] = defaultdict(list)
    for process in processes:
        directory = os.fsdecode(environment_of(process.pid).get(_RECORD, b""))
        jobs[directory, "" if directory else process.job].append(process)
    findings: list[Finding] = []
    for (directory, _), members in jobs.items():
        ranks = _recorded(Path(directory)) if directory else ()
        if not ranks:
            ranks = tuple(
                unrecorded(process.rank or 0, process_state(process.pid), _age_s(process.pid))
                for process in members
            )
        findings += find_stuck(named(ranks, host), _LONG_S)
    return tuple(findings)


def _age_s(pid: int) -> float:
    stat = read_stat(pid)
    return time.clock_gettime(time.CLOCK_BOOTTIME) - stat.start_ticks / TICKS_PER_S if stat else 0.0


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
