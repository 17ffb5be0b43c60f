"""What recorded runs say that the program does, under the library and settings that it ran with."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace

from mpiric import knobs
from mpiric.lab.recording import Recorded
from mpiric.model.behaviour import Behaviour
from mpiric.model.profile import FileTotal
from mpiric.model.situation import Situation
from mpiric.profile.behaviour import behaviour_of, merged

_DRIVER = re.compile(r"^(?:ufs|nfs|lustre|gpfs|panfs|daos|testfs):")
_DEVICE = re.compile(r"MPICH Device:\s*(\S+)")


def observed_behaviour(recorded: Sequence[Recorded], situation: Situation) -> Behaviour | None:
    """Several records of one configuration as one behaviour; None without a record."""
    behaviours = [_behaviour(each, situation) for each in recorded]
    return merged(behaviours) if behaviours else None


def _behaviour(recorded: Recorded, situation: Situation) -> Behaviour:
    carriers = knobs.carriers(situation, recorded.profile.library.get("transport", ""))
    profile = recorded.profile
    return behaviour_of(
        recorded.record,
        replace(profile, files=tuple(_relative(file, recorded.ran_in) for file in profile.files)),
        replace(carriers, transport=carriers.transport or _device(recorded)),
        recorded.run_s,
        recorded.safe_s,
        recorded.ended_unix_s,
        huge_pages=situation.machine.memory.pages.transparent == "always",
    )


def _relative(file: FileTotal, directory: str) -> FileTotal:
    """The file by its path in the working directory, without what ROMIO takes for a driver's name."""
    path = _DRIVER.sub("", file.path)
    if directory and path.startswith("/"):
        path = path.removeprefix(f"{directory}/")
    return replace(file, path=path if path.startswith("/") else os.path.normpath(path))


def _device(recorded: Recorded) -> str:
    """``ch4:ucx``, which MPICH and its derivatives were built with."""
    versions = (rank.facts.get("mpi.version", "") for rank in recorded.record.ranks)
    return next((match[1] for version in versions if (match := _DEVICE.search(version))), "")
