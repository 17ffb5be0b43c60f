"""Start, enter, inspect, disturb and end a cluster."""

import fcntl
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.lab import state
from tests.lab.agent import write_agent
from tests.lab.enter import command_line
from tests.lab.errors import LabError
from tests.lab.hosts import is_private
from tests.lab.needs import check_needs
from tests.lab.plan import Plan

ROOT = Path(__file__).parents[2]
_PATIENCE_S = 60


def up(directory: Path, plan: Plan, *, outlives: bool = False) -> bool:
    """Start a cluster; return False if it is already up. Remove the remains of a dead one.

    The cluster ends with this process, for any reason, unless it ``outlives`` it.
    """
    check_needs(plan)
    directory = directory.absolute()
    if any(character.isspace() for character in str(directory)):
        raise LabError(
            f"the path {directory} has spaces in it", hint="launchers split the agent's path there"
        )
    wrong = [share for share in plan.shares if is_private(Path(share)) or not Path(share).is_dir()]
    if wrong:
        raise LabError(
            f"{wrong[0]} cannot be shared", hint="name an existing directory, not /, /tmp or /run itself"
        )
    with _alone(directory):
        if state.is_up(directory):
            return False
        state.remove(directory)
        if directory.exists() and any(directory.iterdir()):
            raise LabError(f"{directory} holds other things", hint="name a new directory with --state")
        directory.mkdir(parents=True, exist_ok=True)
        shares = {str(directory), str(ROOT), sys.prefix, sys.base_prefix, *plan.shares}
        plan = replace(plan, shares=tuple(sorted(str(Path(share).absolute()) for share in shares)))
        (directory / state.PLAN).write_text(json.dumps(plan.as_json()))
        write_agent(directory)
        try:
            _build(directory, outlives=outlives)
        except BaseException:
            state.remove(directory)
            raise
    return True


def _build(directory: Path, *, outlives: bool) -> None:
    ready, tells = os.pipe()
    hears, go = os.pipe()
    command = ["unshare", "--fork", "--kill-child", "--pid", "--net", "--uts", "--ipc", "--mount"]
    command += ["--propagation", "private", "--", sys.executable, "-m", state.SUPERVISOR]
    with (directory / "log").open("wb") as log:
        # Avoid Popen's warning about a child that is still running.
        subprocess.Popen(
            [*command, str(directory), str(tells), str(hears)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            pass_fds=(tells, hears),
            start_new_session=True,
        ).returncode = 0
    os.close(tells)
    os.close(hears)
    output = b""
    if select.select([ready], [], [], _PATIENCE_S)[0]:
        output = os.read(ready, 65536)
    os.close(ready)
    if output != b"ready":
        message, _, hint = output.decode(errors="replace").partition("\n")
        log_text = (directory / "log").read_text(errors="replace").strip()
        raise LabError(message or f"the cluster did not start: {log_text[-500:] or 'no answer'}", hint=hint)
    if outlives:
        os.write(go, state.OUTLIVES)
        os.close(go)
    else:
        os.write(go, state.ENDS_WITH_US)  # and left open: the kernel closes it when this process ends


@contextmanager
def running(directory: Path, plan: Plan) -> Iterator[Path]:
    """Run a cluster during a `with` block and yield its state directory."""
    up(directory, plan)
    try:
        yield directory
    finally:
        down(directory)


def down(directory: Path) -> bool:
    """End a cluster or its remains; return whether there were any."""
    directory = directory.absolute()
    target = directory.exists() or bool(state.supervisors(directory))
    if target:
        state.remove(directory)
    return target


def run(
    directory: Path,
    host: str,
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    **options: object,
) -> "subprocess.CompletedProcess[str]":
    """Run a command on a host to its end."""
    variables: dict[str, object] = {
        "capture_output": True,
        "text": True,
        "stdin": subprocess.DEVNULL,
        **options,
    }
    return subprocess.run(command_line(directory, host, command), env=environment, **variables)  # type: ignore[call-overload,no-any-return]


def crash(directory: Path, host: str) -> None:
    """Simulate a power cut: kill all processes of a host at once and take its links down."""
    record = _record_with(directory, host)
    for network in record.plan.networks:
        run(directory, host, ["ip", "link", "set", network.name, "down"])
    while remaining := state.processes_on(record, host):
        for pid in remaining:
            state.kill(pid)


def boot(directory: Path, host: str) -> None:
    """Bring the links of a crashed host up again; the callers must restart its daemons."""
    for network in _record_with(directory, host).plan.networks:
        run(directory, host, ["ip", "link", "set", network.name, "up"])


def status(directory: Path) -> list[str]:
    """Return a line for each host: name, processes, addresses."""
    record = state.read_record(directory)
    if not state.is_up(directory):
        raise LabError(f"the cluster in {directory} is dead", hint="python -m tests.lab down, then up")
    lines = []
    for host in record.plan.hosts:
        addresses = (f"{entry.name} {record.plan.address(entry, host)}" for entry in record.plan.networks)
        count = len(state.processes_on(record, host))
        lines.append(f"{host}  {count} processes  {'  '.join(addresses)}")
    return lines + [
        f"{entry.name}  {entry.rate_mbit:g} Mbit/s, {entry.delay_us:g} µs more one way, MTU {entry.mtu}"
        for entry in record.plan.networks
    ]


def _record_with(directory: Path, host: str) -> state.Record:
    record = state.read_record(directory)
    if host not in record.holders:
        raise LabError(f"unknown host {host!r}", hint=f"hosts are: {', '.join(record.holders)}")
    return record


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Serialise `up` in a directory; a waiting process then finds the cluster up."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(directory.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
