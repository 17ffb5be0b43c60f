"""Situations of programs whose recorded runs have written files, on Lustre by default."""

from dataclasses import replace
from typing import Any

from tests.support.behaviours import COMPUTES

from mpiric.model.machine import FileSystem
from mpiric.model.profile import FileTotal
from mpiric.model.situation import Situation
from mpiric.model.storage import FileLayout, Stripes


def output(path: str, ranks: int, **more: Any) -> FileTotal:
    """Return a file created by ranks that wrote 16 MiB each, 1 MiB at a time."""
    zeros = ("reads", "bytes_read", "metadata", "small", "unaligned", "sequential")
    counts = {
        "opens": ranks,
        "writes": 16 * ranks,
        "bytes_written": ranks << 24,
        "time_s": 1.0,
        "nodes": min(ranks, 4),
    }
    values = {"interface": "posix", "opened": ("create", "write"), "largest": 1 << 20, **counts, **more}
    return FileTotal(path=path, ranks=ranks, **{**dict.fromkeys(zeros, 0), **values})


def lustre(**more: Any) -> FileSystem:
    """Return a Lustre file system with 8 targets, by default 1 per file, for the directory of `situation`."""
    values = {
        "targets": 8,
        "metadata_servers": 1,
        "default_layout": FileLayout((Stripes(1, 1 << 20),)),
        **more,
    }
    return FileSystem(
        "/home/u", "/home", "lustre", 1 << 50, 1 << 49, is_network=True, mount_type="lustre", **values
    )


def writing(
    case: Situation, *files: FileTotal, system: FileSystem | None = None, **numbers: float
) -> Situation:
    """Return the situation of a program that writes files, by default one shared file through MPI-IO."""
    outputs = files or (output("out/data.h5", 8, interface="mpi-io", opened=()),)
    shown = {
        "collective_file_calls": 100.0,
        "independent_file_calls": 10.0,
        "io_bytes_written": 1e9,
        **numbers,
    }
    behaviour = replace(COMPUTES, numbers={**COMPUTES.numbers, "io_bound": 0.5, **shown}, files=outputs)
    return replace(
        case,
        machine=replace(case.machine, file_systems=(system or lustre(),)),
        observation=replace(case.observation, behaviour=behaviour),
        hint_directory="/home/u/.local/state/mpiric/hints",
    )
