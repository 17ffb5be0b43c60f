"""Candidate hints for MPI-IO: collective buffering, number of aggregators, buffer sizes.

ROMIO's hints are described in its user's guide, OMPIO's in Open MPI's documentation, "MPI IO".
"""

from collections.abc import Iterator
from math import ceil

from mpiric.knobs._outputs import is_served_as_nfs, missing_locks, output_system, own_driver
from mpiric.model.file_rules import parse_hints
from mpiric.model.knob import Skip, Try
from mpiric.model.situation import Situation

MIB = 1 << 20
_MOST_VALUES = 6
_BUFFER, _OMPIO_BUFFERS = 64 * MIB, (4 * MIB, 128 * MIB)  # defaults are 16 and 32 MiB


def consider(situation: Situation) -> Skip | Try:
    """Return combinations of hints, the most promising first."""
    if reason := no_calls(situation):
        return Skip(reason)
    ompio = situation.mpi.capabilities.mpi_io == "ompio"
    hints = dict.fromkeys(_ompio(situation) if ompio else _romio(situation))
    values = tuple(value for value in hints if not why_hints_not_set(value, situation))[:_MOST_VALUES]
    system = output_system(situation)
    if system is not None and system.is_network:
        because = "files on a network file system go through MPI: which ranks access them decides"
        return Try(values, 0.6, because)
    return Try(values, 0.2, "files are accessed through MPI")


def no_calls(situation: Situation) -> str:
    """Return why hints have no effect on the program, "" if it is known to open files through MPI."""
    if not situation.mpi.capabilities.mpi_io:
        return "it is not known which hints the library obeys"
    if situation.observation.behaviour is not None:
        return "no file is read or written through MPI" if _calls(situation) == (0, 0) else ""
    does_io = any(name.startswith("mpi_file_") for name in situation.observation.mpi_calls)
    return "" if does_io else "the ranks are not seen to do MPI-IO"


def why_hints_not_set(value: str, situation: Situation) -> str:
    """Return why hints cannot be used on the job's file system, "" if they can.

    For writes with gaps ROMIO locks a range, reads it and writes it again (data sieving). It aborts without
    locks, and the data are wrong if locks are valid on one node only. Its NFS driver makes each rank
    truncate the file (ad_nfs_resize.c); other drivers use one rank and a barrier.
    """
    rules = parse_hints(value)
    each_alone = any(rule.each_alone for rule in rules)
    cuts = situation.observation.can_call("file_set_size") and is_served_as_nfs(situation)
    if each_alone and cuts and not own_driver(situation):  # the driver is selected together with such hints
        return (
            "MPI_File_set_size cuts a file on every rank under the driver for NFS, which takes what others "
            "have written by then away: only collective buffering has them wait for each other"
        )
    system = output_system(situation)
    missing = missing_locks(system, situation) if system else ""
    if system is None or not missing:
        return ""
    for rule in rules:
        sieving = rule.hints.get("romio_ds_write")
        if (rule.each_alone and sieving != "disable") or sieving == "enable":
            return f"data sieving needs locks, and {system.mount_point} is mounted with {missing}"
    return ""


def _calls(situation: Situation) -> tuple[float, float]:
    """Return collective and independent reads and writes through MPI; both are assumed without a record."""
    behaviour = situation.observation.behaviour
    if behaviour is None:
        return 1, 1
    numbers = behaviour.numbers
    return numbers.get("collective_file_calls", 0), numbers.get("independent_file_calls", 0)


def _aggregators(situation: Situation) -> list[int]:
    """Return candidate numbers of aggregators, without the default of one per node."""
    system, nodes, ranks = output_system(situation), max(1, situation.nodes), situation.rank_count
    targets = (system.targets if system else None) or nodes
    candidates = (nodes * 2, min(targets, ranks), ranks, ceil(nodes / 2))
    return [count for count in dict.fromkeys(candidates) if 1 <= count <= ranks and count != nodes]


def _romio(situation: Situation) -> Iterator[str]:
    collective, independent = _calls(situation)
    if collective:
        yield "romio_cb_read=enable,romio_cb_write=enable"
        yield "romio_cb_read=disable,romio_cb_write=disable"
        for count in _aggregators(situation)[:2]:
            per_node = ceil(count / max(1, situation.nodes))  # spread over the nodes
            yield f"cb_config_list=*:{per_node},cb_nodes={count},romio_cb_read=enable,romio_cb_write=enable"
        yield f"cb_buffer_size={_BUFFER},romio_cb_read=enable,romio_cb_write=enable"
    if independent:
        yield "romio_ds_read=disable,romio_ds_write=disable"
        yield f"ind_rd_buffer_size={16 * MIB},ind_wr_buffer_size={16 * MIB}"


def _ompio(situation: Situation) -> Iterator[str]:
    collective, _ = _calls(situation)
    if collective:
        nodes = max(1, situation.nodes)
        for count in dict.fromkeys((nodes, *_aggregators(situation))):
            yield f"cb_nodes={count}"
        for size in _OMPIO_BUFFERS:
            yield f"cb_buffer_size={size}"
