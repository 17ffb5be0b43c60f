"""Known endings of failed commands, from `endings.toml`: their causes and remedies."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mpiric.host.command_log import masked_launch
from mpiric.host.host import Host
from mpiric.host.packaged import packaged_table
from mpiric.model.amount import size
from mpiric.model.dataclass import dataclass
from mpiric.model.errors import Finding
from mpiric.model.job import Job, Launch
from mpiric.model.profile import Advice, Remedy

TAIL_BYTES = 64 << 10  # end of the output that is searched
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 a file system, not a temporary file
_SMALL_SHARED_MEMORY_BYTES = 128 << 20  # containers have 64 MiB by default
_PTRACE_SCOPE = "/proc/sys/kernel/yama/ptrace_scope"
_SHOWN = 160  # characters of a quoted line
_SIGNAL = re.compile(r"\(signal (\d+)\)|on\s+signal (\d+)|KILLED BY SIGNAL: (\d+)|Signal: [^\n(]*\((\d+)\)")
_MOST_SIGNALS = 64
_MOST_LINES = 3  # lines of an output that explain an unknown failure
# Messages of launchers after a failure: of Open MPI between rules, of hydra in a box, and single lines.
_OF_LAUNCHER = re.compile(
    r"""
    ^-{60,}\n (?:(?!-{60}).*\n)*? .*(?:mpirun|prterun|orterun|Primary\ job).*\n (?:(?!-{60}).*\n)* -{60,}$
    | ^={60,}\n (?:=.*\n)+ ={60,}$
    | ^(?:\[mpiexec|\[proxy|srun:|slurmstepd:|mpiric:|YOUR\ APPLICATION|This\ typically|Please\ see\ ).*$
    """,
    re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True)
class FailedRun:
    """Facts about a command that failed."""

    job: Job
    text: str  # end of its output
    exit_status: int  # exit status of a shell, or a negative signal number
    oom_kills: int = 0  # processes that the kernel killed for lack of memory during the run
    namespaces: tuple[str, ...] = ()  # different namespaces of the ranks of a node, if they are recorded
    aborted_rank: int | None = None  # rank that called MPI_Abort according to its record

    @property
    def signal(self) -> int:
        """Return the signal that ended the first rank, or the command without a launcher; 0 if none did.

        Launchers end the other ranks by signals, and have exit statuses of their own above 128. So the output
        must name the signal of the exit status. hydra of MPICH exits with the number itself.
        """
        number = -self.exit_status if self.exit_status < 0 else self.exit_status - 128
        if not self.job.launcher_words or self.job.launcher.serves_every_library:
            return number if 0 < number < _MOST_SIGNALS else 0
        named = {int(number) for groups in _SIGNAL.findall(self.text) for number in groups if number}
        return next((candidate for candidate in (number, self.exit_status) if candidate in named), 0)


class OutputTail:
    """Collects the end of a command's output; made before the command starts."""

    def __init__(self, host: Host) -> None:
        self._host, self._oom_kills, self._bytes = host, _count_oom_kills(host), b""
        self.is_complete = False  # later output is the launcher's reaction to the end of its run

    def feed(self, piece: bytes) -> None:
        """Add a piece of the output."""
        if self.is_complete:
            return
        self._bytes = (self._bytes + piece)[-TAIL_BYTES:]

    @property
    def text(self) -> str:
        """Return the collected text."""
        return self._bytes.decode(errors="replace")

    def failed_run(self, job: Job, exit_status: int) -> FailedRun:
        """Return the facts about the command, which has ended with this status."""
        return FailedRun(job, self.text, exit_status, _count_oom_kills(self._host) - self._oom_kills)


def explain_ending(failed: FailedRun, host: Host) -> Advice | None:
    """Return the cause of a failure and its remedy, None for an unknown one."""
    for entry in packaged_table("lab/endings")["ending"]:
        evidence, values = _match(entry, failed)
        condition = _CONDITIONS[entry["condition"]](failed, host) if "condition" in entry else ""
        if evidence and (condition or "condition" not in entry):
            says, fix = entry["says"].format_map(values), entry["fix"].format_map(values)
            finding = Finding(entry["id"], says, "; ".join(filter(None, (evidence, condition))), fix)
            remedy = _remedy(entry, failed.job)
            commands = (command_line(remedy),) if remedy else ()
            source = entry["source"]
            return Advice(finding, 0.0, None, "", (), commands, source, explains_run=True, remedy=remedy)
    return None


def unknown_ending(failed: FailedRun) -> Advice:
    """Return the advice on a failure without a known cause: the last lines of the program's own output."""
    program_text = _OF_LAUNCHER.sub("", failed.text) if failed.job.launcher_words else failed.text
    lines = [
        line.strip()[:_SHOWN] for line in (program_text.strip() or failed.text).splitlines() if line.strip()
    ]
    finding = Finding(
        "unknown-failure",
        f"the command ended with exit status {failed.exit_status}, and mpiric does not know why",
        f"its output ends: {' | '.join(lines[-_MOST_LINES:])}" if lines else "it printed nothing",
        "look for the first error in its output, and check its input and arguments",
    )
    return Advice(finding, 0.0, None, "", (), (), "exit status of the command", explains_run=True)


def _match(entry: Mapping[str, Any], failed: FailedRun) -> tuple[str, Mapping[str, str]]:
    """Return the evidence for an entry, "" without any, and the parts of the text that its sentences name."""
    names = set(re.findall(r"\{(\w+)\}", entry["says"] + entry["fix"]))
    for pattern in entry.get("patterns", ()):
        if match := re.search(pattern, failed.text):
            start = failed.text.rfind("\n", 0, match.start()) + 1
            line = failed.text[start:].partition("\n")[0].strip()
            values = {**dict.fromkeys(names, ""), **match.groupdict("")}
            return f"it printed: {line[:_SHOWN]}", values
    if entry.get("recorded_abort") and failed.aborted_rank is not None:
        rank = str(failed.aborted_rank)
        return f"rank {rank} recorded its call of MPI_Abort", {**dict.fromkeys(names, ""), "rank": rank}
    if failed.exit_status in entry.get("statuses", ()) and not _SIGNAL.search(failed.text):
        return f"the launcher ended with exit status {failed.exit_status}", dict.fromkeys(names, "")
    ended_so = failed.signal in entry.get("signals", ())
    return (f"a process of the command ended with signal {failed.signal}" if ended_so else ""), {}


def _remedy(entry: Mapping[str, Any], job: Job) -> Remedy | None:
    """Return the command of the user with the remedy; None if no change of the command cures it."""
    launch = Launch(job.argv, job.working_directory)
    if "set" in entry:
        return Remedy(launch, dict([entry["set"].split("=", 1)]))
    if "variable" in entry:
        variables = dict(word.split("=", 1) for word in entry["variable"].split())
        return Remedy(replace(launch, environment=variables))
    if "insert" in entry and job.launcher_words:
        at = len(job.prefix) + 1
        return Remedy(replace(launch, argv=(*job.argv[:at], entry["insert"], *job.argv[at:])))
    return None


def command_line(remedy: Remedy) -> str:
    """Return the changed command as the user types it, without secrets."""
    line = masked_launch(remedy.launch).shell_line()
    options = " ".join(f"--set {knob}={value}" for knob, value in remedy.values.items())
    return f"mpiric run {options} -- {line}" if options else line


def _small_shared_memory(_failed: FailedRun, host: Host) -> str:
    space = host.space(_SHARED_MEMORY)
    is_small = space is not None and space.size_bytes <= _SMALL_SHARED_MEMORY_BYTES
    return f"{_SHARED_MEMORY} has {size(space.size_bytes)}" if is_small and space is not None else ""


def _oom_kills(failed: FailedRun, _host: Host) -> str:
    kills = failed.oom_kills
    return f"the kernel counted {kills} kills for lack of memory during the run" if kills > 0 else ""


def _separate_ranks(failed: FailedRun, _host: Host) -> str:
    names = failed.namespaces
    return f"ranks of a node are in the namespaces {' and '.join(names)}" if len(names) > 1 else ""


def _ptrace_forbidden(_failed: FailedRun, host: Host) -> str:
    scope = (host.read_text(_PTRACE_SCOPE) or "").strip()
    return f"kernel.yama.ptrace_scope is {scope}" if scope not in ("", "0") else ""


_CONDITIONS: Mapping[str, Callable[[FailedRun, Host], str]] = {
    "small-shared-memory": _small_shared_memory,
    "oom-kills": _oom_kills,
    "separate-ranks": _separate_ranks,
    "ptrace-forbidden": _ptrace_forbidden,
}


def read_tail(path: Path) -> str:
    """Return the end of an output file, "" if it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES), os.SEEK_SET)
            return file.read().decode(errors="replace")
    except OSError:
        return ""


def _count_oom_kills(host: Host) -> int:
    """Return how many processes of this node the kernel has killed for lack of memory since it started."""
    match = re.search(r"^oom_kill (\d+)$", host.read_text("/proc/vmstat") or "", re.MULTILINE)
    return int(match[1]) if match else 0
