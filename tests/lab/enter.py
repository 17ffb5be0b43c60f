"""Run a command on a host, from the machine or from another host. Imports little: it starts often."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from tests.lab import namespaces
from tests.lab.errors import LabError
from tests.lab.state import read_record, visible_pids

_ROOT = str(Path(__file__).parents[2])
_KINDS = {
    "uts": namespaces.NEW_NAMES,
    "ipc": namespaces.NEW_IPC,
    "net": namespaces.NEW_NETWORK,
    "mnt": namespaces.NEW_MOUNTS,  # the last: afterwards /proc is the host's
}
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def command_line(directory: Path, host: str, command: Sequence[str]) -> list[str]:
    """Return the argv that runs a command on a host."""
    start = f"import sys; sys.path.insert(0, {_ROOT!r}); from tests.lab.enter import main; main(sys.argv[1:])"
    return [sys.executable, "-E", "-S", "-c", start, str(directory), host, *command]


def main(arguments: Sequence[str]) -> NoReturn:
    """Run ``DIRECTORY HOST COMMAND…`` and return the exit status of the command."""
    directory, host, *command = arguments
    path = f"{directory}/bin:{os.environ.get('PATH', '/usr/local/bin:/usr/bin:/bin')}:/usr/sbin:/sbin"
    try:
        become(Path(directory), host, command, {**os.environ, "PATH": path})
    except LabError as error:
        print(f"lab: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        sys.exit(64)


def become(directory: Path, host: str, command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by the command on the host, in the same directory if the host has it."""
    record = read_record(directory)
    if host not in record.holders:
        raise LabError(f"unknown host {host!r}", hint=f"hosts are: {', '.join(record.holders)}")
    holder = record.holders[host]
    pid = visible_pids(record).get(holder.pid, 0)
    if namespaces.namespace(pid, "net") != holder.network:
        raise LabError(f"the host {host} is dead", hint="python -m tests.lab down, then up")
    slurm = directory / "slurm/slurm.conf"
    environment = {**environment, **({"SLURM_CONF": str(slurm)} if slurm.exists() else {})}
    outside = namespaces.namespace("self", "pid") != record.pids
    where = Path.cwd()
    if outside:
        namespaces.enter(f"/proc/{pid}/ns/pid", namespaces.NEW_PIDS)
    for kind, number in _KINDS.items():
        namespaces.enter(f"/proc/{pid}/ns/{kind}", number)
    os.chdir(where if where.is_dir() else "/")
    if outside:
        _wait_for_child()  # only children are in the PID namespace joined
    _execute(command, environment)


def _wait_for_child() -> None:
    """Return in the child; in the parent, pass signals on and end with the status of the child."""
    child = os.fork()
    if child == 0:
        namespaces.die_with_parent(signal.SIGKILL)
        return
    for number in _PASSED_ON:
        signal.signal(number, lambda received, _frame: _pass_on(child, received))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the child as well
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        os._exit(128 + os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))


def _pass_on(child: int, number: int) -> None:
    with suppress(ProcessLookupError):  # it has ended, and is waited for
        os.kill(child, number)


def _execute(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    try:
        os.execvpe(command[0], list(command), dict(environment))
    except OSError as error:
        print(f"lab: {command[0]}: {error.strerror}", file=sys.stderr)
    os._exit(127)
