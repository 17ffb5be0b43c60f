"""CPU generations of a cluster, from a list of machines or from Slurm's node features."""

import re

from mpiric.build.targets import canonical
from mpiric.host.files import LARGEST_TEXT_BYTES, read_bounded
from mpiric.host.toolchain import Toolchain
from mpiric.model.errors import MpiricError, NotFoundError

_HINT = "write one line per machine, 'host target', to a file and name it in MPIRIC_MACHINES"
_FEATURES = re.compile(r"\b(?:AvailableFeatures|ActiveFeatures)=(\S+)")


def targets_in(features: list[str], machine: str) -> tuple[str, ...]:
    """Return the features that are CPU targets, in order; others are ignored."""
    return tuple(dict.fromkeys(name for word in features if (name := _target_or_none(word, machine))))


def _target_or_none(word: str, machine: str) -> str | None:
    try:
        return canonical(word, machine)
    except MpiricError:
        return None


def from_nodes(text: str, partition: str, machine: str) -> tuple[str, ...]:
    """Return the targets among the node features in the output of ``scontrol -o show nodes``."""
    all_features: list[str] = []
    for line in text.splitlines():
        partitions = re.search(r"\bPartitions=(\S+)", line)
        if partition and (not partitions or partition not in partitions[1].split(",")):
            continue
        for features in _FEATURES.findall(line):
            all_features.extend(features.split(","))
    return targets_in(all_features, machine)


def machines_of(toolchain: Toolchain, machine: str) -> tuple[str, ...]:
    """Return the CPU targets in the file MPIRIC_MACHINES (last word of each line), otherwise Slurm's."""
    listed = toolchain.environ.get("MPIRIC_MACHINES", "")
    if listed:
        text = read_bounded(listed, "list of machines", LARGEST_TEXT_BYTES, _HINT).decode(errors="replace")
        lines = text.splitlines()
        targets = targets_in(
            [re.split(r"[\s:]+", line.strip())[-1] for line in lines if line.strip()], machine
        )
        source = listed
    else:
        done = toolchain.run(["scontrol", "-o", "show", "nodes"])
        partition = toolchain.environ.get("MPIRIC_PARTITION", "")
        targets = from_nodes(done.printed, partition, machine)
        source = "the features of Slurm's nodes"
    if not targets:
        raise NotFoundError(f"{source} contains no CPU target", hint=_HINT)
    return targets
