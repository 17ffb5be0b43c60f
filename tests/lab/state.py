"""State of a cluster on disk, and the search for its processes after any of them was killed."""

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.namespaces import namespace
from tests.lab.plan import Plan

SUPERVISOR = "tests.lab.supervisor"  # the word that marks its processes, see `supervisors`
PLAN = "plan.json"  # written first: a directory that holds it is a cluster's
OUTLIVES, ENDS_WITH_US = b"o", b"e"  # messages of `up` to a running cluster
_RECORD = "lab.json"
_PATIENCE_S = 20


@dataclass(frozen=True)
class Holder:
    """The first process of a host, which keeps its namespaces."""

    pid: int  # pid in the cluster's own namespace
    network: str  # identity of its network namespace


@dataclass(frozen=True)
class Record:
    """Record of a cluster that ``up`` created."""

    plan: Plan
    holders: Mapping[str, Holder]
    pids: str  # identity of the PID namespace that holds every process of the cluster
    directory: str  # directory of this record


def default_directory() -> Path:
    """Return ``$MPIRIC_LAB``, or a directory in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.environ.get("MPIRIC_LAB") or f"{cache}/mpiric/lab").expanduser().absolute()


def write_record(directory: Path, record: Record) -> None:
    """Write the record atomically."""
    data = {
        "plan": record.plan.as_json(),
        "holders": {name: asdict(holder) for name, holder in record.holders.items()},
        "pids": record.pids,
    }
    new = directory / f".{_RECORD}"
    new.write_text(json.dumps(data, indent=1))
    new.replace(directory / _RECORD)


def read_record(directory: Path) -> Record:
    """Return the record. Raises LabError without a cluster."""
    try:
        data = json.loads((directory / _RECORD).read_text())
    except (OSError, ValueError) as error:
        raise LabError(
            f"no cluster is up in {directory}", hint="python -m tests.lab up, or name another with --state"
        ) from error
    holders = {name: Holder(**holder) for name, holder in data["holders"].items()}
    return Record(Plan.from_json(data["plan"]), holders, data["pids"], str(directory))


def is_up(directory: Path) -> bool:
    """Return whether all hosts of the cluster are alive."""
    try:
        record = read_record(directory)
    except LabError:
        return False
    pids = visible_pids(record)
    return all(
        holder.pid in pids and namespace(pids[holder.pid], "net") == holder.network
        for holder in record.holders.values()
    )


def processes() -> Iterator[int]:
    """Yield all visible processes."""
    return (int(name) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208


def visible_pids(record: Record) -> dict[int, int]:
    """Map the PID inside the cluster to the PID outside, for each of its processes."""
    if namespace("self", "pid") == record.pids:
        return {pid: pid for pid in processes()}
    if not supervisors(Path(record.directory)):
        return {}  # it is dead, and the kernel may have given its namespace's number to another
    return {_inner(pid): pid for pid in processes() if namespace(pid, "pid") == record.pids}


def processes_on(record: Record, host: str) -> tuple[int, ...]:
    """Return the pids of a host's processes in this namespace, without its holder."""
    holder = record.holders[host]
    return tuple(
        pid
        for inner, pid in visible_pids(record).items()
        if inner != holder.pid and namespace(pid, "net") == holder.network
    )


def supervisors(directory: Path) -> list[int]:
    """Return the supervisors of a cluster, recognised by their command lines."""
    return [pid for pid, name in _supervisors() if name == str(directory)]


def _supervisors() -> Iterator[tuple[int, str]]:
    for pid in processes():
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if name := _named(command):
            yield pid, name


def remove(directory: Path) -> None:
    """End the first process of the cluster, with which the kernel ends all others, and remove its state."""
    deadline = time.monotonic() + _PATIENCE_S
    killed: set[int] = set()
    while remaining := [*supervisors(directory), *filter(_is_ending, killed)]:
        for pid in remaining:
            kill(pid)
        killed.update(remaining)
        if time.monotonic() > deadline:
            raise LabError(
                f"processes {remaining} of {directory} do not end", hint="they are stuck in the kernel"
            )
        time.sleep(0.02)
    # A start that was killed at once leaves an empty directory.
    if (directory / PLAN).exists() or (directory.is_dir() and not any(directory.iterdir())):
        shutil.rmtree(directory, ignore_errors=True)


def directories() -> frozenset[Path]:
    """Return the state directories of all running clusters of this machine."""
    return frozenset(Path(name) for _, name in _supervisors())


def _named(command: Sequence[bytes]) -> str:
    """Return DIRECTORY of ``… -m SUPERVISOR DIRECTORY READY_FD GO_FD``, "" for other command lines."""
    mark = SUPERVISOR.encode()
    at = command.index(mark) if mark in command else 0
    complete = at > 0 and command[at - 1] == b"-m" and len(command) >= at + 4
    return command[at + 1].decode(errors="replace") if complete else ""


def kill(pid: int) -> None:
    """Kill a process that may have ended already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _is_ending(pid: int) -> bool:
    """Return whether a killed process still exists: the first one of a pid namespace waits for all others."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _inner(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return -1
    line = next((line for line in status.splitlines() if line.startswith("NSpid:")), "")
    return int(line.split()[-1]) if line else -1
