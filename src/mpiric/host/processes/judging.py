"""Evaluation of the keeper's answer: outcome of a launch, and detection of full disks."""

import os
import signal
from collections.abc import Mapping
from typing import Any

from mpiric.model.errors import ExitCode, MpiricError, NoRoomError
from mpiric.model.pu_set import parse_pu_list
from mpiric.model.situation import RankSeen
from mpiric.model.trial import Execution, Outcome, Usage

_FULL_BYTES = 64 << 10  # the last write failed if less space is free


def judge(
    answer: Mapping[str, Any],
    limit_s: float | None,
    output_limit_bytes: int,
    *,
    came_early: bool = False,
    root: str = "",
) -> Execution:
    """Return the execution that the keeper's answer describes; with ``came_early`` an early end is OK.

    ``root`` is the directory in which its ranks saw the file tree, "" for the real root.
    """
    if "refused" in answer:
        return Execution(Outcome.INTERRUPTED, 0.0, 127, "interrupted")
    status = answer["status"] if answer["status"] is not None else -9
    outcome, reason = Outcome.OK, ""
    if answer["ended"] == "timed out":
        outcome, reason = Outcome.TIMED_OUT, f"did not end within {limit_s:g} s"
    elif answer["ended"] == "interrupted":
        outcome, reason = Outcome.INTERRUPTED, "interrupted"
    elif answer["ended"] == "output":
        limit_mib = output_limit_bytes >> 20
        outcome, reason = Outcome.FAILED, f"printed more than {limit_mib} MiB, and was ended"
    elif status != 0 and answer.get("passed") and not came_early:
        outcome = Outcome.INTERRUPTED
        reason = (
            f"{_status_sentence(status)} after {signal.Signals(answer['passed']).name} was passed on to it"
        )
    elif status != 0 and not came_early:
        outcome, reason = Outcome.FAILED, _status_sentence(status)
    return Execution(
        outcome,
        answer["wall_s"],
        status,
        reason,
        Usage(**{name: answer[name] for name in Usage.__dataclass_fields__}),
        answer["rss_peak_bytes"],
        ranks_of(answer["ranks"], root),
        tuple(answer["strays"]),
        tuple(answer["stuck"]),
        answer["started_ns"],
        came_early,
    )


def ranks_of(rows: list[dict[str, Any]], root: str = "") -> tuple[RankSeen, ...]:
    """Return the ranks in the keeper's rows; paths below ``root`` are converted to paths of this process."""
    return tuple(
        RankSeen(
            **{
                **row,
                "cpus_allowed": parse_pu_list(row["cpus_allowed"]),
                "program": row["program"].removeprefix(root),
                "libraries": tuple(path.removeprefix(root) for path in row["libraries"]),
            }
        )
        for row in rows
    )


def _status_sentence(status: int) -> str:
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"ended by signal {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"


def refused(answer: Mapping[str, Any]) -> Execution:
    """Return the execution of a launch that could not be started; raise if no launch could."""
    if answer["what"] == "output":
        raise NoRoomError(
            f"the output of a run cannot be written: {answer['refused']}",
            hint="make room there, or name another directory with --store",
        )
    if answer["what"] == "directory":
        raise MpiricError(f"the working directory is gone: {answer['refused']}", exit_code=ExitCode.NOT_FOUND)
    return Execution(Outcome.REFUSED, 0.0, 127, f"could not be started: {answer['refused']}")


def check_room(execution: Execution, directories: tuple[str, ...]) -> None:
    """Raise NoRoomError on a full disk, which makes programs fail or truncates their output."""
    for directory in directories:
        try:
            room = os.statvfs(directory)
        except OSError:
            continue
        free = room.f_bfree if os.getuid() == 0 else room.f_bavail
        if free * room.f_frsize < _FULL_BYTES or (room.f_files and not room.f_ffree):
            raise NoRoomError(
                f"the file system of {directory} is full"
                + (f"; the run {execution.reason}" if execution.reason else ""),
                hint="make room there, or name another directory with --store",
            )
