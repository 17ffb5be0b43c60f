"""The CPU generations of a cluster: from a list of machines, or from what Slurm says of its nodes."""

import re

from mpiric.build.targets import canonical
from mpiric.host.files import LARGEST_TEXT_BYTES, read_bounded
from mpiric.host.toolchain import Toolchain
from mpiric.model.errors import MpiricError, NotFoundError

_HINT = "write one line per machine, 'host target', to a file and name it in MPIRIC_MACHINES"
_FEATURES = re.compile(r"\b(?:AvailableFeatures|ActiveFeatures)=(\S+)")


def targets_in(words: list[str], machine: str) -> tuple[str, ...]:
    """The words that are CPU targets, in order; sites mix them with words of their own."""
    return tuple(dict.fromkeys(name for word in words if (name := _target_or_none(word, machine))))


def _target_or_none(word: str, machine: str) -> str | None:
    try:
        return canonical(word, machine)
    except MpiricError:
        return None


def from_nodes(text: str, partition: str, machine: str) -> tuple[str, ...]:
    """Targets among the features of the nodes that ``scontrol -o show nodes`` printed."""
    words: list[str] = []
    for line in text.splitlines():
        partitions = re.search(r"\bPartitions=(\S+)", line)
        if partition and (not partitions or partition not in partitions[1].split(",")):
            continue
        for features in _FEATURES.findall(line):
            words.extend(features.split(","))
    return targets_in(words, machine)


def machines_of(toolchain: Toolchain, machine: str) -> tuple[str, ...]:
    """CPU targets of the cluster: those in the file MPIRIC_MACHINES (last word of a line), else Slurm's."""
    listed = toolchain.environ.get("MPIRIC_MACHINES", "")
    if listed:
        text = read_bounded(listed, "list of machines", LARGEST_TEXT_BYTES, _HINT).decode(errors="replace")
        lines = text.splitlines()
        found = targets_in([re.split(r"[\s:]+", line.strip())[-1] for line in lines if line.strip()], machine)
        where = listed
    else:
        done = toolchain.run(["scontrol", "-o", "show", "nodes"])
        partition = toolchain.environ.get("MPIRIC_PARTITION", "")
        found = from_nodes(done.printed, partition, machine)
        where = "the features of Slurm's nodes"
    if not found:
        raise NotFoundError(
            f"no CPU generation is named in {where}",
            hint=_HINT,
        )
    return found
