"""What recorded runs say that the program does, under the library and settings that it ran with."""

import re
from collections.abc import Sequence
from dataclasses import replace

from mpiric import knobs
from mpiric.model.behaviour import Behaviour
from mpiric.model.situation import Situation
from mpiric.profile.behaviour import behaviour_of, merged
from mpiric.workflows.trials.recording import Recorded

_DEVICE = re.compile(r"MPICH Device:\s*(\S+)")


def observed_behaviour(recorded: Sequence[Recorded], situation: Situation) -> Behaviour | None:
    """Several records of one configuration as one behaviour; None without a record."""
    behaviours = [_behaviour(each, situation) for each in recorded]
    return merged(behaviours) if behaviours else None


def _behaviour(recorded: Recorded, situation: Situation) -> Behaviour:
    carriers = knobs.carriers(situation, recorded.profile.library.get("transport", ""))
    return behaviour_of(
        recorded.record,
        recorded.profile,
        replace(carriers, transport=carriers.transport or _device(recorded)),
        recorded.run_s,
        huge_pages=situation.machine.memory.pages.transparent == "always",
    )


def _device(recorded: Recorded) -> str:
    """``ch4:ucx``, which MPICH and its derivatives were built with."""
    versions = (rank.facts.get("mpi.version", "") for rank in recorded.record.ranks)
    return next((match[1] for version in versions if (match := _DEVICE.search(version))), "")
